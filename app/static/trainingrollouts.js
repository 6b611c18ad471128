// The rollouts of a step in their groups: what each called, what it was worth and why it was kept or not.

import { el, put } from "./dom.js";
import { plain, plural, seconds, unknown, usd } from "./format.js";
import { icon } from "./icons.js";
import { kindBox, simulatedBadge } from "./marks.js";
import { Refused, getJson, postJson } from "./server.js";
import { reasonWords } from "./trainingwords.js";
import { skeleton } from "./placards.js";

const MOST_GROUPS = 24;

export class Rollouts {
  constructor(run) {
    this.run = run;
    this.asked = null;
  }

  /** The kept step nearest to the one that the address names; without one the last. */
  get shown() {
    const steps = this.run.head.rollout_steps;
    if (!steps.length) return null;
    const { at } = this.run;
    return at === null ? steps.at(-1) : steps.reduce((best, step) => (Math.abs(step - at) < Math.abs(best - at) ? step : best));
  }

  async show(host, changed) {
    const { run } = this;
    const step = this.shown;
    if (changed) this.asked = null;
    if (step === null) {
      put(host, el("section", { class: "wb-panel wb-state", "aria-label": "No rollouts" }, el("h2", { text: "No rollouts were kept" }), el("p", { text: "Those of a run in the home folder are kept in its store unless rollouts.store is off; of other folders keep_groups says of how many groups a step they stay." })));
      return;
    }
    const key = `${run.id} ${step}`;
    if (this.asked === key) return this.drawBar();
    this.asked = key;
    if (changed) put(host, skeleton());
    const found = await run.page.trying("The rollouts could not be read.", () => getJson(`/api/training/rollouts?${new URLSearchParams({ run: run.id, step })}`), { retry: () => this.show(host, true) });
    if (!found && this.asked === key) {
      this.asked = null;
      put(host);
    }
    if (!found || this.asked !== key || run.drawn !== "rollouts") return;
    this.bar = el("div", { class: "tn-rollbar" });
    this.drawBar();
    put(host, this.bar, this.groups(found, step));
  }

  drawBar() {
    const steps = this.run.head.rollout_steps;
    const here = steps.indexOf(this.shown);
    const button = (by, sign, words) =>
      el("button", { class: "wb-btn ghost sm icon", type: "button", "aria-label": words, title: words, disabled: !steps[here + by], text: sign, on: { click: () => this.turn(by) } });
    const picker = el("select", { "aria-label": "Step", on: { change: () => this.run.page.go({ step: picker.value }) } });
    put(picker, steps.map((step) => el("option", { value: String(step), text: `step ${step}` })));
    picker.value = String(this.shown);
    put(
      this.bar,
      el("h2", { text: "Rollouts" }),
      button(-1, "‹", "Kept step before (←)"),
      el("label", { class: "wb-sel sm" }, picker),
      button(1, "›", "Next kept step (→)"),
      el("p", { class: "wb-note", text: `${plural(steps.length, "step")} with kept rollouts` }),
      this.run.head.stored_as ? el("a", { class: "wb-link", href: this.stored, text: "All of this step among the trajectories" }) : null,
    );
  }

  /** Where the page of trajectories shows the rollouts of the step. */
  get stored() {
    return `/trajectories?${new URLSearchParams({ training_run: this.run.head.stored_as, training_step: this.shown })}`;
  }

  turn(by) {
    const steps = this.run.head.rollout_steps;
    const next = steps[steps.indexOf(this.shown) + by];
    if (next === undefined) return false;
    return this.run.page.go({ step: next });
  }

  groups({ rollouts }, step) {
    const groups = new Map();
    for (const one of rollouts) {
      const name = one.group ?? "";
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(one);
    }
    if (!groups.size) return el("p", { class: "wb-note", text: "The file of this step holds no rollout." });
    return [...groups].slice(0, MOST_GROUPS).map(([name, members], at) => this.group(name, members, at, step));
  }

