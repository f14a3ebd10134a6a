// The worst message of the chosen channel: where it was, and what it waited for.

import { html, svg, nothing } from "lit-html";
import { admission, state } from "./state.js";
import { digits, step, time, timeUnit } from "./units.js";

const ROW = 26;
const TOP = 22;
const LABEL = 158;

export function timeline(width) {
  const watched = state.run?.watched;
  const found = watched?.timelines.find((one) => one.channel === state.channel);
  if (!found) {
    const chosen = state.design?.drawing?.channels.find(({ name }) => name === state.channel);
    const refused = admission().get(state.channel)?.verdict === "refused";
    if (!chosen?.guaranteed || refused || !state.run) return nothing;
    const why = state.design.drawing.virtual_interfaces || state.design.drawing.receives
      ? "Messages are followed where hosts schedule them, and not at interfaces."
      : `No message of ${state.channel} with a deadline reached its end in this run.`;
    return html`<section class="card"><h2>Worst message</h2><p class="note">${why}</p></section>`;
  }
  const inner = Math.max(width - 34, 260);
  const narrow = inner < 480;
  const label = narrow ? 0 : LABEL;
  const row = narrow ? ROW + 14 : ROW;
  const span = Math.max(found.took, 1e-12) * 1.02;
  const x = (seconds) => label + (Math.max(0, seconds) / span) * (inner - label);
  const height = TOP + found.tracks.length * row + 6;
  const unit = timeUnit(span);
  const ticks = [];
  const by = step(span / unit.factor, narrow ? 4 : 7);
  for (let at = 0; at * unit.factor <= span; at += by) ticks.push(at);
  return html`<section class="card timeline">
    <h2>Worst message <small>message ${found.message} of <b>${found.channel}</b> took ${time(found.took)}
      ${found.deadline ? `of ${time(found.deadline)}` : ""}</small></h2>
    <p class="keys">${key("own", "this message")} ${key("same", "its channel")} ${key("other", "other channels")} ${key("none", "no channel")}</p>
    <svg viewBox="0 0 ${inner} ${height}" width=${inner} height=${height} role="img"
        aria-label="Timeline of the worst message of ${found.channel}: ${time(found.took)}">
      ${ticks.map((at) => svg`<g class="tick"><line x1=${x(at * unit.factor)} x2=${x(at * unit.factor)} y1=${TOP - 4} y2=${height}></line>
        <text x=${x(at * unit.factor)} y="12" text-anchor=${at === 0 ? "start" : "middle"}>${digits(at)}${at === 0 ? ` ${unit.name}` : ""}</text></g>`)}
      ${found.tracks.map((track, i) => trackView(track, TOP + i * row, { x, label, narrow, inner, names: watched.names }))}
      <line class="end" x1=${x(found.took)} x2=${x(found.took)} y1=${TOP - 4} y2=${height}></line>
    </svg>
  </section>`;
}

const key = (kind, words) => html`<span class="legend"><i class="span ${kind}"></i>${words}</span>`;

/** A track without what all of one host have in common; a stage by its name alone. */
function shortName(name) {
  const short = name.replace(/^node (0 )?/, "");
  if (short.includes("stage ")) return short.replace("stage ", "");
  // A port of a switch is named by its ends.
  const port = /^(\S+)\.(\S+) link$/.exec(short);
  if (port) return `${port[1]} → ${port[2]}`;
  return short.replace(/\blink$/, "transmission").replace(/\bcpu/, "CPU");
}

function trackView(track, top, { x, label, narrow, inner, names }) {
  const name = shortName(track.name);
  const y = narrow ? top + 13 : top;
  const number = state.design.drawing.channels.findIndex((channel) => channel.name === state.channel);
  return svg`<g class="track">
    <text x=${narrow ? 0 : label - 10} y=${narrow ? top + 9 : top + 16} text-anchor=${narrow ? "start" : "end"}>${name}</text>
    <rect class="lane" x=${label} y=${y + 2} width=${inner - label} height="20" rx="3"></rect>
    ${track.spans.map(([begin, end, word, channel, own]) => {
      const kind = own ? "own" : channel === null ? "none" : channel === number ? "same" : "other";
      const whose = channel === null ? "" : ` of ${state.design.drawing.channels[channel]?.name}`;
      return svg`<rect class="span ${kind}" x=${x(begin)} y=${y + 4} height="16"
        width=${Math.max(0.8, x(end) - x(begin))}><title>${names[word]}${whose}: ${time(end - Math.max(0, begin))}</title></rect>`;
    })}
  </g>`;
}
