// An adapter as a drawing: command queues, stages with their queues and phases, buses as rails.
//
//   host ▸ commands ▸ stage ▸ stage ▸ medium
//              ━━━━━━━━●━━━━━━●━━━━━━━ bus
//
// Every number in it is a field. An adapter of a file is copied into the scenario
// before its lists can be changed.

import { html, nothing } from "lit-html";
import { field } from "./field.js";
import { state } from "./state.js";
import { percent, time } from "./units.js";
import { inline, set } from "./work.js";

/** Keys of a phase that are times or sizes, with their captions. */
const COSTS = {
  fixed: "fixed",
  per_packet: "each packet",
  segment: "segment",
  per_segment: "each segment",
  per_byte: "each byte",
  rate: "rate",
  knee: "knee",
  per_byte_past: "byte past it",
  trailer: "trailer",
};

/** Keys of the family `cim250`. */
const FAMILY = {
  command: "Command", response: "Response", dma_segment: "DMA segment", dma_overhead: "DMA overhead",
  dma_byte_small: "DMA byte, small", small: "Small up to", dma_byte_large: "DMA byte, large",
  fc_overhead: "Fiber Channel overhead", fc_overlap: "Overlap", fc_frame: "Frame", fc_frame_delay: "Frame delay",
};

const ORDERS = ["fifo", "edf", "multiclass_edf", "fixed_priority", "virtual_clock", "wfq", "drr", "sfq"];
const OVERLOADS = ["block", "drop", "priority"];

/**
 * The drawing of an adapter: `path` of its table, the `table` with the keys of its file, its
 * `parts` as the simulator has them, and the `node` that it is at.
 */
export function adapterView(adapter) {
  const { path, table, parts, node, named } = adapter;
  const written = path.reduce((value, step) => value?.[step], state.design.document);
  const file = written?.file;
  const locked = Boolean(file) && table.kind === "generic";
  const known = state.design.adapters.length > 0 && file;
  return html`<section class="card adapter-card">
    <h2>Adapter ${named ? html`<b>${named}</b>` : nothing}
      ${known ? html`<small>from the file <code>${file}</code></small>` : nothing}</h2>
    ${locked ? html`<button class="copy" @click=${() => inline(path)}>Copy it into the scenario to edit it</button>` : nothing}
    ${families(adapter, written ?? {})}
    ${way("transmit", adapter, locked)}
    ${parts.receive.length ? way("receive", adapter, locked) : nothing}
    ${parts.transmit_buffers || parts.receive_buffers ? html`<p class="note">
      ${parts.transmit_buffers ? html`Transmit buffers: ${parts.transmit_buffers}. ` : nothing}
      ${parts.receive_buffers ? html`Receive buffers: ${parts.receive_buffers}.` : nothing}</p>` : nothing}
    <p class="note">Bars show the time of a packet of ${state.design.drawing.packet} B${node && state.run ? ", shares how busy each part was in the run" : ""}.</p>
  </section>`;
}

/** Fields of adapters that are a few numbers, beside `file` if there is one. */
function families({ path, table }) {
  const keys = table.kind === "cim250" ? FAMILY : null;
  if (!keys) return nothing;
  const plain = (value) => (value && typeof value === "object" ? value.value : value);
  return html`<div class="fields">
    ${Object.entries(keys).filter(([key]) => key in table).map(([key, label]) =>
      field({ path: [...path, key], label, value: plain(table[key]) }))}
  </div>`;
}

const COLOURS = 6;

/** The resources that phases hold, each with the number of its colour. */
function rails(parts) {
  const held = new Set([...parts.transmit, ...parts.receive].flatMap((stage) => stage.phases.flatMap((phase) => phase.holds)));
  return parts.resources.filter((resource) => held.has(resource.name)).map((resource, i) => ({ ...resource, colour: i % COLOURS }));
}

