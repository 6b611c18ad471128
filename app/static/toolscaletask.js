// One task: what the user wants and knows, its golden calls step by step, the state after each, and a live try.

import { byId, el, put } from "./dom.js";
import { count, plain, plural } from "./format.js";
import { icon } from "./icons.js";
import { kindBox } from "./marks.js";
import { domainPath } from "./server.js";
import { readWrite } from "./toolscaledomain.js";
import { diff, informationWords } from "./toolscalejudged.js";
import { LiveTry } from "./toolscalelive.js";
import { beside } from "./toolscalelist.js";
import { difficultyPanel } from "./toolscaleplots.js";
import { valueWords } from "./toolscalerecords.js";

const SOURCES = {
  user: "The user says it",
  policy: "It stands in the policy",
  choice: "One of a few values; the user's words say which",
};

export class TaskPage {
  constructor(page) {
    this.page = page;
    this.live = new LiveTry(page);
  }

  async content(domain, id, found) {
    const { list } = this.page;
    Object.assign(list, { domain, found });
    this.task = await this.page.get(domainPath(domain, `/tasks/${encodeURIComponent(id)}`));
    this.domain = domain;
    const last = this.task.steps.length;
    const wanted = Number.parseInt(this.page.query.get("call") ?? "", 10);
    this.at = wanted >= 1 && wanted <= last ? wanted : last ? 1 : 0;
    this.calls = el("ol", { class: "ts-calls", "aria-label": "Golden calls" });
    this.where = el("b", { role: "status" });
    this.result = el("div", {});
    this.diff = el("section", { class: "wb-panel", id: "ts-diff", tabindex: "-1", "aria-label": "State" });
    this.drawStep();
    return [
      el(
        "div",
        { class: "ts-grid" },
        el("section", { class: "wb-panel", "aria-label": `Task ${plain(this.task.id)}` }, this.head(list), this.user(), this.stepper(), this.calls, this.checks()),
        el("div", { class: "ts-side" }, this.diff, this.live.content(domain, this.task), difficultyPanel(list.fitting, found, this.task)),
      ),
    ];
  }

  head(list) {
    const { id, kind, split, difficulty } = this.task;
    const parts = Object.entries(difficulty).map(([name, n]) => `${name.replaceAll("_", " ")} ${n}`);
    const turn = (by, sign, words) => {
      const to = beside(list, id, by);
      return el("button", { class: "wb-btn ghost sm icon", type: "button", "aria-label": words, title: words, disabled: to === null, text: sign, on: { click: () => this.other(by) } });
    };
    return el(
      "header",
      { class: "ts-head" },
      this.page.link({ task: null, call: null, run: null }, { class: "wb-btn ghost sm" }, icon("back", true), "Tasks"),
      el("h2", {}, `Task ${plain(id)}`),
      el("span", { class: "wb-tag", text: plain(kind) }),
      el("span", { class: "wb-tag", text: plain(split) }),
      el("span", { class: "wb-sp" }),
      el("span", { class: "ts-turn" }, turn(-1, "‹", "Task before (k)"), turn(1, "›", "Next task (j)")),
      parts.length ? el("span", { class: "wb-note ts-hard", title: "Difficulty, part by part", text: plain(parts.join(" · ")) }) : null,
    );
  }

  user() {
    const { instruction, followups, facts, insists, required, persona, parameters } = this.task;
    const part = (title, content) => (content ? el("div", {}, el("h3", { class: "wb-cap", text: title }), content) : null);
    const list = (items) => (items.length ? el("ul", { class: "ts-lines" }, items.map((text) => el("li", { text }))) : null);
    const changed = Object.entries(parameters).map(([name, value]) => plain(`${name} = ${value}`));
    return el(
      "div",
      { class: "ts-user" },
      part("The user says", [el("p", { text: plain(instruction) }), list(followups.map(plain)), persona ? el("p", { class: "wb-note", text: plain(persona) }) : null]),
      part("Tells when asked", facts.length ? list(facts.map((fact) => plain(fact.says))) : el("p", { class: "wb-note", text: "nothing further" })),
      part("Must be told", required.length ? list(required.map(informationWords)) : el("p", { class: "wb-note", text: "nothing in particular" })),
      part("Insists once", insists ? el("p", { text: plain(insists) }) : null),
      part("Policy differs here", list(changed)),
    );
  }

