// Several rollouts of one order as a group: started one after another, then compared on the Reward page.

import { byId, el, put } from "./dom.js";
import { plural } from "./format.js";

/** How many rollouts the composer asks for, from 1 to 16. */
export function rollouts() {
  const wanted = Math.round(Number(byId("rollouts").value)) || 1;
  return Math.min(Math.max(wanted, 1), 16);
}

/** Start an order so often, under one group where that is more than once; `start(order)` gives null when refused. */
export async function startRollouts(order, start) {
  const count = rollouts();
  tell(null);
  if (count === 1) return start(order);
  const group = `group-${Date.now().toString(36)}`;
  for (let n = 0; n < count; n += 1) {
    const id = await start({ ...order, group, seed: (order.seed ?? 0) + n });
    if (id === null) return null;
    tell(group, n + 1);
  }
  return group;
}

function tell(group, count = 0) {
  const note = byId("grouped");
  note.hidden = group === null;
  if (group === null) return;
  const link = el("a", { href: `/reward?group=${encodeURIComponent(group)}`, text: "Compare their rewards" });
  put(note, `${plural(count, "rollout")} in one group; models that do not sample give equal ones. `, link);
}
