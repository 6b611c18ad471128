// Two to four runs on the same axes, told apart by letter and stroke; their last figures and what differs in their settings.

import { el, put } from "./dom.js";
import { plain, unknown } from "./format.js";
import { icon } from "./icons.js";
import { simulatedBadge } from "./marks.js";
import { getJson } from "./server.js";
import { Ticker } from "./ticker.js";
import { Curve } from "./trainingcurve.js";
import { UNITS, mean } from "./trainingfigures.js";
import { GOING, HEALTH, LEARNS, OF_A_RUN, aimsIn, follows, stateChip } from "./trainingwords.js";

const [GOING_MS, IDLE_MS] = [1500, 8000];
const LOOKS = ["a", "b", "c", "d"];
const NO_DIFFERENCE = new Set(["name", "output_dir"]);

export class ComparedRuns {
  constructor(page) {
    this.page = page;
    this.ticker = new Ticker(() => this.load());
  }

  leave() {
    this.ticker.stop();
    this.key = null;
  }

  get wanted() {
    return this.page.query.getAll("compare").slice(0, LOOKS.length);
  }

  async show() {
    await this.load();
  }

  async load() {
    const { wanted } = this;
    const key = wanted.join("\n");
    const read = (run) => {
      const query = new URLSearchParams({ run });
      return Promise.all([getJson(`/api/training/run?${query}`), getJson(`/api/training/steps?${query}`)]);
    };
    const found = await this.page.trying("A run could not be read.", () => Promise.all(wanted.map(read)));
    if (this.page.current !== "compare" || key !== this.wanted.join("\n")) return;
    if (found) {
      this.runs = found.map(([head, { rows }], at) => ({ head, rows, look: LOOKS[at], letter: LOOKS[at].toUpperCase() }));
      if (this.key !== key) this.build();
      this.key = key;
      this.draw();
    }
    this.ticker.next(this.runs?.some(({ head }) => GOING.has(head.state)) ? GOING_MS : IDLE_MS);
  }

  build() {
    const { page } = this;
    page.title("Compare", ...this.runs.map(({ head }) => head.title));
    const rows = this.runs.flatMap((run) => run.rows);
    this.aims = aimsIn(rows);
    const figures = [...LEARNS, ...this.aims.map(follows), ...HEALTH.slice(0, 8)];
    this.curves = figures.map((figure) => new Curve({ ...figure, target: figure.key.startsWith("compliance") ? 0.85 : null }));
    this.key = null;
    this.keys = el("ul", { class: "tn-keys", "aria-label": "Runs" });
    this.figures = el("div", { class: "tn-wide", tabindex: "0", role: "region", "aria-label": "Figures side by side" });
    this.settings = el("div", { class: "tn-wide", tabindex: "0", role: "region", "aria-label": "Settings that differ" });
    page.fill(
      [page.link(OF_A_RUN, { class: "wb-btn ghost sm" }, icon("back", true), "All runs"), el("h1", { text: `Compare ${this.runs.length} runs` }), this.runs.some(({ head }) => head.simulated) ? simulatedBadge() : null],
      this.keys,
      el("div", { class: "tn-4" }, this.curves.map((one) => one.node)),
      el(
        "div",
        { class: "tn-2" },
        el("section", { class: "wb-panel", "aria-label": "Last steps" }, el("header", {}, el("h2", { text: "Last steps" }), el("p", { text: "means of the last five steps of each, of draws it trained on" })), this.figures),
        el("section", { class: "wb-panel", "aria-label": "What differs" }, el("header", {}, el("h2", { text: "What differs in their settings" })), this.settings),
      ),
    );
  }

  draw() {
    const { runs, page } = this;
    put(
      this.keys,
      runs.map(({ head, look, letter }) => el("li", {}, el("span", { class: `tn-letter ${look}`, text: letter }), page.link({ ...OF_A_RUN, run: head.id }, { class: "wb-link" }, plain(head.title)), stateChip(head.state, head.steps === null ? null : `${head.state}, ${head.step ?? 0} of ${head.steps}`))),
    );
    const end = Math.max(...runs.map(({ head, rows }) => Math.max(head.steps ?? 0, rows.at(-1)?.step ?? 0)));
    for (const one of this.curves) one.draw(runs, end);
    const heads = (first) => el("thead", {}, el("tr", {}, el("th", { scope: "col", text: first }), runs.map(({ letter, head }) => el("th", { scope: "col", class: "n", text: `${letter} ${plain(head.title)}` }))));
    const cell = ({ unit, get }, rows) => {
      const value = mean(rows.slice(-5).map(get));
      return el("td", { class: "n" }, value === null ? unknown("not known in the last steps") : UNITS[unit].text(value));
    };
    put(
      this.figures,
      el("table", { class: "wb-tbl tight" }, el("caption", { class: "wb-sr", text: "Means of the last five steps" }), heads("Figure"), el("tbody", {}, this.curves.map((one) => el("tr", {}, el("th", { scope: "row", text: one.title }), runs.map(({ rows }) => cell(one, rows)))))),
    );
    const names = [...new Set(runs.flatMap(({ head }) => Object.keys(head.config)))].filter((name) => !NO_DIFFERENCE.has(name));
    const differ = names.filter((name) => new Set(runs.map(({ head }) => JSON.stringify(head.config[name] ?? null))).size > 1);
    put(
      this.settings,
      differ.length
        ? el("table", { class: "wb-tbl tight" }, el("caption", { class: "wb-sr", text: "Settings that differ" }), heads("Setting"), el("tbody", {}, differ.map((name) => el("tr", {}, el("th", { scope: "row", class: "wb-mono", text: plain(name) }), runs.map(({ head }) => el("td", { class: "n", text: head.config[name] === undefined ? "not set" : plain(String(head.config[name])) }))))))
        : el("p", { class: "wb-note", text: "Nothing but their names." }),
    );
  }
}
