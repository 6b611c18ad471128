// The Reward page: a group of rollouts, every weight to move, both arithmetics beside each other. Nothing is asked of
// the server while a fader moves: rewardmath.js does what the library does.

import { command } from "./command.js";
import { byId, el, put, svg } from "./dom.js";
import { fullSentence, plain, plural } from "./format.js";
import { simulatedBadge } from "./marks.js";
import { startMenus } from "./menus.js";
import { placard, skeleton } from "./placards.js";
import { Charts } from "./rewardcharts.js";
import { EXAMPLE } from "./rewardexample.js";
import { Lab } from "./rewardlab.js";
import { drawByHand, drawGroups, drawPrices, drawSubset } from "./rewardmenus.js";
import { actions, foot, notices, sentence } from "./rewardwords.js";
import { GOALS } from "./rewardmath.js";
import { RewardTable } from "./rewardtable.js";
import { explain } from "./rewardwhy.js";
import { Refused, getJson } from "./server.js";
import * as keys from "./keys.js";

const narrow = matchMedia("(max-width: 760px)");
const WRITE_MS = 250;
const ROOM = 5; // tool columns

class Reward {
  constructor() {
    this.lab = null;
    this.asked = null;
    this.timer = 0;
    for (const button of byId("modes").children) button.addEventListener("click", () => this.mode(button.dataset.mode));
    addEventListener("popstate", () => this.open());
    narrow.addEventListener("change", () => this.lab && this.frame());
    startMenus();
  }

  get query() {
    return new URLSearchParams(location.search);
  }

  async open() {
    clearTimeout(this.timer); // what was still to be written was of the address before
    const query = this.query;
    const example = query.has("example");
    const named = new URLSearchParams([...query].filter(([name]) => ["run", "group"].includes(name)));
    const asked = example ? "example" : named.toString();
    if (this.asked !== asked) {
      this.asked = asked;
      this.lab = null; // what is drawn of the group before goes, and keys and what comes to sight draw into it
      put(byId("told"));
      this.groups();
      if (!asked) return this.empty();
      if (!example) this.comes(named);
      put(byId("reward"), skeleton());
      try {
        const data = example ? EXAMPLE : await getJson(`/api/reward?${asked}`);
        if (this.asked !== asked) return null;
        this.lab = new Lab(data);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        return this.asked === asked && this.gone(error);
      }
    }
    if (!this.lab) return null;
    this.lab.read(query);
    return this.frame();
  }

  again() {
    this.asked = null;
    return this.open();
  }

  async groups() {
    try {
      this.known = (await getJson("/api/reward/groups")).groups;
      this.problem = "";
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.problem = fullSentence(plain(error.message));
    }
    drawGroups(byId("groups"), this.known ?? null, this.problem);
    const list = byId("group-list");
    if (list) drawGroups(list, this.known ?? null, this.problem);
  }

  /** The head while a group is on its way: its own name, and the room of what will be told and chosen, without words. */
  comes(named) {
    const name = plain(named.get("group") ?? plural(named.getAll("run").length, "run"));
    byId("groups-now").textContent = name;
    put(byId("say"), el("span", { class: "lv-late", text: "Loading this group …" }));
    document.title = titled(name);
    for (const id of ["what-if", "modes"]) byId(id).hidden = false;
    byId("main").classList.add("rw-comes");
  }

  // ---- without a group
  blank(...content) {
    this.lab = null;
    byId("main").classList.remove("rw-comes");
    for (const id of ["what-if", "modes"]) byId(id).hidden = true;
    byId("groups-now").textContent = "choose";
    byId("say").textContent = "";
    document.title = "Reward · Orchestra Workbench";
    put(byId("reward"), content);
  }

  empty() {
    const list = el("div", { id: "group-list", class: "rw-list" });
    this.blank(
      el(
        "section",
        { class: "wb-panel cp-choose" },
        el("header", {}, el("h2", { text: "Choose a group of rollouts" })),
        el(
          "p",
          { class: "wb-note" },
          "A group is one task played several times: ",
          command("orchestra run … --group 4"),
          ", or runs that you group in Trajectories.",
        ),
        list,
        el("a", { class: "wb-btn primary", href: "/reward?example", text: "Open the worked example" }),
        el("p", { class: "wb-note", text: "Three made-up rollouts whose ranks the two arithmetics turn round." }),
      ),
    );
    drawGroups(list, this.known ?? null, this.problem);
  }

