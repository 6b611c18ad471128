// Numbers and foreign text as the design system writes them. Unknown is a dash with its reason, never 0.

import { el } from "./dom.js";

const grouped = new Intl.NumberFormat("en-US");

export const count = (value) => grouped.format(value);

export function usd(value) {
  if (value > 0 && value < 0.00005) return "<$0.0001";
  return value < 1 ? `$${value.toFixed(4)}` : `$${grouped.format(Math.floor(value))}${value.toFixed(2).slice(-3)}`;
}

/** The same for a sum that stands beside another: below a hundredth of a cent with two digits that count. */
export function fineUsd(value) {
  if (!(value > 0 && value < 0.0001)) return usd(value);
  return `$${value.toFixed(Math.min(9, 1 - Math.floor(Math.log10(value))))}`;
}

export const seconds = (value) => `${figure(value)} s`;

/** Seconds where the head or the label of the place has their unit. */
export function figure(value) {
  if (value < 0.005) return value > 0 ? "<0.01" : "0.00";
  return value < 9.995 ? value.toFixed(2) : value.toFixed(1);
}

export function bytes(value) {
  if (value < 1000) return `${value} B`;
  const [unit, size] = value < 1e6 ? ["KB", 1e3] : value < 1e9 ? ["MB", 1e6] : ["GB", 1e9];
  const scaled = value / size;
  return `${scaled < 100 ? scaled.toFixed(1) : Math.round(scaled)} ${unit}`;
}

/** Seconds to come, in the roughest unit that helps. */
export function wait(value) {
  if (value < 90) return `${Math.max(1, Math.round(value))} s`;
  return value < 5400 ? `${Math.round(value / 60)} min` : `${(value / 3600).toFixed(1)} h`;
}

export function weight(value) {
  return value
    .toFixed(2)
    .replace(/^(-?)0/, "$1")
    .replace("-", "\u2212");
}

const MANY = 1000;

/** A number of percent or points: whole, halves up, for of fewer than 1,000 `tasks` a decimal says nothing. */
const hundredths = (share, tasks) => (tasks < MANY ? Math.round(100 * share) : Math.round(1000 * share) / 10);

/** A share in percent, without the sign; `tasks` are those that it is of, where they may be many. */
export const percent = (share, tasks = 0) => hundredths(share, tasks).toFixed(tasks < MANY ? 0 : 1);

/** A difference of shares in points, the same way, with its sign. */
export function points(share, tasks = 0) {
  const value = hundredths(share, tasks);
  const size = Math.abs(value).toFixed(tasks < MANY ? 0 : 1);
  return value > 0 ? `+${size}` : value < 0 ? `\u2212${size}` : "0";
}

export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

export function when(iso) {
  const date = new Date(iso);
  return Number.isNaN(date.getTime())
    ? ""
    : `${date.toISOString().slice(0, 10)} ${date.toISOString().slice(11, 16)} UTC`;
}

/** A dotted dash for what nobody knows; the reason is its tooltip and its spoken name. */
export function unknown(why) {
  const reason = plain(why ?? "not measured");
  return el("span", {
    class: "wb-una",
    role: "img",
    tabindex: "0",
    title: reason,
    "aria-label": `unknown: ${reason}`,
    text: "—",
  });
}

/** What something cost, with the words for free, not billed and unknown. */
export function cost(view) {
  if (!view || view.kind === "none") return el("span", {});
  if (view.kind === "unknown") return unknown(view.why);
  if (view.kind === "free")
    return el("span", { class: "wb-mut wb-thin", title: "The price table says 0", text: "free" });
  if (view.kind === "not_billed")
    return el("span", { class: "wb-mut wb-thin", title: view.why ?? "", text: "not billed" });
  return el("span", { title: `${view.usd} USD`, text: usd(view.usd) });
}

/** A number of tokens, or the dash of a model that did not tell. */
export const tokenCount = (value) => (value === null ? unknown("a model did not report its tokens") : count(value));

/** Input and output tokens of an attempt together; nothing for what uses none. */
export function tokenText(spent) {
  if (!spent || !spent.uses_tokens) return "";
  if (spent.input_tokens === null || spent.output_tokens === null) {
    return unknown("the model did not report its tokens");
  }
  return `${count(spent.input_tokens + spent.output_tokens)} tok`;
}

const CONTROL =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u061c\u202a-\u202e\u2060-\u2069\ufeff]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu;

/**
 * Foreign text made harmless to read: control characters become visible signs, so that neither a
 * terminal's colours nor a reversed word order can pretend to be something else.
 */
export function plain(text) {
  return String(text ?? "")
    .replaceAll("\r\n", "\n")
    .replace(CONTROL, (character) => {
      const code = character.codePointAt(0).toString(16).toUpperCase();
      return `\u27e8U+${code.padStart(4, "0")}\u27e9`;
    });
}

/** A message of the server as a sentence of its own: it begins with a capital. */
export const asSentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** The same with an end, where it stands alone or other words follow. */
export const fullSentence = (text) => asSentence(text) + (/[.?!…]\s*$/.test(text) ? "" : ".");

/** The beginning of a text in one line: its first lines, a dot between them. */
export function firstLine(text) {
  const lines = plain(text.slice(0, 600))
    .split("\n")
    .map((part) => part.trim())
    .filter(Boolean);
  const line = lines.slice(0, 4).join(" · ");
  return line.length > 300 || text.length > 600 ? `${line.slice(0, 300)} …` : line;
}
