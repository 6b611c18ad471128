// The faders of the weights: upright ones over their columns, or lying ones where there is no room for columns.

import { el } from "./dom.js";
import { icon } from "./icons.js";
import { kindBox } from "./marks.js";
import { short, titleOf } from "./rewardwhy.js";

const GOAL_ICON = { outcome: "check", cost: "tag", latency: "half" };
const lowest = (name) => (name.startsWith("tool.") ? -1 : 0);

/** `on(name, weight, settled)` hears every move, and once more when it is over. */
export function faders(names, weights, data, on) {
  const made = new Map(names.map((name) => [name, fader(name, weights[name] ?? 0, data, on)]));
  return {
    head: (name) => made.get(name).node,
    all: () => names.map((name) => made.get(name).node),
    draw: (now) => {
      for (const [name, one] of made) one.draw(now[name] ?? 0);
    },
  };
}

function fader(name, weight, data, on) {
  const tool = data.tools.find((one) => `tool.${one.name}` === name);
  const title = titleOf(name, data);
  const id = `w-${name}`;
  const output = el("output", { for: id });
  const input = el("input", {
    id,
    type: "range",
    min: lowest(name),
    max: 1,
    step: 0.05,
    "aria-label": `Weight of ${title}`,
    "aria-orientation": "vertical",
  });
  let now = null;
  const draw = (next) => {
    if (next === now) return;
    now = next;
    if (Number(input.value) !== next) input.value = next;
    const place = (value) => ((value - lowest(name)) / (1 - lowest(name))) * 100;
    input.style.setProperty("--wb-a", `${Math.min(place(next), place(0))}%`);
    input.style.setProperty("--wb-b", `${Math.max(place(next), place(0))}%`);
    const track = next < 0 ? "var(--wb-neg)" : next > 0 ? "var(--wb-accent)" : "var(--wb-line-strong)";
    input.style.setProperty("--wb-f", track);
    input.setAttribute("aria-valuetext", `${short(next)}${next < 0 ? ", an extension: rewards using it less" : ""}`);
    output.textContent = short(next);
    output.className = next === 0 ? "z" : "";
  };
  const move = (settled) => on(name, Number(input.value), settled);
  input.addEventListener("input", () => move(false));
  input.addEventListener("change", () => move(true));
  const zero = () => {
    input.value = 0;
    move(true);
  };
  input.addEventListener("dblclick", zero);
  input.addEventListener("keydown", (event) => event.key === "0" && zero());
  draw(weight);
  const sign = tool
    ? kindBox(tool.kind, tool.name)
    : el("span", { class: "wb-kind k-orch", "aria-hidden": "true" }, icon(GOAL_ICON[name]));
  const word = el("span", { class: "rw-name", title, text: title });
  return { draw, node: el("div", { class: "rw-fad" }, output, input, sign, word) };
}