  gone(error) {
    this.blank(
      placard(
        error.mayPass ? "The group could not be read" : "This is no group that can be compared",
        fullSentence(plain(error.message)),
        error.mayPass ? el("button", { class: "wb-btn", type: "button", text: "Try again", on: { click: () => this.again() } }) : null,
        el("a", { class: "wb-btn primary", href: "/reward?example", text: "Open the worked example" }),
        el("a", { class: "wb-btn", href: "/trajectories", text: "All trajectories" }),
      ),
    );
  }

  // ---- a group
  frame() {
    const { lab } = this;
    const { data } = lab;
    for (const id of ["what-if", "modes"]) byId(id).hidden = id === "what-if" && data.example;
    byId("groups-now").textContent = plain(data.name ?? (data.task.length > 40 ? `${data.task.slice(0, 40)} …` : data.task));
    document.title = titled(plain(data.name ?? data.task));
    byId("main").classList.remove("rw-comes");
    const table = el("div", { class: "rw-scroll" });
    const bump = svgChart("bump", "Rank of every solved rollout under paper and released_code");
    const scatter = svgChart("scatter", "Reward against cost in both modes");
    put(
      byId("reward"),
      el(
        "section",
        { class: "wb-panel rw-p", "aria-label": "Reward, stage by stage" },
        el("div", { id: "top" }, this.formula(), el("div", { class: "rw-lying", id: "faders" })),
        table,
        el("p", { class: "rw-why", id: "why", role: "status" }),
        el("div", { class: "rw-end" }, el("p", { class: "wb-note rw-foot", id: "foot" }), el("div", { class: "rw-acts", id: "acts" })),
      ),
      el(
        "div",
        { class: "rw-3", id: "below" },
        chart("Ranks in both modes", "crossing lines are reversals", bump, el("p", { class: "wb-note" })),
        chart("Reward against cost", "solved rollouts", scatter, el("p", { class: "wb-note" })),
        chart("Check it by hand", "low cost 1, all else 0", el("div", { id: "by-hand" })),
      ),
    );
    this.charts = new Charts(bump, scatter);
    this.below = inSight([byId("foot"), byId("below")], () => this.lab && this.draw(false));
    this.table = new RewardTable(table, {
      weight: (name, value, settled) => this.weigh(name, value, settled),
      explain: (key, name, id) => this.explain(key, name, id),
      address: (id) => (data.example ? null : `/trajectories?run=${encodeURIComponent(id)}`),
    });
    drawByHand(byId("by-hand"), { link: !data.example });
    this.columns();
    this.draw(true);
  }

  /** The table anew: other tools have a column. */
  columns() {
    const { lab } = this;
    this.table.show(lab, narrow.matches);
    // The head of the raw columns is empty: with enough of them the formula stands there.
    const tools = lab.names.length - GOALS.length;
    byId("top").className = tools >= ROOM && !narrow.matches ? "rw-top in" : "rw-top";
    byId("top").style.setProperty("--raw", tools);
    put(byId("faders"), narrow.matches ? this.table.faders.all() : null);
  }

  formula() {
    const reset = el(
      "button",
      { class: "wb-btn sm", type: "button", id: "reset", on: { click: () => this.reset() } },
      "Reset ",
      el("kbd", { text: "r" }),
    );
    const rest = this.lab.columns(true).length - this.lab.columns(false).length;
    const more = el("button", {
      class: "wb-btn ghost sm",
      type: "button",
      "aria-pressed": String(this.lab.all),
      text: this.lab.all ? "Hide unused tools" : `Show ${plural(rest, "unused tool")}`,
      on: {
        click: () => {
          this.lab.all = !this.lab.all;
          this.lab.gather();
          this.frame();
        },
      },
    });
    return el(
      "div",
      { class: "rw-formula" },
      el("code", { text: "R = P · M" }),
      " if solved, else ",
      el("code", { text: "0" }),
      el("span", { class: "rw-bar" }),
      el("code", { text: "A = (R − mean) / std" }),
      el("span", { id: "moved" }),
      reset,
      rest ? more : null,
      el("button", {
        class: "wb-btn ghost sm rw-wide",
        type: "button",
        "aria-pressed": "false",
        text: "All stages",
        on: { click: ({ target }) => target.setAttribute("aria-pressed", String(this.table.table.classList.toggle("all"))) },
      }),
      this.lab.data.example ? el("span", { class: "wb-badge", title: "These rollouts are made up.", text: "example" }) : null,
      this.lab.simulated ? simulatedBadge() : null,
    );
  }

