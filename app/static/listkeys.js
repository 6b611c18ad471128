// The keys of Trajectories, and how they walk through the rows.

import { moveCard, openObservation } from "./cards.js";
import { byId } from "./dom.js";
import { closeMenus } from "./menus.js";

export const listKeys = (list) => ({
  j: { shown: "j k", words: "next trajectory", brief: "next, previous", run: () => step(list, 1) },
  k: { words: "trajectory before", run: () => step(list, -1) },
  n: { shown: "n p", words: "next turn", brief: "turn", run: () => moveCard(1) },
  p: { words: "turn before", run: () => moveCard(-1) },
  Enter: { words: "open the row, or the observation of the turn", brief: "open", run: openObservation },
  "/": { words: "search", brief: "search", run: () => byId("q").focus() },
  s: { words: "select the row", brief: "select", run: () => select() },
  c: { words: "compare the two that are selected", brief: "compare", run: () => list.picked.compare() },
  1: { shown: "1 2 3", words: "grade: solved, not solved, cannot say", brief: "grade", run: () => list.detail.grade(0) },
  2: { words: "grade: not solved", run: () => list.detail.grade(1) },
  3: { words: "grade: cannot say", run: () => list.detail.grade(2) },
  a: { words: "add a tag", brief: "tag", run: () => list.detail.focusTag() },
  "[": { shown: "[ ]", words: "newer", brief: "newer, older", run: () => byId("newer").click() },
  "]": { words: "older", run: () => byId("older").click() },
  Escape: {
    shown: "Esc",
    words: "close a menu, leave the search field",
    inFields: true,
    run: () => {
      closeMenus();
      document.activeElement?.blur();
    },
  },
});

/** j and k: the row after or before the focused or opened one. */
function step(list, by) {
  const rows = [...document.querySelectorAll(".tr-row")];
  if (rows.length === 0) return false;
  const focused = rows.indexOf(document.activeElement);
  const at = focused >= 0 ? focused : rows.findIndex((row) => row.dataset.id === list.detail.id);
  const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

/** s: select the focused row, or the open one. */
function select() {
  const row = document.activeElement?.classList.contains("tr-row")
    ? document.activeElement
    : document.querySelector(".tr-row[aria-current]");
  const box = row?.parentElement.querySelector("input");
  box?.click();
  return Boolean(box);
}
