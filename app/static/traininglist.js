// Every run in one table: how it stands and what its last steps came to. Two to four of them can be held side by side.

import { el, put } from "./dom.js";
import { plain, plural, unknown, when } from "./format.js";
import { icon } from "./icons.js";
import { simulatedBadge } from "./marks.js";
import { getJson } from "./server.js";
import { Ticker } from "./ticker.js";
import { UNITS } from "./trainingfigures.js";
import { spark } from "./trainingspark.js";
import { GOING, OF_A_RUN, aimWords, stateChip } from "./trainingwords.js";

const [GOING_MS, IDLE_MS] = [2000, 8000];
const MOST = 4;
const HEADS = [
  ["", "mark"],
  ["Run", ""],
  ["State", ""],
  ["Step", "n"],
  ["Accuracy", "n"],
  ["Cost", "n"],
  ["Time", "n"],
  ["Follows its wish", ""],
  ["Malformed", "n"],
  ["Strongest", "n"],
];

export class RunList {
  constructor(page) {
    this.page = page;
    this.marked = new Set();
    this.ticker = new Ticker(() => this.load());
  }

  leave() {
    this.ticker.stop();
    this.table = null;
  }

  async show() {
    this.page.title();
    this.table = null;
    await this.load();
  }

  async load() {
    const query = new URLSearchParams(this.page.folders.map((one) => ["also", one]));
    const found = await this.page.trying("The runs could not be read.", () => getJson(`/api/training?${query}`), { retry: () => this.load() });
    if (this.page.current !== "list") return;
    if (found) this.draw(found);
    this.ticker.next(found?.runs.some((run) => GOING.has(run.state)) ? GOING_MS : IDLE_MS);
  }

  draw(found) {
    this.runs = found.runs;
    for (const id of this.marked) if (!this.runs.some((run) => run.id === id)) this.marked.delete(id);
    if (!this.table) this.build(found);
    const focused = document.activeElement?.closest?.("tr[data-run]")?.dataset.run;
    const inMark = document.activeElement?.type === "checkbox";
    put(this.body, this.runs.map((run) => this.row(run)));
    if (focused) this.body.querySelector(`tr[data-run="${CSS.escape(focused)}"] ${inMark ? "input" : "a"}`)?.focus({ preventScroll: true });
    const going = this.runs.filter((run) => GOING.has(run.state)).length;
    this.said.textContent = this.runs.length ? `${plural(this.runs.length, "run")}${going ? `, ${going} going on` : ""}` : "";
    put(this.problems, found.problems.map((one) => el("p", { class: "wb-note", text: plain(`${one.folder}: ${one.problem}`) })), this.folderChips());
    this.panel.hidden = this.runs.length === 0;
    this.empty.hidden = this.runs.length > 0;
    this.drawCompare();
  }

  build({ folder }) {
    this.body = el("tbody", {});
    this.said = el("p", { role: "status" });
    this.problems = el("div", { class: "tn-problems" });
    this.comparing = el("button", { class: "wb-btn sm", type: "button", on: { click: () => this.compare() } }, icon("compare", true), "Compare", el("kbd", { text: "c" }));
    this.table = el(
      "table",
      { class: "wb-tbl tn-runs" },
      el("caption", { class: "wb-sr", text: "Training runs; figures are means of their last five steps" }),
      el("thead", {}, el("tr", {}, HEADS.map(([text, look]) => (look === "mark" ? el("td", {}) : el("th", { class: look || null, scope: "col", text }))))),
      this.body,
    );
    this.panel = el(
      "section",
      { class: "wb-panel", "aria-label": "Training runs" },
      el("header", {}, el("h2", { text: "Runs" }), this.said, el("span", { class: "wb-sp" }), this.comparing),
      el("div", { class: "tn-wide", tabindex: "0", role: "region", "aria-label": "List of runs" }, this.table),
      el("p", { class: "wb-note", text: "Figures are means of the last five steps, of draws that the policy trained on." }),
    );
    this.empty = el(
      "section",
      { class: "wb-panel wb-state", "aria-label": "No runs" },
      el("h2", { text: "Nothing has been trained here yet" }),
      el("p", {}, "Start a run, or train in a terminal with ", el("code", { class: "wb-mono", text: "orchestra train configs/tiny.toml" }), "; it appears here at once."),
      el("p", {}, "Run folders are looked for in ", el("code", { class: "wb-mono tn-path", text: plain(folder) })),
      this.startLink("primary"),
    );
    this.page.fill([el("h1", { text: "Training" }), el("span", { class: "wb-sp" }), this.startLink("sm")], this.panel, this.empty, this.policies(), this.opener());
    this.drawPolicies();
  }