function way(direction, adapter, locked) {
  const { parts } = adapter;
  const stages = parts[direction];
  const sending = direction === "transmit";
  const all = rails(parts);
  const used = all.filter((rail) => stages.some((stage) => stage.phases.some((phase) => phase.holds.includes(rail.name))));
  const columns = stages.length + (sending ? 1 : 0);
  const column = (i) => (sending ? i + 3 : stages.length - i + 1);
  const most = Math.max(...stages.map((stage) => stage.time), 1e-12);
  return html`<div class="way ${direction}" style="--columns:${columns}" role="group"
      aria-label=${sending ? "Sending" : "Receiving"}>
    <div class="end" style="grid-column:1">Host</div>
    ${sending ? commands(adapter, locked) : nothing}
    ${stages.map((stage, i) => stageView(adapter, direction, stage, i, { column: column(i), all, most, locked }))}
    <div class="end" style="grid-column:${columns + 2}">Medium</div>
    ${used.map((rail, row) => html`
      <div class="rail c${rail.colour}" style="grid-row:${row + 2};grid-column:2 / ${columns + 2}">
        <span>${rail.name}${rail.preemptive ? "" : ", not preemptive"}</span></div>
      ${stages.map((stage, i) => stage.phases.some((phase) => phase.holds.includes(rail.name))
        ? html`<i class="dot c${rail.colour}" style="grid-row:${row + 2};grid-column:${column(i)}"></i>` : nothing)}`)}
  </div>`;
}

/** A queue: entries between two lines, open where packets enter. */
const glyph = (spread) => html`<span class="queue" aria-hidden="true"><i></i><i></i><i></i>${spread > 1 ? html`<b>×${spread}</b>` : nothing}</span>`;

function commands({ path, table, parts }, locked) {
  const generic = table.kind === "generic";
  return html`<div class="stage interface" style="grid-column:2">
    <h3>Commands</h3>
    ${parts.commands.map((queue, i) => html`<div class="row">${glyph(queue.spread)}
      ${generic && table.queue?.[i] ? part([...path, "queue", i, "slots"], "slots", queue.slots ?? "", "∞", locked)
        : html`<span>${queue.slots ?? "∞"}</span>`}<span class="unit">slots</span></div>`)}
    ${parts.commands.length === 0 ? html`<div class="row">${glyph(1)}<span class="unit">one at a time</span></div>` : nothing}
    ${generic ? html`<div class="row cost"><span>${table.poll ? "poll" : "doorbell"}</span>
      ${field({ path: [...path, table.poll ? "poll" : "doorbell"], label: table.poll ? "Poll" : "Doorbell", value: table.poll ?? table.doorbell, usual: "0 us", small: true })}</div>` : nothing}
    ${(table.response_queue ?? []).map((queue, i) => html`<div class="row cost"><span>${queue.answers ?? ""} interrupt after</span>
      ${part([...path, "response_queue", i, "delay"], `interrupt delay ${i}`, queue.delay ?? "", "0 us", locked)}</div>`)}
  </div>`;
}

/** A number of a list's item: plain text while the list is a file's. */
function part(path, label, value, usual, locked) {
  if (locked) return html`<span class="value">${value === "" ? usual : value}</span>`;
  return field({ path, label, value: value === "" ? undefined : value, usual, small: true });
}

/** What the run measured of a stage. */
function busy({ node, first, named }, direction, name) {
  const prefix = direction === "receive" ? "rx " : "";
  const suffixes = [named ? `@${node}.${named}` : null, `@${node}`, first ? "" : null].filter((s) => s !== null);
  return state.run?.stages.find((stage) => suffixes.some((suffix) => stage.name === `${prefix}${name}${suffix}`));
}

