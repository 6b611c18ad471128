// The score: a lane per tool kind, x = seconds, a bar = one call; and the same in 92 x 20 px.

import { el, svg } from "./dom.js";
import { kindIcon, strokes } from "./icons.js";
import { count, plain, seconds } from "./format.js";
import { NO_TIMES } from "./times.js";

const LANES = ["basic", "specialist", "generalist", "domain"];
const FAILED = new Set(["error", "timeout", "rejected"]);
const DIGIT = 7; // px
const STEPS = [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600];

/**
 * Spans of a run: what the orchestrator thought and what it called, in seconds. Where experts state theirs and do not
 * wait, a call lasts what it states and all that follows its turn comes later by as much; `later` is how much in all.
 */
function spansOf(run) {
  const thinking = [];
  const calls = [];
  let later = 0;
  for (const turn of run.turns) {
    const end = turn.generated ?? turn.finished ?? run.now;
    thinking.push({ start: turn.started + later, end: end + later, live: turn.generated === null && !run.finished, turn: turn.index });
    let [passed, stated] = [0, 0];
    for (const call of turn.calls) {
      if (call.started === null) continue;
      const spec = run.tool(call.tool);
      calls.push({
        kind: spec.kind,
        title: spec.title,
        turn: turn.index,
        start: call.started + later,
        state: call.state,
        end: later + (call.observation ? call.started + lasted(run, call) : run.now),
      });
      if (!call.observation) continue;
      passed = Math.max(passed, call.observation.finished_s);
      stated = Math.max(stated, call.started + lasted(run, call));
    }
    later += stated - passed;
  }
  return { thinking, calls, later };
}

/** Seconds of a call that has ended; a run that was made on the axis of what is stated has them in its times. */
const lasted = (run, call) => run.lasted?.(call) ?? call.observation.finished_s - call.started;

/**
 * Draw the score of a run into `host`, as wide as it is. Two runs side by side share an axis by the same
 * `seconds`, and lanes by the same `kinds`; the default is the run's own.
 */
export function drawScore(host, run, { seconds: shared, kinds, width: given } = {}) {
  const width = Math.max(280, given ?? (host.clientWidth || 760));
  const narrow = width < 500;
  if (run.timed === false) {
    host.replaceChildren(el("p", { class: "wb-note", text: `Nothing to draw: ${NO_TIMES}.` }));
    return;
  }
  const { thinking, calls, later } = spansOf(run);
  const used = kinds ?? new Set(calls.map((call) => call.kind));
  const lanes = ["orch", ...LANES.filter((kind) => used.has(kind))];
  if (lanes.length === 1) lanes.push("basic");
  const [row, left, right] = [narrow ? 17 : 19, narrow ? 26 : 92, 40];
  const bottom = lanes.length * row + 2;
  const now = run.now + later;
  const span = Math.max(shared ?? (run.finished ? now : now * 1.06), 0.2);
  const x = (t) => left + (t / span) * (width - left - right);
  const middle = (kind) => lanes.indexOf(kind) * row + row / 2 + 2;
  const drawing = svg("svg", {
    class: "wb-score",
    viewBox: `0 0 ${width} ${bottom + 18}`,
    height: bottom + 18,
    role: "img",
    "aria-label": sentence(run, calls, now),
  });
  drawing.append(
    hatches(),
    ...grid(span, x, bottom),
    ...lanes.flatMap((kind) => lane(kind, middle(kind), left, width - 8, narrow)),
  );
  for (const bar of seen(thinking, x, () => "orch")) drawing.append(thought(bar, x, middle("orch")));
  const labelled = new Map();
  const bars = seen(calls, x, (call) => `${call.kind} ${look(call)}`);
  const following = nextInLane(bars);
  for (const bar of bars)
    drawing.append(...callBar(bar, x, middle(bar.kind), row - 6, labelled, x(following.get(bar))));
  if (run.stop !== "answered") drawing.append(...nowLine(run, x(now), bottom, width));
  host.replaceChildren(drawing);
}

/** The bars that can be told apart: one that lies within a pixel of the last of its lane and look is left out. */
function seen(bars, x, lane) {
  const last = new Map();
  return bars.filter((bar) => {
    const end = x(bar.end);
    const covered = last.get(lane(bar)) ?? -Infinity;
    if (end - covered < 1) return false;
    last.set(lane(bar), Math.max(covered, end));
    return true;
  });
}

/** When the next bar of its lane begins, for every bar. */
function nextInLane(bars) {
  const begins = new Map();
  const following = new Map();
  for (const bar of bars.toReversed()) {
    following.set(bar, begins.get(bar.kind) ?? Infinity);
    begins.set(bar.kind, bar.start);
  }
  return following;
}

const look = (bar) => (FAILED.has(bar.state) ? "failed" : bar.state === "running" ? "running" : "done");

function sentence(run, calls, now) {
  const failed = calls.filter((call) => FAILED.has(call.state)).length;
  return `Score: ${count(run.turns.length)} turns, ${count(calls.length)} calls, ${failed} failed, ${seconds(now)}`;
}

