// What was measured of a tool: calls, how they went, how long they took, who made them.

import { el, svg } from "./dom.js";
import { count, percent, plain, seconds, unknown, usd } from "./format.js";

const FEW = 3;

export function figures(row) {
  const use = row.use;
  const tile = (name, value, note) =>
    el("div", { class: "wb-tile" }, el("span", { text: name }), el("b", {}, value), el("small", {}, note));
  const none = "not called yet";
  const ran = use?.ran ?? 0;
  const stated = row.typical_s === null ? "none stated" : `stated ${seconds(row.typical_s)}`;
  return [
    el(
      "h3",
      { class: "wb-cap" },
      "Measured",
      el("span", { class: "lv-plain", text: "every run in this store" }),
      el("span", { class: "wb-sp" }),
      ran
        ? el("a", {
            class: "wb-link lv-plain",
            href: `/trajectories?tool=${encodeURIComponent(row.id)}`,
            text: "its trajectories",
          })
        : null,
    ),
    el(
      "div",
      { class: "tp-tiles" },
      tile("Calls", count(ran), use?.refused ? `${count(use.refused)} refused` : "ran"),
      tile(
        "Went well",
        ran ? `${percent(use.ok / ran)} %` : unknown(none),
        ran ? `${count(use.ok)} of ${count(ran)}` : "",
      ),
      tile("Median", use?.p50_s == null ? unknown(none) : seconds(use.p50_s), stated),
      tile(
        "Mean cost",
        use?.mean_usd == null
          ? unknown(ran ? "no call has a known cost" : none)
          : el("span", { title: `${use.mean_usd} USD`, text: usd(use.mean_usd) }),
        use?.priced ? `n ${count(use.priced)}` : "",
      ),
    ),
  ];
}

export function distribution(row, found) {
  const total = found?.counts.reduce((sum, n) => sum + n, 0) ?? 0;
  if (total < FEW) return null; // the tiles say all that so few calls tell
  const { width_s: width, counts } = found;
  const most = Math.max(...counts);
  const [top, high, bar] = [30, 44, 372 / counts.length];
  const floor = top + high;
  const end = width * (counts.length - 1);
  const { p50_s: p50, p95_s: p95 } = row.use ?? {};
  const at = (value) => Math.min(370, (value / width) * bar);
  const line = (value, word, y) =>
    value == null
      ? null
      : [
          svg("path", { class: "tp-line", d: `M${at(value).toFixed(1)} ${y - 8}V${floor}` }),
          svg(
            "text",
            {
              class: "ink",
              x: at(value) > 280 ? at(value) - 4 : at(value) + 4,
              y,
              "text-anchor": at(value) > 280 ? "end" : "start",
            },
            `${word} ${seconds(value)}`,
          ),
        ];
  return [
    el(
      "h3",
      { class: "wb-cap" },
      "Seconds to answer",
      el("span", { class: "lv-plain", text: `${count(total)} calls that went well` }),
    ),
    svg(
      "svg",
      {
        class: "wb-chart",
        viewBox: "0 0 372 92",
        role: "img",
        "aria-label": `Histogram of seconds: median ${p50 == null ? "unknown" : seconds(p50)}, 95 per cent under ${p95 == null ? "unknown" : seconds(p95)}`,
      },
      counts.map((n, place) =>
        n === 0
          ? null
          : svg("rect", {
              class: `wb-f-${row.kind}`,
              x: place * bar + 1,
              y: floor - Math.max(2, (high * n) / most),
              width: bar - 2,
              height: Math.max(2, (high * n) / most),
              rx: 1,
            }),
      ),
      svg("path", { class: "ax", d: `M0 ${floor}H372` }),
      svg("text", { x: 0, y: 89 }, "0 s"),
      svg("text", { x: 372 - bar, y: 89, "text-anchor": "middle" }, seconds(end)),
      line(p50, "p50", 10),
      p95 === p50 ? null : line(p95, "p95", 24),
    ),
  ];
}

export function whoCalls(callers) {
  if (callers.length === 0) return null;
  const most = callers[0][1];
  return [
    el("h3", { class: "wb-cap", text: "Who calls it" }),
    callers.map(([name, n]) =>
      el(
        "div",
        { class: "wb-hb k-orch" },
        el("span", { text: plain(name) }),
        el("u", {}, el("i", { style: { width: `${(100 * n) / most}%` } })),
        el("span", { class: "wb-num", text: count(n) }),
      ),
    ),
  ];
}