  stepper() {
    const last = this.task.steps.length;
    const button = (by, sign, words) => el("button", { class: "wb-btn sm icon", type: "button", "aria-label": words, title: words, text: sign, on: { click: () => this.step(by) } });
    return el(
      "div",
      { class: "ts-stepper" },
      el("h3", { class: "wb-cap", text: "Golden calls" }),
      el("span", { class: "wb-note ts-print", text: "small print: where each argument comes from" }),
      el("span", { class: "wb-sp" }),
      last ? el("span", { class: "ts-turn" }, button(-1, "‹", "Call before (←)"), this.where, button(1, "›", "Next call (→)")) : null,
    );
  }

  drawStep() {
    const { steps } = this.task;
    this.where.textContent = `${this.at} of ${steps.length}`;
    put(this.calls, steps.map((step, place) => this.call(step, place + 1)));
    if (!steps.length) put(this.calls, el("li", { class: "wb-note", text: "No call is to be made: the right answer is in words alone." }));
    const now = steps[this.at - 1];
    const last = steps.at(-1)?.state ?? [];
    put(
      this.diff,
      el(
        "header",
        {},
        el("h2", { text: now ? `State after call ${this.at}` : "State" }),
        el("p", { text: now ? `${touched(now.state)} of ${plural(this.task.records, "record")} changed` : "" }),
      ),
      now && now.kind === "write" && !now.changes.length ? el("p", { class: "wb-note", text: "This call changes nothing." }) : null,
      el("div", { class: "ts-diff" }, diff(now?.state ?? [], last)),
      now?.touched.length ? el("p", { class: "wb-note", text: `This call looks at ${now.touched.map(plain).join(", ")}.` }) : null,
    );
  }

  call(step, place) {
    const now = place === this.at;
    const argument = ({ name, value, from }) =>
      el(
        "span",
        { class: "ts-a" },
        el("i", { text: plain(name) }),
        ` ${valueWords(value)}`,
        from ? el("sup", { title: SOURCES[from] ?? `Shown by ${plain(from)}`, text: plain(from) }) : null,
      );
    const go = el(
      "button",
      { class: "ts-go", type: "button", "aria-pressed": String(now), on: { click: () => this.turnTo(place) } },
      el("span", { class: "no", text: String(place) }),
      kindBox("domain"),
      el("span", { class: "ts-what" }, el("b", { class: "wb-mono", text: plain(step.operation) }), " ", readWrite(step.kind), el("span", { class: "ts-args" }, step.arguments.map(argument))),
      el("span", { class: "wb-note", text: place > this.at ? (place === this.at + 1 ? "next" : "") : step.changes.length ? plural(touched(step.changes), "record") + " changed" : plain(step.short) }),
    );
    return el(
      "li",
      { class: now ? "cur" : place === this.at + 1 ? "nxt" : place > this.at ? "later" : null },
      go,
      now ? el("details", { class: "ts-result" }, el("summary", { text: "Result as the orchestrator reads it" }), el("pre", { class: "wb-args", tabindex: "0", text: plain(step.result) })) : null,
    );
  }

  checks() {
    const { checks } = this.task;
    if (!checks.length) return null;
    const wrong = checks.filter((one) => one.passes);
    const words = (one) => (one.call === null ? one.what : `drop call ${one.call + 1}`);
    return el(
      "div",
      { class: "ts-pert" },
      el("h3", { class: "wb-cap", text: "Played wrongly" }),
      checks.map((one) => el("span", { class: `wb-chip ${one.passes ? "bad" : "ok"}` }, icon(one.passes ? "cross" : "check", true), `${words(one)}: ${one.passes ? "passes" : "fails"}`)),
      el("span", { class: "wb-note", text: `each must fail: ${count(checks.length - wrong.length)} of ${count(checks.length)} ${checks.length === 1 ? "does" : "do"}` }),
    );
  }

  turnTo(place) {
    if (place < 1 || place > this.task.steps.length) return false;
    const focused = this.calls.contains(document.activeElement);
    this.at = place;
    this.page.go({ call: place === 1 ? null : place }, true);
    this.drawStep();
    const row = this.calls.querySelector(".cur .ts-go");
    if (focused) row?.focus();
    row?.scrollIntoView({ block: "nearest" });
    return true;
  }

  step(by) {
    this.turnTo(Math.min(this.task.steps.length, Math.max(1, this.at + by)));
    return true;
  }

  other(by) {
    const to = beside(this.page.list, this.task.id, by);
    if (to === null) return false;
    this.page.go({ task: to, call: null, run: null });
    return true;
  }

  focusDiff() {
    byId("ts-diff").focus();
    byId("ts-diff").scrollIntoView({ block: "nearest" });
  }

  focusLive() {
    this.live.focus();
  }
}

const touched = (changes) => new Set(changes.map((one) => `${one.table} ${one.key}`)).size;
