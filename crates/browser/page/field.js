// A value that is edited in place: a text, a choice or a switch; a number has a slider.

import { html, nothing } from "lit-html";
import { live } from "lit-html/live";
import { state, same, update } from "./state.js";
import { read, typed, write } from "./units.js";
import { drag, reach, set, slide } from "./work.js";

/** What is being typed, which results that arrive meanwhile must not replace. */
let typing = null;

let numbers = 0;
const identifiers = new Map();

/** An identifier for the field at `path`, the same at each drawing. */
export function identifier(path) {
  const key = path.join(" ");
  if (!identifiers.has(key)) identifiers.set(key, `f${numbers++}`);
  return identifiers.get(key);
}

/**
 * A field.
 *
 * `path` is the key, `value` what it has (undefined if it is not in the file), `usual` what that
 * means then. `choices` makes it a choice. `real` is a number without a unit that need not be whole.
 * `small` leaves the label to a screen reader.
 */
export function field({ path, label, value, usual = "", choices = null, small = false, real = false }) {
  const id = identifier(path);
  const shown = value ?? "";
  const control = choices
    ? choice(id, path, label, value, usual, choices)
    : typeof value === "boolean" || typeof usual === "boolean"
      ? toggle(id, path, value ?? usual)
      : entry(id, path, label, shown, usual, real);
  return html`<div class="field ${small ? "small" : ""}">
    <label for=${id} class=${small ? "hidden" : ""}>${label}</label>${control}
  </div>`;
}

function entry(id, path, label, value, usual, real) {
  const open = state.slider && same(state.slider.path, path);
  const size = Math.max(3, String(value === "" ? usual : value).length);
  const commit = (event) => {
    const text = event.target.value;
    typing = null;
    if (text === String(value)) return;
    set(path, text.trim() === "" ? null : typed(text, value === "" ? usual : value));
  };
  const keys = (event) => {
    const direction = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (event.key === "Escape") {
      typing = null;
      update({ slider: null });
    }
    if (event.key === "Enter") commit(event);
    const now = direction && read(typed(event.target.value, value), real);
    if (!now) return;
    event.preventDefault();
    typing = null;
    const next = now.whole ? now.number + direction : now.number * (direction > 0 ? 1.05 : 1 / 1.05);
    if (next > 0) drag(path, write(next, now));
  };
  return html`<input id=${id} type="text" autocomplete="off" spellcheck="false"
      style="--size:${size}ch" .value=${live(typing?.id === id ? typing.text : String(value))}
      placeholder=${String(usual)} @change=${commit} @keydown=${keys}
      @input=${(event) => (typing = { id, text: event.target.value })} @blur=${() => (typing = null)}
      @focus=${() => (value === "" ? update({ slider: null }) : slide(path, label, value, real))}>
    ${open ? slider(path, label, value) : nothing}`;
}

/** The slider under a number: a factor of what the number was when the slider opened. */
function slider(path, label, value) {
  const { base, like } = state.slider;
  const now = read(value)?.number ?? base;
  const position = Math.log(now / base) / Math.log(reach);
  const move = (event) => {
    const wanted = base * reach ** Number(event.target.value);
    drag(path, write(wanted, { ...like, least: 1 }));
  };
  return html`<span class="slider"><input type="range" min="-1" max="1" step="0.01"
    .value=${live(String(position))} aria-label="Slide ${label}" aria-valuetext=${String(value)}
    @input=${move} @keydown=${(event) => event.key === "Escape" && update({ slider: null })}></span>`;
}

function choice(id, path, label, value, usual, choices) {
  const all = value === undefined || choices.includes(value) ? choices : [value, ...choices];
  const now = value ?? usual;
  return html`<select id=${id} @change=${(event) => set(path, event.target.value)} aria-label=${label}>
    ${all.map((word) => html`<option value=${word} ?selected=${word === now}>${word}</option>`)}
  </select>`;
}

function toggle(id, path, value) {
  return html`<input id=${id} type="checkbox" .checked=${live(value)}
    @change=${(event) => set(path, event.target.checked)}>`;
}