  // ---- what a reader changes
  weigh(name, value, settled) {
    this.lab.weigh(name, value);
    this.draw(settled);
    if (settled) this.keep();
  }

  mode(mode) {
    if (!this.lab) return false;
    this.lab.mode = mode;
    this.draw(true);
    return this.keep();
  }

  reset() {
    if (!this.lab) return false;
    this.lab.reset();
    this.draw(true);
    return this.keep();
  }

  /** Other prices, or other tools on offer. */
  suppose(change) {
    change();
    this.lab.gather();
    this.columns();
    this.draw(true);
    this.keep();
  }

  /** Keep the address in step, not faster than a browser likes. */
  keep() {
    clearTimeout(this.timer);
    const write = () => history.replaceState(null, "", `/reward?${this.lab.write(this.query)}`);
    this.timer = setTimeout(() => this.lab && write(), WRITE_MS);
    return true;
  }

  // ---- drawing
  draw(settled) {
    const { lab } = this;
    lab.compute();
    this.table.draw(lab, settled);
    if (settled || this.below.size) {
      // Under a long table nobody sees these; they are drawn when the fader rests, or when they come to sight.
      this.charts.draw(lab.bothModes(), settled);
      put(byId("foot"), foot(lab));
    }
    const moved = lab.moved ? `${plural(lab.moved, "fader")} moved ` : "";
    if (byId("moved").textContent !== moved) byId("moved").textContent = moved;
    byId("reset").disabled = lab.moved === 0;
    if (!settled) return;
    for (const button of byId("modes").children)
      button.setAttribute("aria-pressed", String(button.dataset.mode === lab.mode));
    document.querySelector(".rw-p").classList.toggle("alt", lab.mode !== "paper");
    put(byId("say"), sentence(lab));
    put(byId("told"), notices(lab));
    put(byId("acts"), actions(lab));
    this.explain(null);
    drawPrices(byId("prices"), lab, (key) => this.suppose(() => (lab.prices = key)));
    drawSubset(byId("subset"), lab, (name, on) => this.suppose(() => lab.offer(name, on)));
  }

  explain(key, name, id) {
    const { lab } = this;
    const rollout = key && lab.rollouts.find((one) => one.id === id);
    const at = lab.counted.indexOf(rollout);
    byId("why").textContent = rollout
      ? explain(key, name, rollout, at < 0 ? undefined : at, lab)
      : "Point at a number to see its formula; arrow keys walk, Enter opens the rollout.";
  }
}

/** Those of the nodes that are on the screen, a set that follows; `on` hears when one comes there. */
function inSight(nodes, on) {
  const seen = new Set();
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) seen.add(target);
      else seen.delete(target);
    }
    if (seen.size) on();
  });
  for (const node of nodes) watch.observe(node);
  return seen;
}

const titled = (name) => `${name.slice(0, 60)} · Reward · Orchestra Workbench`;

const svgChart = (id, words) => svg("svg", { id, class: "wb-chart", role: "img", "aria-label": words });

const chart = (title, words, ...content) =>
  el("section", { class: "wb-panel" }, el("header", {}, el("h2", { text: title }), el("p", { text: words })), content);

export async function start() {
  const reward = new Reward();
  const other = () => reward.mode(reward.lab?.mode === "paper" ? "released_code" : "paper");
  keys.start({
    m: { words: "paper or released_code", brief: "paper | released_code", run: other },
    "Tab ↑ ↓": { words: "move a fader", brief: "fader", run: () => false },
    "Digit 0": { shown: "0", words: "the fader in focus to zero", brief: "fader to zero", run: () => false },
    r: { words: "weights as they were played", brief: "reset weights", run: () => reward.reset() },
    Enter: { words: "open the rollout in focus", brief: "open rollout", run: () => false },
  });
  await reward.open();
}
