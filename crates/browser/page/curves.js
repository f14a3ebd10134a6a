// Curves: delays with bound and deadline, queue lengths, and bounds over the value of a slider.

import uPlot from "uplot";
import { state } from "./state.js";
import { rows } from "./results.js";
import { digits, read, time, timeUnit } from "./units.js";

const HUES = ["--line-1", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

const probe = document.createElement("i");
probe.hidden = true;
document.body.append(probe);

/** A colour of the theme as a canvas understands it. */
function colour(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

/** Axes in the colours of the theme. */
function axis(more) {
  return {
    stroke: colour("--faint"),
    grid: { stroke: colour("--grid"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    labelSize: 20,
    ...more,
  };
}

/** A vertical line with a word, drawn over a plot. */
function mark(plot, value, words, stroke, dash, level) {
  const { ctx, bbox } = plot;
  const x = Math.round(plot.valToPos(value, "x", true)) + 0.5;
  if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) return;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.fillStyle = stroke;
  ctx.lineWidth = 1.5 * ratio;
  ctx.setLineDash(dash.map((part) => part * ratio));
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  const right = x + ctx.measureText(words).width + 8 * ratio > bbox.left + bbox.width;
  ctx.textAlign = right ? "right" : "left";
  ctx.fillText(words, x + (right ? -5 : 5) * ratio, bbox.top + (12 + level * 15) * ratio);
  ctx.restore();
}

/** A plot in `place` that is made anew when its `shape` changes, and given data otherwise. */
class Plot {
  constructor(place) {
    this.place = place;
    this.shape = null;
    this.plot = null;
  }

  show(shape, data, options) {
    const full = `${shape} ${options.width} ${options.height} ${document.documentElement.dataset.theme} ${matchMedia("(prefers-color-scheme: dark)").matches}`;
    if (this.plot && this.shape === full) {
      this.options.marks = options.marks;
      this.plot.setData(data);
      return;
    }
    this.plot?.destroy();
    this.shape = full;
    this.options = options;
    const hooks = { draw: [(plot) => this.options.marks?.(plot)] };
    this.plot = new uPlot({ cursor: { drag: { x: false, y: false }, points: { size: 6 } }, legend: { show: false }, hooks, ...options }, data, this.place);
  }

  clear() {
    this.plot?.destroy();
    this.plot = null;
    this.shape = null;
  }
}

const plots = new Map();

function plot(place) {
  if (!plots.has(place)) plots.set(place, new Plot(place));
  return plots.get(place);
}

/** The share of messages of the chosen channel that took longer than each time. */
export function delays(place, width) {
  const chosen = rows().find((row) => row.name === state.channel && row.result.delays?.curve.length > 1);
  if (!chosen) {
    plot(place).clear();
    return;
  }
  const { curve, min, max } = chosen.result.delays;
  const most = Math.max(chosen.bound ?? 0, max);
  // A deadline far behind all that happens is named at the edge, so that the curve can be read.
  const far = chosen.deadline !== null && chosen.deadline > 2 * most;
  const longest = far ? most * 1.15 : Math.max(most, chosen.deadline ?? 0) * 1.06;
  const unit = timeUnit(longest);
  const start = min > longest / 3 ? min - (longest - min) * 0.15 : 0;
  const least = Math.min(...curve.filter(([share]) => share < 1).map(([share]) => 1 - share));
  const points = curve.map(([share, value]) => [value / unit.factor, Math.max(1 - share, least / 2)]);
  const xs = [start / unit.factor, ...points.map(([x]) => x)];
  const ys = [1, ...points.map(([, y]) => y)];
  const floor = 10 ** Math.floor(Math.log10(least));
  const range = [start / unit.factor, longest / unit.factor];
  plot(place).show(`delays ${chosen.name} ${unit.name} ${floor} ${range.map((end) => end.toPrecision(4))}`, [xs, ys], {
    width,
    height: 220,
    scales: { x: { time: false, range }, y: { distr: 3, range: [floor / 1.5, 1.2] } },
    series: [{}, { stroke: colour("--worst"), width: 2, paths: uPlot.paths.stepped({ align: -1 }), points: { show: false } }],
    axes: [axis({ label: `delay (${unit.name})`, size: 28 }), axis({
      size: 58,
      filter: (_, splits) => splits,
      label: "share that took longer",
      splits: () => Array.from({ length: Math.round(-Math.log10(floor)) + 1 }, (_, i) => 10 ** -i),
      values: (_, values) => values.map((value) => (value >= 0.01 ? `${Number((value * 100).toPrecision(2))} %` : `10${superscript(Math.round(Math.log10(value)))}`)),
    })],
    marks: (drawn) => {
      if (chosen.bound !== null) mark(drawn, chosen.bound / unit.factor, "bound", colour("--bound"), [], 0);
      if (far) mark(drawn, range[1], `deadline ${time(chosen.deadline)} →`, colour("--deadline"), [5, 4], 1);
      else if (chosen.deadline !== null) mark(drawn, chosen.deadline / unit.factor, "deadline", colour("--deadline"), [5, 4], 1);
    },
  });
}

const superscript = (number) => String(number).replace("-", "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);

/** The largest length of queues in each part of the run. */
export function queues(place, width, chosen) {
  const queue = state.run?.watched?.queues.find((one) => one.name === chosen);
  if (!queue) {
    plot(place).clear();
    return;
  }
  const unit = timeUnit(queue.width * queue.largest.length);
  const xs = queue.largest.map((_, i) => (i * queue.width) / unit.factor);
  plot(place).show(`queue ${chosen} ${unit.name} ${queue.most}`, [xs, queue.largest], {
    width,
    height: 130,
    scales: { x: { time: false }, y: { range: [0, Math.max(1, queue.most) * 1.15] } },
    series: [{}, { stroke: colour("--worst"), fill: colour("--fill"), width: 1.5, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } }],
    axes: [axis({ label: `time (${unit.name})`, size: 28 }), axis({ size: 44, values: (_, values) => values.map((v) => (Number.isInteger(v) ? v : "")) })],
    marks: () => {},
  });
}

/** The bound of each channel over the values of the open slider, with the worst cases measured. */
export function sweep(place, width) {
  const { slider } = state;
  if (!slider?.points) {
    plot(place).clear();
    return;
  }
  const xs = slider.values.map((value) => read(value).number);
  const asked = rows().filter((row) => row.guaranteed);
  const names = asked.filter((row) => slider.points.some((point) => point?.some((one) => one.name === row.name && one.bound))).map((row) => row.name).slice(0, HUES.length);
  const bounds = names.map((name) => slider.points.map((point) => point?.find((one) => one.name === name)?.bound ?? null));
  const all = [...new Set([...xs, ...slider.measured.map((point) => point.value)])].sort((a, b) => a - b);
  const aligned = bounds.map((line) => all.map((x) => (xs.includes(x) ? line[xs.indexOf(x)] : undefined)));
  const worst = names.map((name) => all.map((x) => slider.measured.find((point) => point.value === x)?.worst.get(name) ?? undefined));
  const longest = Math.max(...bounds.flat().filter((value) => value !== null), 1e-12) * 1.1;
  const unit = timeUnit(longest);
  const scaled = (line) => line.map((value) => (value === null || value === undefined ? value : value / unit.factor));
  const now = read(slider.path.reduce((value, step) => value?.[step], state.design.document))?.number;
  const family = slider.like.family;
  const name = (value) => {
    if (!family) return digits(value);
    const [word, size] = family.findLast(([, factor]) => value >= factor * 0.9995) ?? family[0];
    return `${digits(value / size)} ${word}`;
  };
  plot(place).show(`sweep ${slider.path.join(" ")} ${names} ${unit.name}`, [all, ...aligned.map(scaled), ...worst.map(scaled)], {
    width,
    height: 190,
    scales: { x: { time: false, distr: 3, range: [xs[0], xs.at(-1)] }, y: { range: [0, longest / unit.factor] } },
    series: [
      {},
      ...names.map((_, i) => ({ stroke: colour(HUES[i]), width: 2, spanGaps: false, points: { show: false } })),
      ...names.map((_, i) => ({ stroke: colour(HUES[i]), paths: () => null, points: { show: true, size: 7, fill: colour("--card"), width: 2 } })),
    ],
    axes: [axis({
      filter: (_, splits) => splits,
      splits: () => [0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 1].map((share) => xs[0] * (xs.at(-1) / xs[0]) ** share),
      values: (_, values) => values.map(name),
    }), axis({ size: 52, label: `bound (${unit.name})` })],
    marks: (drawn) => now && mark(drawn, now, name(now), colour("--ink"), [3, 3], 0),
  });
}

/** Names and colours of the lines of the sweep. */
export function sweepKeys() {
  const { slider } = state;
  if (!slider?.points) return [];
  const names = rows().filter((row) => row.guaranteed && slider.points.some((point) => point?.some((one) => one.name === row.name && one.bound))).map((row) => row.name);
  return names.slice(0, HUES.length).map((name, i) => ({ name, hue: HUES[i] }));
}
