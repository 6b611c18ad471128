// What a screen reader hears of a run: a sentence when a turn has finished, and one at the end.

import { plain } from "./format.js";

/** What came of a turn of `run`. */
export function turnSpoken(run, turn) {
  const states = [...turn.states].filter(([, n]) => n > 0);
  const one = turn.calls.length === 1 ? `${plain(run.tool(turn.calls[0].tool).title)} ${turn.calls[0].state}` : null;
  const words = one ?? states.map(([state, n]) => `${n} ${state}`).join(", ");
  return `Turn ${turn.index} finished${words ? `: ${words}` : ""}`;
}

/** How a run ended. */
export const endSpoken = (run) =>
  run.stop === "answered" ? `Answer: ${plain(run.answer).slice(0, 300)}` : `The run ended: ${run.stop}`;
