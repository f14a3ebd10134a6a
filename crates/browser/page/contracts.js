// The contracts of channels, edited in place.

import { html, nothing } from "lit-html";
import { repeat } from "lit-html/repeat";
import { field } from "./field.js";
import { admission, state, update } from "./state.js";
import { set } from "./work.js";

const CLASSES = ["real_time", "best_effort"];
const SOURCES = ["periodic", "poisson", "continuous"];

export function contracts() {
  const channels = state.design.document.channel ?? [];
  return html`<section class="card">
    <h2>Channels</h2>
    <div class="contracts">
      ${repeat(channels, (_, i) => i, contract)}
    </div>
    <button class="plain add" @click=${add}>Add a channel</button>
  </section>`;
}

function contract(channel, i) {
  const path = (...keys) => ["channel", i, ...keys];
  const guaranteed = channel.class === "real_time";
  const verdict = admission().get(channel.name) ?? admission().get(`${channel.name}-1`);
  const bad = verdict?.verdict === "refused";
  const interval = channel.rate !== undefined ? "rate" : "min_interval";
  const source = channel.source?.kind;
  return html`<article class="contract ${bad ? "bad" : ""} ${isOf(state.channel, channel.name) ? "chosen" : ""}"
      @focusin=${() => choose(channel.name)}>
    <div class="line">
      ${field({ path: path("name"), label: "Name", value: channel.name, small: true })}
      ${field({ path: path("class"), label: "Class", value: channel.class, choices: CLASSES, small: true })}
      ${channel.from !== undefined ? html`<span class="way">${channel.from} → ${channel.to}</span>` : nothing}
      <button class="plain remove" aria-label="Remove ${channel.name}" title="Remove"
        @click=${() => set(path(), null)}>×</button>
    </div>
    <div class="fields">
      ${field({ path: path("max_message"), label: "Largest message", value: channel.max_message })}
      ${guaranteed ? html`
        ${field({ path: path(interval), label: interval === "rate" ? "Rate" : "Least interval", value: channel[interval] })}
        ${field({ path: path("deadline"), label: "Deadline", value: channel.deadline, usual: "none" })}` : nothing}
      ${field({ path: path("burst"), label: "Burst", value: channel.burst, usual: 1 })}
      ${source ? field({ path: path("source", "kind"), label: "Source", value: source, choices: SOURCES }) : nothing}
      ${channel.count !== undefined ? field({ path: path("count"), label: "Copies", value: channel.count }) : nothing}
    </div>
  </article>`;
}

/** Whether `name` is that of `channel`, or of one of its copies. */
function isOf(name, channel) {
  return name === channel || (name?.startsWith(`${channel}-`) && /^\d+$/.test(name.slice(channel.length + 1)));
}

function choose(name) {
  if (isOf(state.channel, name)) return;
  const known = state.design.drawing.channels.map((channel) => channel.name);
  const found = [name, `${name}-1`].find((one) => known.includes(one));
  if (found) update({ channel: found });
}

/** Adds a channel like the last one with a guarantee. */
function add() {
  const channels = state.design.document.channel ?? [];
  const like = channels.findLast((channel) => channel.class === "real_time") ?? channels.at(-1);
  let number = channels.length + 1;
  while (channels.some((channel) => channel.name === `channel-${number}`)) number++;
  set(["channel", channels.length], { ...like, name: `channel-${number}` });
}
