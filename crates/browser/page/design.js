// The left side: what the scenario describes, as a drawing or as text.

import { html, nothing } from "lit-html";
import { adapterView } from "./adapter.js";
import { contracts } from "./contracts.js";
import { field } from "./field.js";
import { named, networkView } from "./network.js";
import { at, state, update } from "./state.js";
import { counted } from "./units.js";
import { take } from "./work.js";

const POLICIES = ["interrupt", "interrupt_kernel", "napi", "continuous", "timed", "hard_timer", "explicit", "limited", "coalescing"];
const FIRMWARES = ["svia", "pvia", "qosvia"];
const PROFILES = ["mc68040", "hartos-np", "harts-reception", "polling-server"];

export function design() {
  return html`
    <div class="views" role="tablist" aria-label="How the scenario is shown">
      ${["drawing", "text"].map((view) => html`<button role="tab" id="view-${view}"
        aria-selected=${state.view === view} @click=${() => update({ view })}>
        ${view === "drawing" ? "Drawing" : "Text"}</button>`)}
      ${state.findings.length ? html`<span class="flag">${counted(state.findings.length, "error")}</span>` : nothing}
    </div>
    ${errors()}
    <div id="drawing" ?hidden=${state.view !== "drawing"}>${drawing()}</div>
    <div id="editor" ?hidden=${state.view !== "text"}></div>`;
}

/** The errors, each a button that goes to its line. */
function errors() {
  if (state.findings.length === 0) return nothing;
  return html`<ul class="errors" aria-label="Errors">
    ${state.findings.map((finding) => html`<li>
      <button @click=${() => go(finding)}>
        ${finding.start ? html`<b>line ${finding.start.line}</b>` : nothing} ${finding.message}
        ${finding.help.map((help) => html`<small>${help}</small>`)}
        ${finding.note ? html`<small>${finding.note}</small>` : nothing}
      </button></li>`)}
  </ul>`;
}

function go(finding) {
  update({ view: "text" });
  document.dispatchEvent(new CustomEvent("go-to", { detail: finding }));
}

function drawing() {
  const { design } = state;
  if (!design?.drawing) return html`<p class="note">The drawing appears when the text has no errors.</p>`;
  const { drawing, document } = design;
  const title = field({ path: ["title"], label: "Title", value: document.title ?? "" });
  return html`
    <div class="title">${title}</div>
    ${networkView()}
    ${drawing.virtual_interfaces || drawing.receives ? special(drawing) : [host(), adapter()]}
    ${contracts()}
    ${running()}`;
}

/** Hosts that receive at interfaces, and virtual interfaces: the numbers of their tables. */
function special(drawing) {
  const { document } = state.design;
  if (!drawing.receives) return card("Virtual interfaces", scalars(["via"], document.via));
  const interfaces = document.interface ?? [];
  return [
    card("Host that receives", [...scalars(["host"], document.host), ...scalars(["host", "receive"], document.host?.receive)]),
    ...interfaces.map((one, i) => card(`Interface ${one.name}`, scalars(["interface", i], one))),
  ];
}

const card = (title, fields) => html`<section class="card"><h2>${title}</h2><div class="fields">${fields}</div></section>`;

/** A field for each plain value of the table at `path`. */
function scalars(path, table) {
  const choices = { profile: PROFILES, policy: POLICIES, firmware: FIRMWARES };
  return Object.entries(table ?? {}).filter(([key, value]) => typeof value !== "object" && key !== "name").map(([key, value]) =>
    field({ path: [...path, key], label: key.replaceAll("_", " "), value, choices: choices[key] ?? null }));
}

/** The node whose host is shown: the chosen one, or the first. */
function shownNode() {
  const hosts = named().filter((node) => !node.isSwitch).map((node) => node.name);
  return hosts.find((name) => name === state.node) ?? hosts[0] ?? null;
}

function host() {
  const { document } = state.design;
  const name = shownNode();
  const path = name ? ["node", name, "host"] : ["host"];
  const common = document.host ?? {};
  const own = at(document, path) ?? {};
  const from = (...keys) => ({
    path: [...path, ...keys],
    value: at(own, keys) ?? at(common, keys),
  });
  return html`<section class="card host">
    <h2>Host ${name ? html`<b>${name}</b>` : nothing}</h2>
    <div class="fields">
      ${field({ ...from("profile"), label: "Profile", choices: PROFILES })}
      ${field({ ...from("speedup"), label: "Times as fast", usual: 1, real: true })}
      ${field({ ...from("subsystem", "packet"), label: "Largest packet", usual: "4 KiB" })}
      ${field({ ...from("subsystem", "preemption"), label: "Packets per block", usual: 1 })}
      ${field({ ...from("subsystem", "link", "depth"), label: "Packets in the adapter", usual: 1 })}
    </div>
  </section>`;
}

function adapter() {
  const { design } = state;
  const name = shownNode();
  const nodes = design.drawing.nodes;
  const place = name ? nodes.findIndex((node) => node.name === name || node.name === `${name}-1`) : 0;
  const node = nodes[Math.max(place, 0)];
  if (!node) return nothing;
  return node.adapters.map((attached) => {
    const own = design.adapters.find(({ path }) => {
      const wanted = attached.name ? ["node", name, "adapter", attached.name] : ["node", name, "adapter"];
      return path.join(" ") === wanted.join(" ");
    });
    const written = own ?? design.adapters.find(({ path }) => path.length === 1);
    if (!written) return nothing;
    return adapterView({
      path: written.path,
      table: written.table,
      parts: design.drawing.adapters[attached.adapter],
      node: node.name,
      named: attached.name,
      first: place <= 0,
    });
  });
}

function running() {
  const { document, points } = state.design;
  const run = document.run ?? {};
  const key = "packets" in run ? "packets" : "time";
  return html`<section class="card">
    <h2>Run</h2>
    <div class="fields">
      ${field({ path: ["run", key], label: key === "time" ? "Simulated time" : "Packets", value: run[key] })}
      ${field({ path: ["run", "warmup"], label: "Warm-up", value: run.warmup, usual: "0 s" })}
      ${field({ path: ["seed"], label: "Seed", value: document.seed, usual: 1 })}
      ${points.length > 1 ? html`<div class="field wide"><label for="point">Point of the file’s sweep</label>
        <select id="point" @change=${(event) => {
          update({ point: Number(event.target.value) });
          take(state.text);
        }}>
          ${points.map((words, i) => html`<option value=${i} ?selected=${i === state.point}>${words}</option>`)}
        </select></div>` : nothing}
    </div>
  </section>`;
}
