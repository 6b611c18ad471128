// What a page without a run shows: tasks to try, and demonstrations that set the sliders and run.

import { el } from "./dom.js";
import { icon } from "./icons.js";

const TASKS = [
  "What is 48213 × 977?",
  "What is ToolOrchestra?",
  "Which has more people, Kenya or Poland, and by how many percent?",
  "Write a function that reverses the words of a sentence",
];
const CODING = "Write a Python function that checks whether a word is a palindrome";
const LOOKUP = "Which has more people, Kenya or Poland?";

const USUAL = { outcome: 0.8, cost: 0.3, latency: 0.2 };

/** Each names its runs: what the sliders are set to, given the tools that can be called now and the price table. */
const SHOWS = [
  {
    title: "Cheap against best",
    words: "One task twice, under two preferences, side by side in the tabs.",
    runs: () => [
      { task: CODING, goals: { outcome: 0.2, cost: 1, latency: 0.2 } },
      { task: CODING, goals: { outcome: 1, cost: 0, latency: 0 } },
    ],
  },
  {
    title: "Avoid the big model",
    words: "The dearest model is set to avoid; the orchestrator must do without it.",
    needs: (tools, table) => dearest(tools, table) !== null,
    runs: (tools, table) => [{ task: CODING, goals: USUAL, tools: { [dearest(tools, table)]: -1 } }],
  },
  {
    title: "Local only",
    words: "Tools that reach outside are set to avoid, the small ones of this machine to prefer.",
    runs: (tools) => [{ task: LOOKUP, goals: { ...USUAL, cost: 0.6 }, tools: localWishes(tools) }],
  },
];

/** The model whose call can cost most, by its name; null without a priced model. */
function dearest(tools, table) {
  const most = (tool) => tool.most_usd[table] ?? 0;
  return tools.filter((tool) => tool.model && most(tool) > 0).sort((a, b) => most(b) - most(a))[0]?.name ?? null;
}

function localWishes(tools) {
  const wish = (tool) => (tool.remote ? -1 : tool.kind === "basic" ? 1 : 0);
  return Object.fromEntries(tools.map((tool) => [tool.name, wish(tool)]).filter(([, value]) => value !== 0));
}

/** The empty page for what can be called now; `onTask(text)` writes a task, `onShow(runs)` plays a demonstration. */
export function examples({ tools, table, onTask, onShow }) {
  const shows = SHOWS.filter((show) => show.needs?.(tools, table) ?? true);
  return el(
    "div",
    { class: "wb-state lv-empty" },
    el("h2", { text: "Give the orchestrator a task" }),
    el("p", { text: "Each turn appears here as it happens: why, which tool, what came back, and what it cost." }),
    el(
      "div",
      { class: "lv-ex" },
      TASKS.map((text) => el("button", { class: "wb-btn", type: "button", text, on: { click: () => onTask(text) } })),
    ),
    el("h3", { class: "wb-cap lv-shows-cap", text: "See the method, in one click" }),
    el(
      "div",
      { class: "lv-shows" },
      shows.map((show) =>
        el(
          "button",
          { class: "lv-show", type: "button", on: { click: () => onShow(show.runs(tools, table)) } },
          el("b", {}, icon("play", true), show.title),
          el("span", { text: show.words }),
        ),
      ),
    ),
  );
}
