// Two scores on one time axis: A above, B below, lines between the calls that belong together.

import { el, put, svg } from "./dom.js";
import { drawScore } from "./score.js";

const GAP = 30;

/** A side of the comparison as the score draws a run. */
export function runOf(side) {
  return {
    finished: side.status !== "running",
    timed: side.timed,
    now: side.end,
    stop: side.status === "running" ? null : side.status,
    turns: side.turns.map((turn) => ({
      ...turn,
      calls: turn.calls.map((call) => ({
        ...call,
        observation: call.finished === null ? null : { finished_s: call.finished },
      })),
    })),
    tool: (name) => side.kinds[name] ?? { kind: "basic", title: name },
  };
}

export class Staves {
  constructor(host) {
    this.host = host;
    this.data = null;
    this.top = el("div", { class: "cp-stave" });
    this.lines = svg("svg", { class: "cp-lines", height: GAP, "aria-hidden": "true" });
    this.bottom = el("div", { class: "cp-stave" });
    put(host, this.top, this.lines, this.bottom);
    new ResizeObserver(() => this.draw()).observe(host);
  }

  show(data) {
    this.data = data;
    this.draw();
  }

  draw() {
    if (!this.data || !this.host.clientWidth) return;
    const { a, b, rows } = this.data;
    const sides = [runOf(a), runOf(b)];
    const seconds = Math.max(a.end, b.end);
    const kinds = new Set(
      sides.flatMap((run) => run.turns.flatMap((turn) => turn.calls.map((call) => run.tool(call.tool).kind))),
    );
    drawScore(this.top, sides[0], { seconds, kinds });
    drawScore(this.bottom, sides[1], { seconds, kinds });
    const width = Math.max(280, this.top.clientWidth || 760);
    const [left, right] = [width < 500 ? 26 : 92, 40]; // the score's own margins
    const x = (t) => left + (t / Math.max(seconds, 0.2)) * (width - left - right);
    const [calls_a, calls_b] = sides.map((run) => run.turns.flatMap((turn) => turn.calls));
    const middle = (call) => (call?.finished === null || !call || !a.timed || !b.timed ? null : (call.started + call.finished) / 2);
    this.lines.setAttribute("viewBox", `0 0 ${width} ${GAP}`);
    this.lines.setAttribute("width", width);
    this.lines.replaceChildren(
      ...rows
        .filter((row) => row.a && row.b)
        .slice(0, 400)
        .map((row) => [middle(calls_a[row.a.number - 1]), middle(calls_b[row.b.number - 1]), row.difference])
        .filter(([from, to]) => from !== null && to !== null)
        .map(([from, to, difference]) =>
          svg("path", {
            class: difference === "same" ? "cp-line" : "cp-line changed",
            d: `M${x(from)} 0C${x(from)} ${GAP * 0.6} ${x(to)} ${GAP * 0.4} ${x(to)} ${GAP}`,
          }),
        ),
    );
  }
}
