// Values of a scenario: numbers with units as texts, such as "50 ns" and "16 KiB".

const FAMILIES = [
  [["ps", 1e-12], ["ns", 1e-9], ["us", 1e-6], ["ms", 1e-3], ["s", 1]],
  [["B", 1], ["KiB", 1024], ["MiB", 1024 ** 2], ["GiB", 1024 ** 3]],
  [["bit/s", 1], ["kbit/s", 1e3], ["Mbit/s", 1e6], ["Gbit/s", 1e9]],
  [["B/s", 1], ["KiB/s", 1024], ["MiB/s", 1024 ** 2], ["GiB/s", 1024 ** 3]],
  [["kB/s", 1e3], ["MB/s", 1e6], ["GB/s", 1e9]],
];

/**
 * The parts of a value: its number in the base unit, and the units in which it can be written. A
 * number without a unit stays whole unless it is `real`.
 */
export function read(value, real = false) {
  if (typeof value === "number") return { number: value, family: null, whole: Number.isInteger(value) && !real };
  const match = /^\s*([0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)\s*([A-Za-zµμ/]+)\s*$/.exec(String(value));
  if (!match) return null;
  const unit = match[2].replace(/^[µμ]/, "u");
  for (const family of FAMILIES) {
    const found = family.find(([name]) => name === unit);
    if (found) return { number: Number(match[1]) * found[1], family, unit };
  }
  return null;
}

/** `number` with as many digits as a reader needs. */
export function digits(number, figures = 3) {
  if (number === 0) return "0";
  const rounded = Number(number.toPrecision(figures));
  return Math.abs(rounded) >= 1e6 || Math.abs(rounded) < 1e-4 ? rounded.toExponential() : String(rounded);
}

/** The number as a value like the one it replaces. */
export function write(number, like) {
  if (!like.family) {
    if (like.whole) return Math.max(like.least ?? 0, Math.round(number));
    return Number(number.toPrecision(3));
  }
  const bytes = like.family === FAMILIES[1];
  let [name, size] = like.family[0];
  for (const [other, factor] of like.family) {
    if (number >= factor * 0.9995) [name, size] = [other, factor];
  }
  const scaled = number / size;
  const text = bytes && size === 1 ? String(Math.max(1, Math.round(scaled))) : digits(scaled);
  return `${text} ${name}`;
}

/** What a typed text means for a key that has `like` now: the same kind of value. */
export function typed(text, like) {
  const trimmed = text.trim();
  if (typeof like === "boolean") return trimmed === "true";
  if (typeof like === "number" || like === "∞") {
    const number = Number(trimmed);
    return trimmed !== "" && Number.isFinite(number) ? number : trimmed;
  }
  return trimmed;
}

/** A time in seconds in words. */
export function time(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  for (const [name, factor] of [["s", 1], ["ms", 1e-3], ["us", 1e-6]]) {
    if (size >= factor * 0.9995) return `${digits(seconds / factor)} ${name === "us" ? "µs" : name}`;
  }
  return `${digits(seconds / 1e-9)} ns`;
}

/** The factor and the name of the unit in which times up to `seconds` are drawn. */
export function timeUnit(seconds) {
  for (const [name, factor] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) {
    if (seconds >= factor) return { name, factor };
  }
  return { name: "ns", factor: 1e-9 };
}

/** A rate in bytes per second in words. */
export function rate(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  for (const [name, factor] of [["GB/s", 1e9], ["MB/s", 1e6], ["kB/s", 1e3]]) {
    if (bytes >= factor) return `${digits(bytes / factor)} ${name}`;
  }
  return `${digits(bytes)} B/s`;
}

/** A share in words. */
export function percent(share) {
  const value = share * 100;
  return value > 0 && value < 1 ? "<1 %" : `${Math.round(value)} %`;
}

/** `count` things. */
export function counted(count, thing) {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** A round step so that about `wanted` of them cover `length`. */
export function step(length, wanted) {
  const rough = length / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5, 10].find((times) => times * power >= rough) ?? 10);
}
