// The rows that are selected: how many, and what can be done with them together.

import { ask } from "./ask.js";
import { askVerdict } from "./gradedialog.js";
import { byId, el, put } from "./dom.js";
import { icon } from "./icons.js";
import { count, plain, plural } from "./format.js";
import { Refused, deleteJson, postJson, runPath } from "./server.js";

const MOST_COMPARED = 8;
const MOST_SAID = 8; // refusals
const others = new BroadcastChannel("wb-runs");

/** Tell the other tabs of this browser that runs are gone or back. */
export const tellOthers = () => others.postMessage("changed");
export const hearOthers = (act) => others.addEventListener("message", act);

export class Picked {
  /**
   * `on`: changed() redraws the list's boxes, reload() reads the list anew, open() is the id that is open or null,
   * tagged() and graded(id, event) say what was done here to runs of which one may be open.
   */
  constructor(on) {
    this.on = on;
    this.runs = new Map();
  }

  has = (id) => this.runs.has(id);

  set(row, picked) {
    if (picked) this.runs.set(row.id, row.task);
    else this.runs.delete(row.id);
    this.draw();
  }

  clear() {
    this.runs.clear();
    this.on.changed();
    this.draw();
  }

  /** The runs that `c` compares: the selected ones, or the selected and the open one. Null when there are too few or many. */
  get compared() {
    const ids = [...this.runs.keys()];
    if (ids.length >= 2) return ids.length <= MOST_COMPARED ? ids : null;
    const open = this.on.open();
    if (ids.length === 1 && open && open !== ids[0]) return [open, ids[0]];
    return null;
  }

  compare() {
    const ids = this.compared;
    const open = this.on.open();
    if (ids) location.assign(comparePath(ids));
    else if (this.runs.size === 0 && open) location.assign(`/compare?a=${encodeURIComponent(open)}`);
    else return false;
    return true;
  }

  draw() {
    const n = this.runs.size;
    byId("picked").hidden = n === 0;
    if (n === 0) return put(byId("picked"));
    const button = (sign, text, act, more = {}) =>
      el("button", { class: "wb-btn sm", type: "button", on: { click: act }, ...more }, icon(sign, true), text);
    const few = this.compared !== null;
    return put(
      byId("picked"),
      el("b", { text: `${count(n)} selected` }),
      el("span", { class: "wb-sp" }),
      button("compare", ["Compare ", el("kbd", { text: "c" })], () => this.compare(), {
        disabled: !few,
        title: few ? null : `Compare takes 2 to ${MOST_COMPARED}: select so many, or one beside the open one`,
      }),
      button("scale", "Make a group…", () => this.group(), {
        disabled: n < 2,
        title: n < 2 ? "A group has two runs of one task or more" : null,
      }),
      button("check", "Grade…", () => this.grade()),
      button("tag", "Tag", () => this.tag()),
      button("trash", "Delete", () => this.remove([...this.runs.keys()])),
      el("button", { class: "wb-btn ghost sm", type: "button", text: "Clear", on: { click: () => this.clear() } }),
    );
  }

  /** Runs of one task under a name, whose rewards are reckoned against each other. */
  async group() {
    const name = await ask({
      title: `A group of ${plural(this.runs.size, "run")}`,
      words: "Runs of one task, whose rewards and costs are compared. A name that there is already takes them in.",
      field: "Name of the group",
      yes: "Make it",
    });
    if (!name) return;
    await said(async () => {
      const made = await postJson("/api/groups", { name, runs: [...this.runs.keys()] });
      const open = () => location.assign(`/reward?group=${encodeURIComponent(made.name)}`);
      notice(`The group ${plain(made.name)} has ${plural(made.runs.length, "run")}.`, ["Open its rewards", open]);
    });
    this.on.reload();
  }

  /** What a person says of all of them; one that still goes on is refused, and said. */
  async grade() {
    const ids = [...this.runs.keys()];
    const wish = await askVerdict(ids);
    if (!wish) return;
    const { done, refused } = await toEach(ids, async (id) =>
      this.on.graded(id, await postJson(runPath(id, "/grade"), wish)),
    );
    notice(`${plural(done.length, "run")} graded.`, null, this.named(refused));
    this.on.reload();
  }

  /** Refusals as they are read: the task and why. */
  named(refused) {
    return refused.map(({ id, why }) => [this.runs.get(id) ?? id, why]);
  }

  async tag() {
    const word = await ask({
      title: `Tag ${plural(this.runs.size, "run")}`,
      field: "Tag",
      yes: "Tag",
    });
    if (!word) return;
    await said(() => postJson("/api/trajectories/tags", { runs: [...this.runs.keys()], tag: word }));
    this.on.tagged();
    this.on.reload();
  }

  /** Ask, delete, and offer to undo it. */
  async remove(ids) {
    const sure = await ask({
      title: `Delete ${ids.length === 1 ? "this run" : plural(ids.length, "run")}?`,
      words: "Its record goes to the trash and is kept there for a day; Undo brings it back.",
      yes: "Delete",
      danger: true,
    });
    if (!sure) return;
    const { done: gone, refused } = await toEach(ids, (id) => deleteJson(runPath(id)));
    const undo = gone.length ? ["Undo", () => this.restore(gone)] : null;
    notice(`${plural(gone.length, "run")} deleted.`, undo, this.named(refused));
    for (const id of gone) this.runs.delete(id);
    this.draw();
    tellOthers();
    this.on.reload(gone);
  }

  async restore(ids) {
    const { done, refused } = await toEach(ids, (id) => postJson(runPath(id, "/restore"), {}));
    notice(`${plural(done.length, "run")} restored.`, null, this.named(refused));
    tellOthers();
    this.on.reload();
  }
}

/** The address that shows these runs beside each other. */
function comparePath(ids) {
  const names = ids.length === 2 ? ["a", "b"] : ids.map(() => "run");
  return `/compare?${new URLSearchParams(ids.map((id, n) => [names[n], id]))}`;
}

/** Do it to each: those it was done to, and those that were refused, with why. Where nobody answers the rest is left. */
async function toEach(ids, act) {
  const done = [];
  const refused = [];
  for (const id of ids) {
    try {
      await act(id);
      done.push(id);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      refused.push({ id, why: error.message });
      if (error.status === 0) break;
    }
  }
  return { done, refused };
}

/** Say something under the list, with one thing to do about it; `refused` are pairs of a task and why not. */
export function notice(words, action = null, refused = []) {
  const told = refused
    .slice(0, MOST_SAID)
    .map(([task, why]) => el("li", {}, el("b", { class: "lv-cut", text: plain(task) }), `: ${plain(why)}`));
  if (refused.length > MOST_SAID) told.push(el("li", { text: `and ${count(refused.length - MOST_SAID)} more` }));
  byId("notice").hidden = false;
  put(
    byId("notice"),
    el("span", { text: refused.length ? `${words} ${count(refused.length)} refused:` : words }),
    told.length ? el("ul", { class: "rc-refused" }, told) : null,
    el("span", { class: "wb-sp" }),
    action ? el("button", { class: "wb-btn sm", type: "button", text: action[0], on: { click: action[1] } }) : null,
    el("button", {
      class: "wb-btn ghost sm",
      type: "button",
      text: "Close",
      on: {
        click: () => {
          byId("notice").hidden = true;
        },
      },
    }),
  );
}

/** Do it, or say why it could not be done. */
export async function said(act) {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    notice(error.message);
  }
}