function stageView(adapter, direction, stage, i, { column, all, most, locked }) {
  const { path, table } = adapter;
  const generic = table.kind === "generic";
  const raw = generic ? table[direction]?.[i] : null;
  const base = [...path, direction, i];
  const seen = busy(adapter, direction, stage.name);
  return html`<div class="stage" style="grid-column:${column}">
    ${stage.queues.map((queue, q) => html`<div class="row">${glyph(queue.spread)}
      ${raw?.queue?.[q] ? part([...base, "queue", q, "slots"], `slots of ${stage.name}`, queue.slots ?? "", "∞", locked)
        : html`<span class="value">${queue.slots ?? "∞"}</span>`}
      <span class="unit">${queue.order}${queue.slots && queue.overload !== "block" ? `, ${queue.overload}` : ""}</span></div>`)}
    <h3>${stage.name}${stage.servers > 1 ? html` <b>×${stage.servers}</b>` : nothing}
      ${seen ? html`<span class="busy" title="busy in the run; longest queue ${seen.longest_queue}">${percent(seen.utilisation)}</span>` : nothing}</h3>
    ${table.kind === "null" ? nullCosts(path, table) : stage.phases.map((phase, p) => phaseView(phase, raw?.phase?.[p], [...base, "phase", p], { all, most, locked, name: stage.name }))}
    ${raw && !locked ? more(raw, base, stage) : nothing}
  </div>`;
}

function nullCosts(path, table) {
  const speed = table.rate !== undefined ? "rate" : "per_byte";
  const plain = (value) => (value && typeof value === "object" ? value.value : value);
  return html`<div class="phase">
    <div class="row cost"><span>fixed</span>${field({ path: [...path, "startup"], label: "Startup", value: plain(table.startup), usual: "0 us", small: true })}</div>
    <div class="row cost"><span>${speed === "rate" ? "rate" : "each byte"}</span>${field({ path: [...path, speed], label: "Speed", value: plain(table[speed]), small: true })}</div>
  </div>`;
}

function phaseView(phase, raw, base, { all, most, locked, name }) {
  const held = all.filter((rail) => phase.holds.includes(rail.name));
  return html`<div class="phase ${held.length ? `c${held[0].colour}` : ""}">
    ${held.map((rail) => html`<span class="pill c${rail.colour}">${rail.name}</span>`)}
    ${phase.medium ? html`<span class="pill medium">medium</span>` : nothing}
    ${phase.takes !== "all" ? html`<span class="unit">${phase.takes} only</span>` : nothing}
    ${raw
      ? Object.entries(COSTS).filter(([key]) => key in raw).map(([key, caption]) => html`<div class="row cost">
          <span>${caption}</span>${part([...base, key], `${caption}, ${name}`, raw[key], "", locked)}</div>`)
      : phase.terms.map((term) => html`<div class="row cost"><span class="value">${term}</span></div>`)}
    <div class="bar" title=${time(phase.time)} aria-hidden="true"><i style="width:${Math.max(2, (phase.time / most) * 100)}%"></i></div>
    <span class="took">${time(phase.time)}</span>
  </div>`;
}

/** What is changed less often. */
function more(raw, base, stage) {
  const phases = raw.phase ?? [];
  const queue = raw.queue?.[0];
  return html`<details class="more"><summary>More</summary>
    <div class="row cost"><span>servers</span>${field({ path: [...base, "servers"], label: `Servers of ${stage.name}`, value: raw.servers, usual: 1, small: true })}</div>
    <div class="row cost"><span>batch</span>${field({ path: [...base, "batch"], label: `Batch of ${stage.name}`, value: raw.batch, usual: 1, small: true })}</div>
    ${queue ? html`
      <div class="row cost"><span>order</span>${field({ path: [...base, "queue", 0, "order"], label: "Order", value: queue.order, usual: "fifo", choices: ORDERS, small: true })}</div>
      <div class="row cost"><span>when full</span>${field({ path: [...base, "queue", 0, "overload"], label: "When full", value: queue.overload, usual: "block", choices: OVERLOADS, small: true })}</div>`
      : html`<button class="plain" @click=${() => set([...base, "queue"], [{ slots: 16 }])}>Limit the queue</button>`}
    <button class="plain" @click=${() => set([...base, "phase", phases.length], { fixed: "1 us" })}>Add a phase</button>
    ${phases.length > 1 ? html`<button class="plain" @click=${() => set([...base, "phase", phases.length - 1], null)}>Remove the last phase</button>` : nothing}
    <button class="plain" @click=${() => set(base, null)}>Remove the stage</button>
  </details>`;
}