  group(name, members, at, step) {
    const { task, sentence, kind } = members.find((one) => one.task) ?? members[0];
    const kept = members.filter((one) => one.kept).length;
    const most = Math.max(1e-9, ...members.map((one) => Math.abs(one.advantage ?? 0)));
    const heads = [["Sample", ""], ["Calls", ""], ["Solved", ""], ["Cost", "n"], ["Time", "n"], ["Reward", "n"], ["Advantage", "n"], ["In the loss", ""], ["", ""]];
    return el(
      "section",
      { class: "wb-panel", "aria-label": `Group ${at + 1}` },
      el(
        "header",
        { class: "tn-grouphead" },
        el("h3", { text: `Group ${at + 1}` }),
        kind ? el("span", { class: "wb-tag", text: plain(kind) }) : null,
        members.some((one) => one.simulated) ? simulatedBadge(true) : null,
        el("p", { text: `${kept} of ${members.length} kept` }),
      ),
      el("p", { class: "tn-task", text: plain(task ?? "") }),
      sentence ? el("p", { class: "wb-note", text: `“${plain(sentence)}”` }) : null,
      el(
        "div",
        { class: "tn-wide", tabindex: "0", role: "region", "aria-label": `Rollouts of group ${at + 1}` },
        el(
          "table",
          { class: "wb-tbl tn-rolls" },
          el("caption", { class: "wb-sr", text: `Rollouts of group ${plain(name)}` }),
          el("thead", {}, el("tr", {}, heads.map(([text, look]) => (text ? el("th", { scope: "col", class: look || null, text }) : el("td", {}))))),
          el("tbody", {}, members.map((one, n) => this.row(one, n, most, step))),
        ),
      ),
    );
  }

  row(one, n, most, step) {
    if (one.problem)
      return el("tr", {}, el("th", { scope: "row", text: String(n + 1) }), el("td", { colspan: 8, class: "tn-problem", text: `cannot be read: ${plain(one.problem)}` }));
    const number = (value, words) => el("td", { class: "n" }, value === null ? unknown("the trainer did not say") : words(value));
    const said = el("span", { class: "wb-note", role: "status" });
    const open = el("button", { class: "wb-btn ghost sm", type: "button", "aria-label": `Open sample ${n + 1} as a trajectory`, on: { click: () => this.open(one, step, said) } }, "Open", icon("list", true));
    const solved = one.outcome === null ? unknown("nobody graded it") : el("span", { class: `lv-statusmark ${one.outcome ? "ok" : "bad"}` }, icon(one.outcome ? "check" : "cross", true), one.outcome ? "solved" : "not solved");
    return el(
      "tr",
      {},
      el("th", { scope: "row", title: plain(one.reasoning.join("\n")), text: String(n + 1) }),
      el("td", { class: "tn-calls" }, one.calls.length ? one.calls.map((call) => el("span", { class: "tn-call", title: plain(`${call.title}: ${call.status ?? "not run"}`) }, kindBox(call.kind, call.tool), el("span", { text: plain(call.tool) }))) : el("span", { class: "wb-mut", text: "none" })),
      el("td", {}, solved),
      el("td", { class: "n" }, one.cost_usd === null ? unknown("a price or a usage is unknown") : usd(one.cost_usd)),
      el("td", { class: "n" }, one.latency_s === null ? unknown("it did not end") : seconds(one.latency_s)),
      number(one.reward, (value) => value.toFixed(2)),
      el("td", { class: "n" }, one.advantage === null ? unknown("the trainer did not say") : advantage(one.advantage, most)),
      el("td", {}, one.kept ? el("span", { class: "lv-statusmark ok" }, icon("check", true), "kept") : el("span", { class: "lv-statusmark" }, icon("minus", true), `left out: ${one.why ? reasonWords(one.why) : "no reason given"}`)),
      el("td", { class: "n" }, open, said),
    );
  }

  /** Keep the rollout in the store, and go to it on the page of trajectories. */
  async open({ number }, step, said) {
    try {
      const { id } = await postJson("/api/training/rollouts/open", { run: this.run.id, step, number });
      location.assign(`/trajectories?run=${encodeURIComponent(id)}`);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      said.textContent = error.message;
    }
  }
}

function advantage(value, most) {
  const share = Math.min(1, Math.abs(value) / most);
  return el(
    "span",
    { class: "tn-adv" },
    el("i", { class: value < 0 ? "neg" : "pos", style: { "--tn-share": share.toFixed(3) } }),
    el("b", { text: `${value > 0 ? "+" : ""}${value.toFixed(2)}`.replace("-", "\u2212") }),
  );
}

