// Icons as data, drawn by createElementNS: 16 x 16, strokes only.

import { svg } from "./dom.js";

const path = (d, more = {}) => ["path", { d, ...more }];
const circle = (cx, cy, r) => ["circle", { cx, cy, r }];

const SHAPES = {
  baton: [path("M2.5 13.5 12.6 3.4"), circle(3.2, 12.8, 1.7), path("M9 13.5c2.4-.4 4.1-2 4.6-4.5")],
  wrench: [
    path(
      "M10.2 2.2a3.6 3.6 0 0 0-3.3 5L2.4 11.7a1.4 1.4 0 0 0 2 2L8.9 9.1a3.6 3.6 0 0 0 4.8-4.3L11.6 6.9 9.5 6.5 9.1 4.4z",
    ),
  ],
  search: [circle(7, 7, 4.2), path("M10.2 10.2 14 14")],
  globe: [circle(8, 8, 6), path("M2 8h12M8 2c2.2 2 2.2 10 0 12M8 2c-2.2 2-2.2 10 0 12")],
  code: [path("m5.5 4.5-3.5 3.5 3.5 3.5M10.5 4.5 14 8l-3.5 3.5")],
  target: [circle(8, 8, 6), circle(8, 8, 2.4), path("M8 .8v2.4M8 12.8v2.4M.8 8h2.4M12.8 8h2.4")],
  layers: [path("m8 1.8 6.2 3.2L8 8.2 1.8 5z"), path("M1.8 8 8 11.2 14.2 8M1.8 11 8 14.2 14.2 11")],
  cylinder: [
    ["ellipse", { cx: 8, cy: 3.6, rx: 5.5, ry: 2 }],
    path("M2.5 3.6v8.8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2V3.6M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2"),
  ],
  check: [path("m3 8.5 3.2 3.2L13 4.8")],
  cross: [path("m4 4 8 8M12 4l-8 8")],
  warn: [path("M8 2 14.5 13.5h-13z"), path("M8 6.5v3.2M8 11.6v.1")],
  minus: [path("M3.5 8h9")],
  stop: [["rect", { x: 4, y: 4, width: 8, height: 8, rx: 1 }]],
  play: [path("M5 3.2 12.5 8 5 12.8z")],
  list: [path("M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4v.1M2.5 8v.1M2.5 12v.1")],
  sliders: [path("M2 4.5h7M12 4.5h2M2 11.5h2M7 11.5h7"), circle(10.5, 4.5, 1.6), circle(5.5, 11.5, 1.6)],
  again: [path("M3 8a5 5 0 1 0 1.6-3.7M3 2.6v2.9h2.9")],
  copy: [["rect", { x: 5.5, y: 5.5, width: 8, height: 8, rx: 1.4 }], path("M10.5 3.5v-1h-8v8h1")],
  link: [
    path(
      "M6.6 9.4a2.6 2.6 0 0 0 3.7 0l2.6-2.6a2.6 2.6 0 0 0-3.7-3.7l-.9.9M9.4 6.6a2.6 2.6 0 0 0-3.7 0L3.1 9.2a2.6 2.6 0 0 0 3.7 3.7l.9-.9",
    ),
  ],
  back: [path("M10 3 5 8l5 5")],
  door: [path("M9.5 2.5h-6v11h6M6.5 8h7.5m-3-3 3 3-3 3")],
  down: [path("M8 2.5v10m-4-4 4 4 4-4")],
  star: [path("m8 2 1.8 3.9 4.2.5-3.1 2.9.8 4.2L8 11.4l-3.7 2.1.8-4.2L2 6.4l4.2-.5z")],
  columns: [["rect", { x: 2.5, y: 3, width: 11, height: 10, rx: 1.4 }], path("M6.2 3v10M9.8 3v10")],
  trash: [path("M3 4.5h10M6 4.5V3h4v1.5M4.2 4.5l.6 8.5h6.4l.6-8.5M6.8 7v3.6M9.2 7v3.6")],
  compare: [path("M6 2.5H2.5v11H6M10 2.5h3.5v11H10M8 1v14")],
  scale: [path("M8 2v12M4.5 14h7M2.5 5h11M4.2 5 2.4 9.4a2 2 0 0 0 3.6 0zM11.8 5 10 9.4a2 2 0 0 0 3.6 0z")],
  tag: [path("M2.5 2.5h5.2l5.8 5.8-5.2 5.2-5.8-5.8z"), circle(5.4, 5.4, 0.9)],
  tree: [
    ["rect", { x: 5.5, y: 1.8, width: 5, height: 4, rx: 1 }],
    ["rect", { x: 1.8, y: 10.2, width: 5, height: 4, rx: 1 }],
    ["rect", { x: 9.2, y: 10.2, width: 5, height: 4, rx: 1 }],
    path("M8 5.8v2.2M4.3 10.2V8h7.4v2.2"),
  ],
  curve: [path("M2.5 2.5v11h11M4.5 5.5c2.2 0 2.4 5 5 5s2.4-2.5 4-2.5")],
  half: [circle(8, 8, 6), path("M8 2a6 6 0 0 1 0 12z", { fill: "currentColor" })],
};

const KIND_ICON = { basic: "wrench", specialist: "target", generalist: "layers", domain: "cylinder", orch: "baton" };
const TOOL_ICON = [
  [/search|index|retriev/, "search"],
  [/web|browse/, "globe"],
  [/code|python|interpreter/, "code"],
];

/** The strokes of an icon, for a drawing of one's own. */
export const strokes = (name) => SHAPES[name].map(([tag, attributes]) => svg(tag, attributes));

/** An icon element; decoration only, a word always stands beside it. */
export function icon(name, small = false) {
  return svg("svg", { class: small ? "wb-i sm" : "wb-i", viewBox: "0 0 16 16", "aria-hidden": "true" }, strokes(name));
}

export const kindIcon = (kind) => KIND_ICON[kind] ?? "wrench";

/** A basic tool is known by what it does, every other tool by its kind. */
export function toolIcon(kind, name) {
  if (kind !== "basic") return kindIcon(kind);
  return (/web/.test(name) ? "globe" : TOOL_ICON.find(([words]) => words.test(name))?.[1]) ?? "wrench";
}