  startLink(look) {
    return this.page.link({ ...OF_A_RUN, new: "1" }, { class: `wb-btn ${look}` }, icon("play", true), "Start a run");
  }

  row(run) {
    const { share, usd, seconds } = { share: UNITS.share.text, usd: UNITS.usd.text, seconds: UNITS.seconds.text };
    const figure = (value, words) => el("td", { class: "n" }, value === null ? unknown("nothing known in the last steps") : words(value));
    const { figures } = run;
    const marked = this.marked.has(run.id);
    const mark = el("input", { type: "checkbox", checked: marked, "aria-label": `Mark ${plain(run.title)} for comparing`, on: { change: () => this.mark(run.id, mark.checked) } });
    const wishes = Object.entries(run.compliance).filter(([, value]) => value !== null);
    return el(
      "tr",
      { "data-run": run.id, "aria-selected": marked ? "true" : null },
      el("td", {}, el("label", { class: "tn-mark" }, mark)),
      el(
        "th",
        { scope: "row" },
        this.page.link({ ...OF_A_RUN, run: run.id }, { class: "tn-name" }, plain(run.title)),
        run.simulated ? simulatedBadge(true) : null,
        el("small", { class: "tn-where", title: plain(run.folder) }, whereWords(run)),
      ),
      el("td", {}, stateChip(run.state), run.alarms ? el("span", { class: "tn-alarms", title: "Steps with an alarm" }, icon("warn", true), ` ${run.alarms}`) : null, run.message && !GOING.has(run.state) ? el("span", { class: "wb-note tn-why", title: plain(run.message), text: plain(run.message) }) : null),
      el("td", { class: "n" }, progress(run)),
      el("td", { class: "n tn-figure" }, spark(run.spark.accuracy, `Accuracy of ${run.title}`), figures.accuracy === null ? unknown("nothing known in the last steps") : share(figures.accuracy)),
      el("td", { class: "n tn-figure" }, spark(run.spark.cost_usd, `Cost of ${run.title}`), figures.cost_usd === null ? unknown("nothing known in the last steps") : usd(figures.cost_usd)),
      figure(figures.latency_s, seconds),
      el("td", {}, wishes.length ? wishes.map(([aim, value]) => el("span", { class: "tn-wish" }, `${aimWords(aim).replace(" wish", "")} `, el("b", { text: share(value) }))) : unknown("no preference was drawn in the last steps")),
      figure(figures.malformed_rate, share),
      figure(figures.strongest_share, share),
    );
  }

  mark(id, on) {
    if (on && this.marked.size >= MOST) this.marked.delete([...this.marked][0]);
    this.marked[on ? "add" : "delete"](id);
    for (const row of this.body.rows) {
      const here = this.marked.has(row.dataset.run);
      row.toggleAttribute("aria-selected", here);
      if (here) row.setAttribute("aria-selected", "true");
      row.querySelector("input").checked = here;
    }
    this.drawCompare();
  }

  drawCompare() {
    this.comparing.disabled = this.marked.size < 2;
    this.comparing.title = this.marked.size < 2 ? "Mark two to four runs" : `Compare ${this.marked.size} runs`;
  }

