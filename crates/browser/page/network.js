// The network as a drawing: switches in a row, hosts above and below them, links between.

import { html, svg, nothing } from "lit-html";
import { field } from "./field.js";
import { admission, state, update } from "./state.js";
import { time } from "./units.js";

const WIDTH = 112;
const HEIGHT = 46;
const GAP = 18;
const ROW = 104;

/** The nodes that the document names. */
export function named() {
  const { document, drawing } = state.design;
  const written = document.node ?? {};
  const known = [...drawing.nodes, ...drawing.switches].map(({ name }) => (name in written ? name : name.replace(/-\d+$/, "")));
  // Senders first, then in the order of the ways that messages take.
  const ways = drawing.channels.map(({ route }) => route.map((station) => station.split(".")[0].replace(/-\d+$/, "")));
  const hop = (name) => Math.min(...ways.map((way) => way.indexOf(name)).filter((at) => at >= 0), 99);
  const names = [...new Set(known)].filter((name) => name in written).sort((a, b) => hop(a) - hop(b));
  return names.map((name) => {
    const spec = written[name];
    const isSwitch = spec.kind === "switch";
    const detail = isSwitch ? spec.latency ?? "" : `${spec.host?.speedup ?? document.host?.speedup ?? 1}×`;
    return { name, isSwitch, detail, count: spec.count ?? 1 };
  });
}

/** Nodes and links as the document names them; numbered nodes as the simulator has them. */
function graph() {
  const { document, drawing } = state.design;
  if (document.node) {
    const nodes = named();
    const networks = Object.entries(document.network ?? {}).filter(([, spec]) => Array.isArray(spec?.joins));
    const links = networks.flatMap(([network, spec]) => {
      const [first, ...others] = spec.joins.map((name) => String(name).split(".")[0]);
      const rate = spec.rate ?? document.network.rate ?? "";
      return others.map((other) => ({ from: first, to: other, network, rate }));
    });
    return { nodes, links };
  }
  const nodes = drawing.nodes.map(({ name, speedup }) => ({ name, count: 1, isSwitch: false, detail: `${speedup}×` }));
  const links = drawing.networks.flatMap((network) => network.members.slice(1).map((member, i) => ({
    from: drawing.nodes[network.members[i]].name,
    to: drawing.nodes[member].name,
    network: null,
    rate: network.medium === "link" ? "" : network.medium,
  })));
  return { nodes, links };
}

/** Places of nodes: `x` and `y` of their middles, and the size of the whole. */
function layout({ nodes, links }) {
  const places = new Map();
  const neighbours = (name) => links.flatMap((link) => (link.from === name ? [link.to] : link.to === name ? [link.from] : []));
  const switches = chain(nodes.filter((node) => node.isSwitch).map((node) => node.name), neighbours);
  const hosts = nodes.filter((node) => !node.isSwitch).map((node) => node.name);
  const pitch = WIDTH + GAP;
  if (switches.length === 0) {
    hosts.forEach((name, i) => places.set(name, { x: WIDTH / 2 + i * (pitch + 70), y: HEIGHT / 2 + 14 }));
    return { places, width: hosts.length * (pitch + 70) - 70 - GAP, height: HEIGHT + 28 };
  }
  let x = 0;
  let rows = { above: false, below: false };
  const left = new Set(hosts);
  for (const name of switches) {
    const own = neighbours(name).filter((other) => left.delete(other));
    const above = own.filter((_, i) => i % 2 === 0);
    const below = own.filter((_, i) => i % 2 === 1);
    const width = Math.max(above.length, below.length, 1) * pitch;
    places.set(name, { x: x + width / 2, y: 0 });
    const put = (row, y) => row.forEach((host, i) => {
      places.set(host, { x: x + width / 2 + (i - (row.length - 1) / 2) * pitch, y });
    });
    put(above, -ROW);
    put(below, ROW);
    rows = { above: rows.above || above.length > 0, below: rows.below || below.length > 0 };
    x += width + 34;
  }
  const top = (rows.above ? ROW : 0) + HEIGHT / 2 + 8;
  for (const place of places.values()) place.y += top;
  [...left].forEach((name) => {
    places.set(name, { x: x + WIDTH / 2, y: top });
    x += pitch;
  });
  return { places, width: x - 34, height: top + (rows.below ? ROW : 0) + HEIGHT / 2 + 8 };
}

/** The switches in an order in which neighbours stand side by side, from an end of the chain. */
function chain(names, neighbours) {
  const degree = (name) => neighbours(name).filter((other) => names.includes(other)).length;
  const ordered = [];
  const left = new Set(names);
  while (left.size > 0) {
    const start = [...left].sort((a, b) => degree(a) - degree(b))[0];
    for (let next = start; next; next = neighbours(next).find((other) => left.has(other))) {
      left.delete(next);
      ordered.push(next);
    }
  }
  return ordered;
}

/** The name in the document of a station of the simulator: `camera-2` and `floor.core` are parts. */
function written(station, nodes) {
  const name = station.split(".")[0];
  if (nodes.some((node) => node.name === name)) return name;
  return name.replace(/-\d+$/, "");
}

