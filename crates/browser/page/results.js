// Bound beside worst for every channel.

import { html, nothing } from "lit-html";
import { admission, measured, state, update } from "./state.js";
import { counted, percent, rate, time } from "./units.js";
import { set } from "./work.js";

/** A row for each channel: what admission says and what the run saw. */
export function rows() {
  const verdicts = admission();
  const seen = measured();
  return (state.design?.drawing?.channels ?? []).map((channel) => {
    const promise = verdicts.get(channel.name) ?? {};
    const result = seen.get(channel.name) ?? {};
    const bound = promise.bound ?? null;
    const worst = result.worst ?? null;
    const deadline = promise.deadline ?? channel.deadline ?? null;
    const exceeded = bound !== null && worst !== null && worst > bound * (1 + 1e-12);
    return { ...channel, promise, result, bound, worst, deadline, exceeded };
  });
}

export function channels() {
  if (!state.design?.admission) return nothing;
  const all = rows();
  const stale = state.findings.length > 0;
  return html`<section class="card ${stale ? "stale" : ""}">
    <h2>Bound beside worst case
      <small>${legend("worst", "measured")} ${legend("bound", "bound")} ${legend("deadline", "deadline")}</small></h2>
    ${state.design.admission.not_analysed ? html`<p class="note">No bounds: ${state.design.admission.not_analysed}.</p>` : nothing}
    <div class="rows" role="list">${all.map(row)}</div>
  </section>`;
}

const legend = (kind, word) => html`<span class="legend"><i class=${kind}></i>${word}</span>`;

function row(channel) {
  const { name, promise, result, bound, worst, deadline } = channel;
  const refused = promise.verdict === "refused";
  const bad = (refused && !promise.expected) || channel.exceeded || result.fails;
  const chosen = state.channel === name;
  const scale = Math.max(deadline ?? 0, bound ?? 0, worst ?? 0) * 1.04 || 1;
  const share = (value) => `${Math.min(100, (value / scale) * 100)}%`;
  const words = channel.guaranteed ? verdict(channel) : "best effort";
  return html`<div class="result ${bad ? "bad" : ""} ${chosen ? "chosen" : ""}" role="listitem">
    <button class="head" aria-expanded=${chosen} @click=${() => update({ channel: name })}>
      <span class="name">${name}</span>
      <span class="verdict">${words}</span>
      ${channel.guaranteed ? html`<span class="track" aria-hidden="true">
          ${bound !== null && worst !== null ? html`<i class="margin" style="left:${share(worst)};width:calc(${share(bound)} - ${share(worst)})"></i>` : nothing}
          ${worst !== null ? html`<i class="worst" style="width:${share(worst)}"></i>` : nothing}
          ${bound !== null ? html`<i class="bound" style="left:${share(bound)}"></i>` : nothing}
          ${deadline !== null ? html`<i class="deadline" style="left:${share(deadline)}"></i>` : nothing}
        </span>
        <span class="numbers"><b class="worst">${time(worst)}</b><b class="bound">${time(bound)}</b><b class="deadline">${time(deadline)}</b></span>`
        : html`<span class="load">${rate(result.throughput)} carried${result.dropped ? `, ${counted(result.dropped, "packet")} dropped` : ""}</span>`}
    </button>
    ${refused ? refusal(channel) : nothing}
    ${chosen && !refused ? explained(channel) : nothing}
  </div>`;
}

function verdict({ promise, result, exceeded, bound, deadline }) {
  if (exceeded) return "bound exceeded";
  if (promise.verdict === "refused") return promise.expected ? "refused, as expected" : "refused";
  if (result.fails) return `${counted(result.failed, "message")} late or lost`;
  if (bound !== null && deadline) return `${percent(1 - bound / deadline)} spare`;
  return promise.verdict ?? "";
}

/** Why a channel is refused, its largest term, and what would be admitted. */
function refusal({ name, promise }) {
  const { largest, admissible, jitter, interval, room, reason } = promise;
  const deadline = jitter ? null : admissible;
  const place = (state.design.document.channel ?? []).findIndex((channel) => channel.name === name || name.startsWith(`${channel.name}-`));
  return html`<div class="refusal">
    <p>${reason}</p>
    ${largest ? html`<p>Largest term: <b>${largest.name}</b>${largest.station ? ` at ${largest.station}` : ""}, <b>${time(largest.time)}</b></p>` : nothing}
    ${deadline && place >= 0 ? html`<button class="fix" @click=${() => set(["channel", place, "deadline"], deadline)}>Set the deadline to ${deadline}</button>` : nothing}
    ${jitter && place >= 0 ? html`<button class="fix" @click=${() => set(["channel", place, "jitter"], jitter)}>Set the jitter to ${jitter}</button>` : nothing}
    ${interval && place >= 0 && !interval.deadline ? html`<button class="fix" @click=${() => set(["channel", place, "min_interval"], interval.interval)}>Set the interval to ${interval.interval}</button>` : nothing}
    ${(room ?? []).map((one) => html`<p>With <code>${one.key} = ${one.least}</code> in place of ${one.has} it would be admitted.</p>`)}
  </div>`;
}

/** The terms of a bound, the largest first. */
function explained({ promise, result, guaranteed }) {
  const hops = promise.terms ?? [];
  const all = hops.flatMap((hop) => hop.terms.map((term) => ({ ...term, station: hop.station })));
  const sum = all.reduce((total, term) => total + term.time, 0);
  const most = [...all].sort((a, b) => b.time - a.time).slice(0, 6);
  return html`<div class="explained">
    ${promise.reason ? html`<p>Not analysed: ${promise.reason}.</p>` : nothing}
    ${result.no_bound && !promise.reason ? html`<p>${result.no_bound}</p>` : nothing}
    ${most.length ? html`<table><caption>What the bound consists of</caption><tbody>
      ${most.map((term) => html`<tr><th scope="row">${term.name}${term.station ? html` <small>${term.station}</small>` : nothing}</th>
        <td class="share"><i style="width:${(term.time / most[0].time) * 100}%"></i></td>
        <td>${time(term.time)}</td><td>${percent(term.time / sum)}</td></tr>`)}
    </tbody></table>` : nothing}
    ${result.delays ? html`<p class="note">${counted(result.delays.count, "message")}: half within ${time(result.delays.p50)}, 99 % within ${time(result.delays.p99)}, worst ${time(result.worst ?? result.delays.max)}.
      ${guaranteed && result.on_time !== null && result.on_time !== undefined ? html`${result.on_time === 1 ? "All" : percent(result.on_time)} on time.` : nothing}</p>` : nothing}
  </div>`;
}
