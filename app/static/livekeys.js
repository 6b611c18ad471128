// The keys of Live: one list for the keyboard, the foot of the page and the dialog of all keys.

import { byId } from "./dom.js";
import { foldCard, moveCard, openObservation } from "./cards.js";

const onSlider = (event) => event.target.matches?.("input[type=range]");

export function liveKeys(live) {
  const card = (act) => (event) => !onSlider(event) && act();
  return {
    "Ctrl+Enter": {
      shown: "Ctrl+↵",
      brief: "run",
      words: "run the task, also while other runs go on",
      inFields: true,
      run: () => live.composer.run(),
    },
    Escape: {
      shown: "Esc",
      brief: "stop",
      words: "close what is open, else stop the run or take it out of the queue",
      inFields: true,
      run: () => {
        if (live.finder.close()) return true;
        if (byId("wishes").classList.contains("open")) return live.composer.sheet(false);
        live.stop();
      },
    },
    ArrowDown: { shown: "↓ j", brief: "turn", words: "next turn", run: card(() => moveCard(1)) },
    ArrowUp: { shown: "↑ k", words: "turn before", run: card(() => moveCard(-1)) },
    j: { run: () => moveCard(1) },
    k: { run: () => moveCard(-1) },
    ArrowRight: { shown: "→", words: "unfold the turn", run: card(() => foldCard(true)) },
    ArrowLeft: { shown: "←", words: "fold the turn", run: card(() => foldCard(false)) },
    f: {
      words: "fold all turns, or unfold them",
      run: () => {
        live.folded = !live.folded;
        live.timeline.foldAll(!live.folded);
      },
    },
    Enter: { brief: "observation", words: "open the observation of the turn", run: openObservation },
    "/": {
      brief: "search",
      words: "search in the run; without one, write a task",
      run: () => live.finder.open() || byId("task").focus(),
    },
    "[": { words: "the run in the tab before", run: () => live.rail.move(-1) },
    "]": { words: "the run in the next tab", run: () => live.rail.move(1) },
    x: { words: "close the tab of the run", run: () => live.rail.close(live.rail.shown) },
    n: { words: "new task", run: () => live.go(null) },
    e: { words: "write in the task", run: () => byId("task").focus() },
    u: { words: "copy the link to the run, or to the turn with the focus", run: () => live.share() },
    p: {
      brief: "preferences",
      words: "preferences",
      run: () => {
        live.composer.sheet(true);
        byId("goals").querySelector("input")?.focus();
      },
    },
  };
}
