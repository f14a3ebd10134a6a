// Queue lengths: each queue, ring and buffer of the adapters and links, with the longest it was.

import { html, nothing } from "lit-html";
import { state, update } from "./state.js";
import { digits } from "./units.js";

const SHOWN = 12;

/** The queues that were ever filled, the longest first. */
function filled() {
  return [...(state.run?.watched?.queues ?? [])].sort((a, b) => b.most - a.most || b.mean - a.mean).slice(0, SHOWN);
}

/** The queue whose length is drawn over time. */
export function shownQueue() {
  const all = filled();
  return all.find((queue) => queue.name === state.queue)?.name ?? all[0]?.name ?? null;
}

export function queueList() {
  const all = filled();
  if (all.length === 0) return nothing;
  const chosen = shownQueue();
  const most = all[0].most;
  return html`<h2>Queue lengths <small>longest and mean, over the run</small></h2>
    <div class="queue-list">
      ${all.map((queue) => html`<button aria-pressed=${queue.name === chosen} @click=${() => update({ queue: queue.name })}>
        <span class="name">${queue.name.replace(/^node (0 )?/, "")}</span>
        <span class="measure" aria-hidden="true"><i style="width:${(queue.most / most) * 100}%"></i></span>
        <span class="number">${queue.most}</span><span class="number faint">${queue.mean < 0.01 ? "<0.01" : digits(queue.mean, 2)}</span>
      </button>`)}
    </div>`;
}
