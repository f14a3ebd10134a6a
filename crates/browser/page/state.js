// The state that the page shows, and its listeners.

export const state = {
  /** The scenario; all else follows from this text. */
  text: "",
  /** The file's name. */
  name: "scenario.toml",
  /** Which point of the scenario's own sweep. */
  point: 0,
  /** Answer to `design`; the last valid one while the text has errors. */
  design: null,
  /** Errors of the text. */
  findings: [],
  /** Answer to `run`. */
  run: null,
  /** Why there is no run. */
  noRun: "",
  /** The name of the channel that timeline and curves are of. */
  channel: null,
  /** The name of the node whose host and adapter are shown. */
  node: null,
  /** The key with an open slider: { path, name, base, values, points, measured }. */
  slider: null,
  /** The name of the queue that is drawn over time. */
  queue: null,
  /** Which example this is; `null` for the reader’s own. */
  example: null,
  /** `drawing` or `text`. */
  view: "drawing",
  /** On a narrow screen: `design` or `results`. */
  pane: "design",
  /** What the status line says. */
  status: "",
  busy: false,
};

const listeners = new Set();

/** Calls `listener` after every change. */
export function watch(listener) {
  listeners.add(listener);
}

let scheduled = false;

/** Applies `change` and draws once before the next frame. */
export function update(change) {
  Object.assign(state, change);
  if (scheduled) return;
  scheduled = true;
  queueMicrotask(() => {
    scheduled = false;
    for (const listener of listeners) listener(state);
  });
}

/** The value in `document` at `path`. */
export function at(document, path) {
  return path.reduce((value, step) => value?.[step], document);
}

/** Whether two paths are one. */
export function same(a, b) {
  return a.length === b.length && a.every((step, i) => step === b[i]);
}

/** Verdicts of admission by channel name. */
export function admission() {
  const channels = state.design?.admission?.channels ?? [];
  return new Map(channels.map((channel) => [channel.name, channel]));
}

/** Results of the run by channel name. */
export function measured() {
  return new Map((state.run?.channels ?? []).map((channel) => [channel.name, channel]));
}
