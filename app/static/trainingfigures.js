// Figures of training: how they are written, what an axis around them is, and means of what is known.

import { percent } from "./format.js";

const MOST_POINTS = 240;

/** How figures of training are written: text of a value, ticks of an axis, the least span of an axis. */
export const UNITS = {
  share: { text: (value) => `${percent(value)} %`, least: 0.2, most: 1, floor: 0, step: 0.1 },
  usd: { text: (value) => (value < 0.995 ? `${(100 * value).toPrecision(2)} ¢` : `$${value.toFixed(2)}`), floor: 0, zero: true },
  seconds: { text: (value) => `${value < 9.95 ? value.toFixed(1) : Math.round(value)} s`, floor: 0, zero: true },
  number: { text: short, floor: null },
  count: { text: short, floor: 0, zero: true },
};

/** A number in three digits that count. */
export function short(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e5)) return value.toExponential(1).replace("-", "\u2212").replace("e+", "e");
  return String(Number(value.toPrecision(3))).replace("-", "\u2212");
}

/** The mean of what is known in the `size` values up to each one; null where nothing is. */
export function trailing(values, size = 5) {
  return values.map((_, at) => mean(values.slice(Math.max(0, at - size + 1), at + 1)));
}

export function mean(values) {
  const known = values.filter((value) => value !== null && value !== undefined);
  return known.length ? known.reduce((all, value) => all + value, 0) / known.length : null;
}

function niceStep(span, parts) {
  const rough = span / parts || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].map((digit) => digit * power).find((step) => step >= rough * 0.999);
}

/** An axis around some values; one that was there before only grows, so that a live chart does not jump. */
export function axisOf(values, unit, before) {
  const { floor = null, most = Infinity, zero = false, least = 0 } = UNITS[unit];
  let [low, high] = values.length ? [Math.min(...values), Math.max(...values)] : [0, unit === "share" ? 1 : 0];
  if (before) [low, high] = [Math.min(low, before.low), Math.max(high, before.high)];
  if (zero) low = Math.min(low, 0);
  if (high - low < least) [low, high] = [low - (least - high + low) / 2, high + (least - high + low) / 2];
  if (high === low) high = low + (Math.abs(low) || 1);
  const step = niceStep(high - low, 3);
  low = Math.floor(low / step + 1e-9) * step;
  high = Math.ceil(high / step - 1e-9) * step;
  if (floor !== null) low = Math.max(floor, low);
  high = Math.min(most, high);
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-6; n += 1) ticks.push(n * step);
  return { low, high, ticks };
}

/** Ticks of the steps: 0, then some round ones up to the end. */
export function stepTicks(end, parts) {
  const step = Math.max(1, niceStep(end, parts));
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, n) => n * step).filter(Number.isInteger);
}

/** The same rows, or as many stretches of them as can be told apart: each the mean of its rows. */
export function thinned(rows, most = MOST_POINTS) {
  const size = Math.ceil(rows.length / most) || 1;
  if (size === 1) return rows.map((row) => [row]);
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, n) => rows.slice(n * size, (n + 1) * size));
}
