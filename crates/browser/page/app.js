// The page: opens the simulator, and draws every part after a change.

import { html, nothing, render } from "lit-html";
import { delays, queues, sweep, sweepKeys } from "./curves.js";
import { design } from "./design.js";
import { EXAMPLES, example } from "./examples.js";
import { queueList, shownQueue } from "./queues.js";
import { channels, rows } from "./results.js";
import { fragment, save, shared } from "./share.js";
import { state, update, watch } from "./state.js";
import { goTo, showText } from "./text.js";
import { timeline } from "./timeline.js";
import { counted, time } from "./units.js";
import { ask, open, take, times } from "./work.js";

const place = (id) => document.getElementById(id);

/** The theme: that of the system, or one of the reader's choice. */
function theme(next) {
  if (next) {
    if (next === "system") localStorage.removeItem("theme");
    else localStorage.setItem("theme", next);
  }
  const chosen = localStorage.getItem("theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
  return chosen ?? "system";
}

function bar() {
  const themes = ["system", "light", "dark"];
  const now = theme();
  return html`
    <a class="brand" href="#" @click=${(event) => { event.preventDefault(); start("adapter"); }}>Laxity <b>designer</b></a>
    <label class="hidden" for="examples">Example</label>
    <select id="examples" @change=${(event) => start(event.target.value)}>
      <option value="" ?selected=${!state.example} disabled>${state.name}</option>
      ${EXAMPLES.map(({ name, title }) => html`<option value=${name} ?selected=${state.example === name}>${title}</option>`)}
    </select>
    <span class="actions">
      <label class="button" for="file">Open<input id="file" type="file" accept=".toml" class="hidden" @change=${openFile}></label>
      <button @click=${() => save(state.text, state.name)}>Save</button>
      <button @click=${share}>Share</button>
      <button class="theme" aria-label="Theme: ${now}" title="Theme: ${now}"
        @click=${() => { theme(themes[(themes.indexOf(now) + 1) % 3]); update({}); }}>${{ system: "◐", light: "○", dark: "●" }[now]}</button>
    </span>
    <nav class="panes" aria-label="Part of the page">
      ${["design", "results"].map((pane) => html`<button aria-pressed=${state.pane === pane} @click=${() => update({ pane })}>
        ${pane === "design" ? "Design" : html`Results ${verdictDot()}`}</button>`)}
    </nav>`;
}

/** Whether all is well, in a glance. */
function verdictDot() {
  const bad = rows().some((row) => row.exceeded || row.result.fails || (row.promise.verdict === "refused" && !row.promise.expected));
  return html`<i class="light ${bad || state.findings.length ? "bad" : "good"}"></i>`;
}

async function openFile(event) {
  const [file] = event.target.files;
  if (!file) return;
  event.target.value = "";
  await take(await file.text(), { name: file.name, example: null, point: 0, slider: null });
}

async function share() {
  history.replaceState(null, "", await fragment(state.text));
  let status = "The address of this page now has the scenario in it.";
  try {
    await navigator.clipboard.writeText(location.href);
    status = "The address with the scenario is in the clipboard.";
  } catch {
    // Without permission the address bar has it.
  }
  update({ status });
}

async function start(name) {
  history.replaceState(null, "", location.pathname);
  await take(await example(name), { name: `${name}.toml`, example: name, point: 0, slider: null, node: null, channel: null, status: "" });
}

function statusLine() {
  if (state.findings.length) return html`<span class="bad">${counted(state.findings.length, "error")} in the text: results are those before.</span>`;
  if (state.status) return state.status;
  if (state.noRun) return html`<span class="bad">${state.noRun}</span>`;
  const { run } = state;
  if (!run) return state.design ? "Running …" : "Opening …";
  const part = run.whole ? "" : ` of ${run.length === null ? "the run" : time(run.length)} so far`;
  return `${time(run.simulated)}${part} simulated. Every change is computed on this device.`;
}

function sweepPanel() {
  const { slider } = state;
  if (!slider) return nothing;
  return html`<section class="card sweep-card"><h2>Bound over <b>${slider.name.toLowerCase()}</b>
      <small>${sweepKeys().map(({ name, hue }) => html`<span class="legend"><i style="background:var(${hue})"></i>${name}</span>`)}
      <span class="legend"><i class="ring"></i>measured</span></small>
      <button class="plain close" aria-label="Close" @click=${() => update({ slider: null })}>×</button></h2>
    <div class="plot" id="sweep-plot"></div>
    ${slider.points ? nothing : html`<p class="note">Computing bounds …</p>`}</section>`;
}

function curvesPanel() {
  const row = rows().find((one) => one.name === state.channel);
  return html`<section class="card"><h2>Delays <small>of <b>${state.channel}</b>: share of messages that took longer</small></h2>
    <div class="plot" id="delays-plot"></div>
    ${row && !row.result.delays ? html`<p class="note">No message of this channel was measured.</p>` : nothing}</section>`;
}

function draw() {
  const dragging = state.slider !== null;
  document.body.dataset.pane = state.pane;
  render(bar(), place("bar"));
  render(design(), place("design"));
  render(html`<p class=${state.busy ? "busy" : ""}>${statusLine()}</p>`, place("status"));
  render(state.design ? channels() : nothing, place("channels"));
  render(dragging ? sweepPanel() : nothing, place("sweep"));
  const width = place("results").clientWidth;
  render(state.run ? timeline(width) : nothing, place("timeline"));
  render(state.run && state.channel ? curvesPanel() : nothing, place("curves"));
  const list = state.run ? queueList() : nothing;
  render(list === nothing ? nothing : html`<section class="card">${list}<div class="plot" id="queues-plot"></div></section>`, place("queues"));
  const inner = Math.max(width - 34, 240);
  if (width > 0) {
    if (place("sweep-plot")) sweep(place("sweep-plot"), inner);
    if (place("delays-plot")) delays(place("delays-plot"), inner);
    if (place("queues-plot")) queues(place("queues-plot"), inner, shownQueue());
  }
  showText(place("editor"));
}

async function main() {
  theme();
  watch(draw);
  addEventListener("resize", () => update({}));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => update({}));
  document.addEventListener("go-to", ({ detail }) => setTimeout(() => goTo(detail), 60));
  addEventListener("hashchange", async () => {
    const text = await shared(location.hash);
    if (text !== null) take(text, { name: "shared.toml", example: null, point: 0, slider: null });
  });
  const [by, text] = await Promise.all([open(), shared(location.hash).then((text) => text ?? example("adapter"))]);
  const isShared = location.hash.length > 1;
  update({ by });
  await take(text, isShared ? { name: "shared.toml", example: null } : { name: "adapter.toml", example: "adapter" });
}

// For tests: what the page has, and when.
window.laxity = { state, times, ask, take };
main().catch((error) => update({ status: `The designer could not start: ${error.message}` }));
