// From a changed text to results: admission first, then a short run, then the whole run.

import { Engine } from "./engine.js";
import { state, update, same } from "./state.js";
import { read, write } from "./units.js";

/** Events of the run that follows a change at once; a longer run is done when changes pause. */
const AT_ONCE = 40_000;
/** How long changes pause before long work begins, milliseconds. */
const PAUSE = 180;
/** Values of a sweep, and the largest factor from the value in the middle. */
const SWEPT = 31;
const REACH = 8;

let engine = null;
let version = 0;
/** Counts the scenarios that were opened: a change of one is none of the next. */
let scenario = 0;
let pause = 0;

/** Marks for tests: when what was shown first, and how long changes took. */
export const times = { design: null, run: null, changes: [] };

export async function open() {
  engine = await Engine.open();
  return engine.by;
}

/** An answer of the engine to a short request. */
export function ask(request) {
  return engine.ask(request);
}

/** Takes `text` as the scenario, and works out what follows. */
export async function take(text, more = {}) {
  const begun = performance.now();
  const mine = ++version;
  if (more.name) scenario++;
  clearTimeout(pause);
  update({ text, busy: true, ...more });
  const base = { text, point: state.point };
  let design;
  try {
    design = await engine.ask({ do: "design", ...base });
  } catch (error) {
    if (mine === version) update({ busy: false, status: `The simulator stopped: ${error.message}` });
    return;
  }
  if (mine !== version) return;
  if (design.findings.length > 0) {
    update({ findings: design.findings, busy: false, status: "" });
    return;
  }
  update({ findings: [], design, point: design.point, ...selection(design) });
  times.design ??= performance.now();
  const run = await simulate(mine, { ...base, events: AT_ONCE, watch: true });
  if (mine !== version) return;
  times.run ??= performance.now();
  times.changes.push(performance.now() - begun);
  pause = setTimeout(() => settle(mine, base, run), PAUSE);
}

/** Long work, when changes pause: advice for refused channels, and the whole run. */
async function settle(mine, base, run) {
  const refused = state.design.admission.channels.some((channel) => channel.verdict === "refused");
  if (refused) {
    const design = await engine.ask({ do: "design", ...base, advice: true });
    if (mine !== version) return;
    update({ design });
  }
  if (run && !run.whole) await simulate(mine, { ...base, watch: true });
  if (mine === version) update({ busy: false });
}

async function simulate(mine, request) {
  try {
    const run = await engine.newest("run", { do: "run", ...request });
    if (!run || mine !== version) return null;
    if (run.error) {
      update({ run: null, noRun: run.error });
      return null;
    }
    update({ run, noRun: "", busy: !run.whole });
    note(run);
    return run;
  } catch (error) {
    if (mine === version) update({ run: null, noRun: `The simulator stopped: ${error.message}`, busy: false });
    return null;
  }
}

/** A selection that exists in `design`. */
function selection(design) {
  const channels = design.drawing.channels;
  const chosen = channels.find((channel) => channel.name === state.channel);
  const first = channels.find((channel) => channel.guaranteed) ?? channels[0];
  const nodes = design.drawing.nodes.map((node) => node.name);
  const written = Object.keys(design.document.node ?? {});
  const node = [...nodes, ...written].includes(state.node) ? state.node : null;
  return { channel: (chosen ?? first)?.name ?? null, node };
}

/** Sets the key at `path`; `null` removes it. */
export async function set(path, value) {
  await change({ do: "set", path, value }, "The change is not possible");
}

/** Has the engine change the text, in words `refused` if it does not. */
async function change(request, refused) {
  const mine = scenario;
  let text;
  let answer;
  // A text that changed meanwhile is asked for again: the answer would undo the other change.
  do {
    text = state.text;
    try {
      answer = await engine.ask({ ...request, text });
    } catch (error) {
      update({ status: `The simulator stopped: ${error.message}` });
      return;
    }
    if (mine !== scenario) return;
  } while (text !== state.text);
  if (answer.error) update({ status: `${refused}: ${answer.error}` });
  else await take(answer.text);
}

let waiting = null;
let setting = false;

/** The same for values that follow one another fast: the newest wins. */
export async function drag(path, value) {
  waiting = { path, value };
  if (setting) return;
  setting = true;
  while (waiting) {
    const { path, value } = waiting;
    waiting = null;
    await set(path, value);
  }
  setting = false;
}

/** Puts the contents of the adapter's file into the scenario, so that all of it can be changed. */
export async function inline(path) {
  await change({ do: "inline", path }, "The adapter could not be copied");
}

/** Opens the slider of a key that has `value`, and computes bounds over its range. */
export async function slide(path, name, value, real) {
  const like = read(value, real);
  if (state.slider && same(state.slider.path, path)) return;
  if (!like || like.number <= 0) {
    update({ slider: null });
    return;
  }
  const values = [];
  for (let i = 0; i < SWEPT; i++) {
    const factor = REACH ** ((2 * i) / (SWEPT - 1) - 1);
    const text = write(like.number * factor, { ...like, least: 1 });
    if (values.at(-1) !== text) values.push(text);
  }
  const slider = { path, name, like, base: like.number, values, points: null, measured: [] };
  update({ slider });
  const sweep = await engine.newest("sweep", { do: "sweep", text: state.text, point: state.point, path, values });
  if (sweep && !sweep.error && state.slider === slider) {
    slider.points = sweep.points;
    if (state.run) note(state.run);
    update({ slider });
  }
}

/** Keeps the worst case of a run beside the value of the open slider. */
function note(run) {
  const { slider, design } = state;
  if (!slider || !design) return;
  const now = slider.path.reduce((value, step) => value?.[step], design.document);
  const value = read(now);
  if (!value) return;
  slider.measured = slider.measured.filter((point) => point.value !== value.number);
  const worst = new Map(run.channels.map((channel) => [channel.name, channel.worst]));
  slider.measured.push({ value: value.number, worst });
  slider.measured.sort((a, b) => a.value - b.value);
}

export const reach = REACH;