  compare() {
    if (this.marked.size < 2) return false;
    return this.page.go({ ...OF_A_RUN, compare: this.runs.map((run) => run.id).filter((id) => this.marked.has(id)) });
  }

  move(by) {
    const links = [...(this.body?.querySelectorAll("a.tn-name") ?? [])];
    if (!links.length) return false;
    const at = links.indexOf(document.activeElement);
    links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by))].focus();
    return true;
  }

  // ---- other folders
  opener() {
    const field = el("input", { type: "text", placeholder: "/path/of/a/run or of many", "aria-label": "Path of a folder", autocomplete: "off", spellcheck: "false" });
    const submit = (event) => {
      event.preventDefault();
      const path = field.value.trim();
      if (!path) return;
      this.page.folders = [...new Set([...this.page.folders, path])];
      field.value = "";
      this.load();
    };
    return el(
      "section",
      { class: "wb-panel", "aria-label": "Other folders" },
      el("header", {}, el("h2", { text: "Other folders" }), el("p", { text: "run folders that lie elsewhere on the machine of the workbench; remembered in this browser" })),
      el("form", { class: "tn-open", on: { submit } }, el("label", { class: "wb-in sm" }, field), el("button", { class: "wb-btn sm", type: "submit", text: "Open folder" })),
      this.problems,
    );
  }

  folderChips() {
    return this.page.folders.map((path) => {
      const forget = () => {
        this.page.folders = this.page.folders.filter((one) => one !== path);
        this.load();
      };
      return el("span", { class: "wb-tag tn-folder" }, el("code", { text: plain(path) }), el("button", { class: "wb-btn ghost sm icon", type: "button", "aria-label": `Forget ${plain(path)}`, on: { click: forget } }, icon("cross", true)));
    });
  }

  // ---- what can conduct in Live
  policies() {
    this.offers = el("ul", { class: "tn-offers" });
    this.offersPanel = el(
      "section",
      { class: "wb-panel", "aria-label": "Trained policies", hidden: true },
      el("header", {}, el("h2", { text: "Trained policies" }), el("p", { text: "in the orchestrator list of Live; they conduct simulated experts only" })),
      this.offers,
    );
    return this.offersPanel;
  }

  async drawPolicies() {
    const state = await this.page.trying("The trained policies could not be listed.", () => getJson("/api/state"));
    const trained = (state?.orchestrators ?? []).filter((one) => one.name.startsWith("trained:"));
    this.offersPanel.hidden = !trained.length;
    put(
      this.offers,
      trained.map((one) =>
        el("li", {}, el("b", { text: plain(one.title) }), el("code", { class: "wb-mono", text: plain(one.name) }), simulatedBadge(true), el("span", { class: "wb-note", text: plain(one.off ?? one.note) })),
      ),
    );
  }
}

/** Below a run's name: what it trains and since when, or where it lies. */
/** Where it lies or what it is, and when it began, which stays in one line. */
function whereWords(run) {
  if (run.id.startsWith("shipped:")) return "ships with the workbench";
  const place = run.id === run.title ? run.config.scale : run.folder;
  return [plain(place ?? ""), run.started_at ? el("span", { text: `${place ? " · " : ""}${when(run.started_at)}` }) : null];
}

function progress(run) {
  const step = Math.max(run.step ?? 0, run.last_step ?? 0);
  if (run.steps === null) return run.last_step === null ? unknown("no step was made yet") : String(run.last_step);
  const share = run.steps ? Math.min(1, step / run.steps) : 0;
  return [
    `${step} of ${run.steps}`,
    el("div", { class: "wb-prog", role: "progressbar", "aria-valuenow": Math.round(100 * share), "aria-valuemin": 0, "aria-valuemax": 100, "aria-label": `Step ${step} of ${run.steps}` }, el("i", { style: { width: `${100 * share}%` } })),
  ];
}
