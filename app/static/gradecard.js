// Whether a run solved its task: who said what and when, a person's own verdict, and a note about the run.

import { el, put } from "./dom.js";
import { cost, plain, seconds, when } from "./format.js";
import { Judging } from "./judging.js";
import { keep, kept } from "./keeping.js";
import { outcomeChip } from "./marks.js";
import { Refused, getJson, postJson, putJson, runPath } from "./server.js";

/** Under which the name of who grades is kept in this browser. */
export const NAME = "wb-grader";
export const VERDICTS = [
  ["solved", "Solved"],
  ["not_solved", "Not solved"],
  ["unknown", "Cannot say"],
];
const NO_CHECK = new Set(["fault", "cancelled"]);

const unsaid = () => el("span", { class: "wb-chip", text: "cannot say" });

/** The chip of an outcome; one that nobody could tell says so. */
const chip = (outcome) => (outcome === null ? unsaid() : outcomeChip(outcome));

export class GradeCard {
  /** `graded(event)` hears of a grade that was given here, as it would come over the stream. */
  constructor(run, graded) {
    this.run = run;
    this.graded = graded;
    this.drawn = "";
    this.head = el("header", {});
    this.history = el("ol", { class: "gr-list", "aria-label": "Grades, the last one counts" });
    this.said = el("p", { class: "wb-note", role: "status" });
    this.form = this.buildForm();
    this.node = el(
      "section",
      { class: "wb-panel gr", "aria-label": "Grade" },
      this.head,
      this.reference(),
      this.form,
      this.said,
      this.history,
      this.noteForm(),
    );
    this.update();
    this.loadNote();
  }

  /** Draw anew what has changed; what somebody is typing stays. */
  update() {
    const { run } = this;
    const state = [run.grades.length, run.judgeFaults.length, run.finished, run.stop].join();
    if (state === this.drawn) return;
    this.drawn = state;
    const last = run.grades.at(-1);
    put(
      this.head,
      el("h2", { text: "Grade" }),
      last ? chip(last.outcome) : el("span", { class: "wb-chip", text: "ungraded" }),
    );
    this.form.hidden = !run.finished;
    this.judging.node.hidden = NO_CHECK.has(run.stop);
    this.check.hidden = NO_CHECK.has(run.stop) || run.setting.task.reference === null;
    put(
      this.history,
      run.grades.toReversed().map((grade) => this.line(grade)),
      run.judgeFaults.map((fault) =>
        el("li", { class: "wb-note" }, el("b", { text: plain(fault.where) }), ` gave no grade: ${plain(fault.message)}`),
      ),
      run.judge
        ? el("li", { class: "wb-note" }, "Judge, kept apart: ", cost(run.judge.cost), `, ${seconds(run.judge.wall_s)}`)
        : null,
    );
  }

  line(grade) {
    const parts = Object.entries(grade.conditions).map(([name, holds]) =>
      el("span", { class: "wb-tag", text: `${plain(name)}: ${holds === null ? "—" : holds ? "yes" : "no"}` }),
    );
    return el(
      "li",
      {},
      el("span", { class: "gr-who" }, chip(grade.outcome), el("b", { text: plain(grade.by) })),
      el("time", { class: "wb-note", datetime: grade.at, text: when(grade.at) }),
      grade.reason ? el("p", { text: plain(grade.reason) }) : null,
      parts.length ? el("p", {}, parts) : null,
    );
  }

  reference() {
    const { task } = this.run.setting;
    if (task.reference === null) return null;
    const how = task.check ? ` (${task.check.kind})` : "";
    const title = el("span", { class: "wb-note", text: `Reference${how}: ` });
    return el("p", { class: "gr-ref" }, title, plain(task.reference));
  }

  buildForm() {
    this.name = el("input", {
      type: "text",
      maxlength: 80,
      value: kept(NAME, ""),
      placeholder: "Your name",
      "aria-label": "Your name",
      autocomplete: "name",
    });
    this.reason = el("input", {
      type: "text",
      maxlength: 2000,
      placeholder: "Why (optional)",
      "aria-label": "Why",
      autocomplete: "off",
    });
    this.check = el("button", {
      class: "wb-btn sm",
      type: "button",
      text: "Check against the reference",
      on: { click: () => this.send({ by: "auto" }) },
    });
    const verdict = ([outcome, text], n) =>
      el(
        "button",
        { class: "wb-btn sm", type: "button", on: { click: () => this.byPerson(outcome) } },
        text,
        el("kbd", { text: String(n + 1) }),
      );
    this.judging = new Judging((by) => this.send({ by }));
    return el(
      "div",
      { class: "gr-form" },
      el("label", { class: "wb-in sm" }, this.name),
      el("label", { class: "wb-in sm" }, this.reason),
      el("div", { class: "gr-btns", role: "group", "aria-label": "Your verdict" }, VERDICTS.map(verdict)),
      this.check,
      this.judging.node,
    );
  }

  /** A key: the person's verdict by its place among the buttons. */
  press(n) {
    if (this.form.hidden) return false;
    this.byPerson(VERDICTS[n][0]);
    return true;
  }

  byPerson(outcome) {
    const name = this.name.value.trim();
    if (!name) {
      this.said.textContent = "Write your name first: a grade says who gave it.";
      this.name.focus();
      return;
    }
    keep(NAME, name);
    this.send({ by: `person:${name}`, outcome, reason: this.reason.value.trim() || null });
  }

  async send(wish) {
    this.said.textContent = "";
    try {
      const event = await postJson(runPath(this.run.id, "/grade"), wish);
      this.reason.value = "";
      this.heard(event);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.said.textContent = error.message;
    }
  }

  /** A grade as the server answers who gave it. */
  heard(event) {
    this.graded({ kind: "graded", t_s: 0, derived: {}, ...event });
  }

  // ---- note
  noteForm() {
    this.note = el("textarea", {
      rows: 3,
      maxlength: 20000,
      placeholder: "What is worth remembering of this run",
      "aria-label": "Note",
    });
    this.noteSaid = el("span", { class: "wb-note", role: "status" });
    const save = el("button", {
      class: "wb-btn sm",
      type: "button",
      text: "Save note",
      on: { click: () => this.saveNote() },
    });
    return el(
      "div",
      { class: "gr-note" },
      el("h3", { class: "wb-cap", text: "Note" }),
      this.note,
      el("div", { class: "gr-btns" }, save, this.noteSaid),
    );
  }

  showNote({ text, at }) {
    this.note.value = text ?? "";
    this.noteSaid.textContent = at ? `saved ${when(at)}` : "";
  }

  async loadNote() {
    const found = await getJson(runPath(this.run.id, "/note")).catch(() => null);
    if (found && !this.note.value) this.showNote(found);
  }

  async saveNote() {
    try {
      const saved = await putJson(runPath(this.run.id, "/note"), { text: this.note.value });
      this.showNote(saved);
      if (!saved.text) this.noteSaid.textContent = "there is no note now";
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.noteSaid.textContent = error.message;
    }
  }
}