export function networkView() {
  const drawn = graph();
  if (drawn.nodes.length < 2) return nothing;
  const { places, width, height } = layout(drawn);
  const channel = state.design.drawing.channels.find(({ name }) => name === state.channel);
  const route = (channel?.route ?? []).map((station) => written(station, drawn.nodes));
  const last = drawn.nodes.some((node) => node.name === route.at(-1)) && channel?.received;
  const onRoute = (link) => route.some((name, i) => i > 0 &&
    ((link.from === route[i - 1] && link.to === name) || (link.to === route[i - 1] && link.from === name)));
  const parts = new Map((admission().get(state.channel)?.terms ?? []).filter((hop) => hop.station)
    .map((hop) => [written(hop.station, drawn.nodes), hop.time]));
  const chosen = state.node ?? drawn.nodes.find((node) => !node.isSwitch)?.name;
  return html`<section class="card network">
    <h2>Network ${channel ? html`<small>the way of <b>${channel.name}</b>${parts.size > 1 ? ", with the bound at each station" : ""}</small>` : nothing}</h2>
    <div class="scroll">
    <svg viewBox="0 0 ${width} ${height}" style="width:${width}px" role="group" aria-label="Network">
      ${drawn.links.map((link) => linkView(link, places, onRoute(link)))}
      ${drawn.nodes.map((node) => nodeView(node, places.get(node.name), {
        chosen: node.name === chosen,
        onRoute: route.includes(node.name) || (last && route.at(-1) === node.name),
        bound: parts.get(node.name),
      }))}
    </svg></div>
    ${nodeFields(chosen)}
  </section>`;
}

function linkView(link, places, onRoute) {
  const [a, b] = [places.get(link.from), places.get(link.to)];
  if (!a || !b) return nothing;
  const label = { x: a.x + (b.x - a.x) / 2, y: a.y + (b.y - a.y) / 2 };
  const level = a.y === b.y;
  return svg`<g class="link ${onRoute ? "on" : ""}">
    <line x1=${a.x} y1=${a.y} x2=${b.x} y2=${b.y}></line>
    ${link.rate && level ? svg`<text x=${label.x} y=${label.y - 7}>${link.rate}</text>` : nothing}
  </g>`;
}

function nodeView(node, place, { chosen, onRoute, bound }) {
  if (!place) return nothing;
  const choose = () => update({ node: node.name });
  const keys = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose();
  };
  const words = [node.count > 1 ? `×${node.count}` : null, node.detail].filter(Boolean).join(" · ");
  return svg`<g class="node ${node.isSwitch ? "switch" : ""} ${chosen ? "chosen" : ""} ${onRoute ? "on" : ""}"
      transform="translate(${place.x - WIDTH / 2} ${place.y - HEIGHT / 2})" role="button" tabindex="0"
      aria-label="${node.isSwitch ? "Switch" : "Host"} ${node.name}" aria-pressed=${chosen}
      @click=${choose} @keydown=${keys}>
    ${node.count > 1 ? svg`<rect x="4" y="-4" width=${WIDTH} height=${HEIGHT} rx="8"></rect>` : nothing}
    <rect width=${WIDTH} height=${HEIGHT} rx=${node.isSwitch ? 4 : 8}></rect>
    <text x=${WIDTH / 2} y="19" class="name">${node.name}</text>
    <text x=${WIDTH / 2} y="36" class="detail">${bound !== undefined ? `${time(bound)}` : words}</text>
  </g>`;
}

/** Fields of the chosen switch and of the links at the chosen node. */
function nodeFields(name) {
  const { document } = state.design;
  const spec = document.node?.[name];
  if (!spec) return nothing;
  const networks = Object.entries(document.network ?? {}).filter(([, network]) =>
    Array.isArray(network?.joins) && network.joins.some((one) => String(one).split(".")[0] === name));
  const isSwitch = spec.kind === "switch";
  return html`<div class="fields">
    ${isSwitch ? html`
      ${field({ path: ["node", name, "latency"], label: `Latency of ${name}`, value: spec.latency, usual: "0 us" })}
      ${field({ path: ["node", name, "forwarding"], label: "Forwarding", value: spec.forwarding, usual: "store_and_forward", choices: ["store_and_forward", "cut_through"] })}
      ${field({ path: ["node", name, "order"], label: "Order", value: spec.order, usual: "multiclass_edf", choices: ["multiclass_edf", "fixed_priority", "fifo"] })}`
      : field({ path: ["node", name, "count"], label: `Copies of ${name}`, value: spec.count, usual: 1 })}
    ${networks.map(([network, own]) => html`
      ${own.rate ?? document.network.rate ? field({ path: ["network", network, "rate"], label: `Rate of ${network}`, value: own.rate ?? document.network.rate }) : nothing}
      ${own.propagation !== undefined ? field({ path: ["network", network, "propagation"], label: `Propagation of ${network}`, value: own.propagation }) : nothing}`)}
  </div>`;
}