function hatches() {
  return svg(
    "defs",
    {},
    LANES.map((kind) =>
      svg(
        "pattern",
        { id: `wb-hatch-${kind}`, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        svg("rect", { width: 3, height: 6, class: `wb-f-${kind}`, opacity: 0.55 }),
      ),
    ),
  );
}

function grid(span, x, bottom) {
  const step = STEPS.find((size) => span / size <= 9) ?? Math.ceil(span / 9);
  const parts = [];
  for (let n = 0; n * step <= span; n += 1) {
    const t = n * step;
    const label = step < 0.1 ? t.toFixed(2) : step < 1 ? t.toFixed(1) : String(t);
    parts.push(svg("line", { class: "g", x1: x(t), x2: x(t), y1: 2, y2: bottom }));
    parts.push(svg("text", { x: x(t), y: bottom + 13, "text-anchor": "middle", text: n === 0 ? "0 s" : label }));
  }
  return parts;
}

function lane(kind, y, left, right, narrow) {
  const sign = svg(
    "g",
    { class: `wb-strokes wb-s-${kind}`, transform: `translate(0,${y - 7}) scale(.82)` },
    strokes(kindIcon(kind)),
  );
  const name = kind === "orch" ? "orchestrator" : kind;
  const word = narrow ? null : svg("text", { class: "ink", x: 18, y: y + 4, text: name });
  return [svg("line", { class: "g", x1: left, x2: right, y1: y, y2: y }), sign, word].filter(Boolean);
}

function thought(bar, x, y) {
  const props = {
    x: x(bar.start),
    y: y - 4,
    width: Math.max(2, x(bar.end) - x(bar.start) - 1),
    height: 8,
    rx: 2,
    class: "wb-f-orch",
  };
  return svg(
    "rect",
    { ...props, opacity: bar.live ? 0.4 : 0.75 },
    svg("title", { text: `turn ${bar.turn}, orchestrator, ${seconds(bar.end - bar.start)}` }),
  );
}

function callBar(bar, x, y, height, labelled, next) {
  const start = x(bar.start);
  const width = Math.max(2, x(bar.end) - start);
  const failed = FAILED.has(bar.state);
  const look = failed ? "wb-bar-failed" : bar.state === "running" ? `wb-bar-live wb-s-${bar.kind}` : `wb-f-${bar.kind}`;
  const fill = bar.state === "running" ? { fill: `url(#wb-hatch-${bar.kind})` } : {};
  const parts = [
    svg(
      "rect",
      {
        x: start,
        y: y - height / 2,
        width,
        height,
        rx: 2,
        class: look,
        opacity: bar.state === "cancelled" ? 0.6 : null,
        ...fill,
      },
      svg("title", { text: `turn ${bar.turn}, ${plain(bar.title)}, ${bar.state}, ${seconds(bar.end - bar.start)}` }),
    ),
  ];
  if (failed && width > 12) {
    const middle = start + width / 2;
    parts.push(svg("path", { d: `M${middle - 3} ${y - 3}l6 6m0-6-6 6`, class: "wb-bar-cross" }));
  }
  return parts.concat(number(bar, start, width, y, failed, labelled, next));
}

/** The turn's number, in its bar or after it; none where the one before or the `next` bar leaves no room. */
function number(bar, start, width, y, failed, labelled, next) {
  const text = String(bar.turn);
  const room = DIGIT * text.length;
  const inside = width > room + 9 && !failed && bar.state !== "running" && bar.state !== "cancelled";
  const at = inside ? start + 5 : start + width + 4;
  if (at < (labelled.get(bar.kind) ?? 0) || (!inside && at + room > next)) return []; // the bar's title still tells it
  labelled.set(bar.kind, at + room + 3);
  return [svg("text", { x: at, y: y + 4, class: inside ? `b wb-on-${bar.kind}` : "ink", text })];
}

function nowLine(run, x, bottom, width) {
  const word = !run.finished ? "now" : run.stop === "cancelled" ? "stopped" : "ended";
  const left = x + 4 + DIGIT * word.length > width;
  const text = svg("text", {
    class: "wb-now-word",
    x: left ? x - 4 : x + 4,
    y: 10,
    "text-anchor": left ? "end" : "start",
    text: word,
  });
  return [svg("line", { class: "wb-now", x1: x, x2: x, y1: 0, y2: bottom }), text];
}

/** The glyph of a stored run: `{ spans: [{kind, start, end, status}], end }`. */
export function glyph({ spans, end }) {
  const scale = 90 / Math.max(end, 0.001);
  const words = spans.length ? spans.map((span) => span.kind).join(", ") : "none";
  const drawing = svg("svg", {
    class: "wb-glyph",
    width: 92,
    height: 20,
    viewBox: "0 0 92 20",
    role: "img",
    "aria-label": `${spans.length} calls: ${words}`,
  });
  LANES.forEach((_, row) =>
    drawing.append(svg("line", { class: "g", x1: 0, x2: 92, y1: row * 5 + 2.5, y2: row * 5 + 2.5 })),
  );
  for (const span of spans) {
    const width = Math.max(3, (span.end - span.start) * scale);
    const x = Math.min(1 + span.start * scale, 91 - width);
    const look = FAILED.has(span.status) ? "wb-bar-failed thin" : `wb-f-${span.kind}`;
    drawing.append(svg("rect", { x, y: LANES.indexOf(span.kind) * 5 + 0.5, width, height: 4, rx: 1, class: look }));
  }
  return drawing;
}
