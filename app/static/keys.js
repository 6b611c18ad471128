// The keyboard: single letters outside text fields, `g` then a letter for pages, `?` for all of them.

import { byId, el, put } from "./dom.js";
import { flip } from "./theme.js";

const PAGES = {
  l: ["/", "Live"],
  t: ["/trajectories", "Trajectories"],
  c: ["/compare", "Compare"],
  r: ["/reward", "Reward"],
  b: ["/bias", "Bias"],
  e: ["/evaluation", "Evaluation"],
  s: ["/toolscale", "ToolScale"],
  n: ["/training", "Training"],
  p: ["/tools", "Tools & prices"],
  q: ["/sql", "SQL"],
  d: ["/documents", "Documents"],
};
const TEXT_FIELD = "textarea, select, [contenteditable], input:not([type=range]):not([type=checkbox])";

let waitingForPage = 0;

/** `own` maps a key to `{ words, run, inFields }`; `run` returns false when it had nothing to do. */
export function start(own) {
  drawFoot(own);
  byId("theme").addEventListener("click", flip);
  byId("help").addEventListener("click", () => showAll(own));
  document.addEventListener("keydown", (event) => press(event, own));
}

/** The keys of this page in its foot: those of the same list that have a `brief` word for it. */
function drawFoot(own) {
  const brief = Object.entries(own).filter(([, entry]) => entry.brief);
  const shown = brief.map(([name, entry]) => el("span", {}, keyCaps(entry.shown ?? name), ` ${entry.brief}`));
  document.querySelector(".wb-foot")?.prepend(...shown);
}

const keyCaps = (keys) =>
  keys
    .split(" ")
    .map((key) => [el("kbd", { text: key }), " "])
    .flat()
    .slice(0, -1);

function press(event, own) {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const inField = event.target.matches?.(TEXT_FIELD);
  const name = `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.key}`;
  if (document.querySelector("dialog[open]")) return; // its keys are the browser's: Escape closes it
  // After `g` a letter means a page, whatever it means on this one.
  if (!inField && Date.now() - waitingForPage < 1200 && PAGES[event.key]) {
    location.assign(PAGES[event.key][0]);
    return;
  }
  const entry = own[name];
  if (entry && (!inField || entry.inFields)) {
    if (entry.run(event) !== false) event.preventDefault();
    return;
  }
  if (inField || event.ctrlKey || event.metaKey) return;
  waitingForPage = event.key === "g" ? Date.now() : 0;
  if (event.key === "t") flip();
  if (event.key === "?") showAll(own);
}

function showAll(own) {
  const everywhere = [
    ...Object.entries(PAGES).map(([letter, [, title]]) => [`g ${letter}`, title]),
    ["t", "switch theme"],
    ["?", "all keys"],
    ["Esc", "close"],
  ];
  const here = Object.entries(own)
    .filter(([, entry]) => entry.words)
    .map(([name, entry]) => [entry.shown ?? name, entry.words]);
  const dialog = byId("keys");
  put(
    dialog,
    el(
      "header",
      {},
      el("h2", { id: "keys-title", text: "Keys" }),
      el("span", { class: "wb-sp" }),
      el("a", { class: "wb-btn ghost sm", href: "/documents", text: "Documents" }),
      el("button", { class: "wb-btn sm", autofocus: true, text: "Close", on: { click: () => dialog.close() } }),
    ),
    table("On this page", here),
    table("Everywhere", everywhere),
  );
  dialog.showModal();
}

function table(title, rows) {
  const lines = rows.map(([keys, words]) =>
    el(
      "div",
      { class: "wb-keyrow" },
      el(
        "dt",
        {},
        keys.split(" ").map((key) => el("kbd", { text: key })),
      ),
      el("dd", { text: words }),
    ),
  );
  return el("section", {}, el("h3", { class: "wb-cap", text: title }), el("dl", {}, lines));
}
