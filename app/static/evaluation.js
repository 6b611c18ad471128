// The Evaluation page: stored reports; one of them with the runs behind each figure, and published figures apart.

import { command } from "./command.js";
import { byId, el, put, svg } from "./dom.js";
import { count, percent, plain, plural, points, unknown, when } from "./format.js";
import * as keys from "./keys.js";
import { simulatedBadge } from "./marks.js";
import { Place } from "./place.js";
import { Refused, getJson } from "./server.js";
import { Ticker } from "./ticker.js";
import { again, alertOf } from "./toolmarks.js";

const COMMAND = "orchestra eval simulated --limit 40 --table main --orchestrator trained:tiny-grpo --orchestrator cheapest";
const AGAIN_MS = 5_000; // between two looks while a report is still to come
const PUBLISHED = "Other models on other tasks, as published: for comparison by eye. They enter no mean, test or interval of yours.";

class Evaluation extends Place {
  constructor() {
    super("/evaluation");
    this.ticker = new Ticker(() => this.show());
  }

  async show() {
    const name = this.query.get("report");
    const address = `/api/evaluations${name ? `/${encodeURIComponent(name)}` : ""}`;
    put(byId("told"));
    this.ticker.stop();
    const waiting = setTimeout(() => put(byId("evaluation"), el("div", { class: "wb-skel", "aria-hidden": "true" })), 300);
    try {
      const found = await getJson(address);
      if (name !== this.query.get("report")) return;
      if (name) this.draw(found);
      else this.list(found);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.head("Evaluation", [], []);
      put(byId("told"), alertOf("This cannot be shown.", error.message));
      put(byId("evaluation"), el("p", { class: "lv-actions" }, again(error, () => this.show()), name ? this.link({ report: null }, { class: "wb-btn", text: "All reports" }) : null));
    } finally {
      clearTimeout(waiting);
    }
  }

  head(title, about, actions) {
    byId("title").textContent = title;
    put(byId("about"), about);
    put(byId("actions"), actions);
  }

  list(reports) {
    const stored = reports.filter((one) => !one.tag).length;
    this.head("Evaluation", reports.length ? [plural(stored, "report")] : [], []);
    if (!reports.length) {
      const state = el("div", { class: "wb-state" }, el("h2", { text: "No report yet" }), el("p", { text: "Measure orchestrators on a suite from a terminal; the report comes here." }), command(COMMAND));
      put(byId("evaluation"), el("section", { class: "wb-panel" }, state));
      return;
    }
    const head = ["Report", "Table", "Suites", "Orchestrators", "Tasks", "Runs", "Changed"];
    const rows = reports.map((one) => {
      const named = this.link({ report: one.name }, { text: plain(one.name) });
      const changed = when(new Date(one.changed_s * 1000).toISOString());
      if (one.tag) return begun(one, changed);
      if (one.problem) return [named, el("td", { colspan: "5", text: one.problem }), changed];
      const runs = `${count(one.done)} of ${count(one.runs)}${one.complete ? "" : ", not done"}`;
      return [named, one.table ?? "—", one.suites.map(plain).join(", "), [one.orchestrators.map(plain).join(", "), one.simulated ? [" ", simulatedBadge()] : null], count(one.tasks), runs, changed];
    });
    put(byId("evaluation"), el("section", { class: "wb-panel" }, table("Stored reports", head, rows, "ev-list")));
    if (reports.some((one) => one.tag)) this.ticker.next(AGAIN_MS);
  }

  draw(report) {
    const file = `/api/evaluations/${encodeURIComponent(report.name)}/report.html`;
    const title = report.table ? `Table ${report.table}` : report.suites.map(plain).join(", ");
    this.head(
      title,
      [plain(report.name), report.simulated ? [" ", simulatedBadge()] : null, report.complete ? null : " · some runs are not done: the same command goes on"],
      [report.command ? el("a", { class: "wb-btn sm", href: file, download: true, text: "Report as a file" }) : null, this.link({ report: null }, { class: "wb-btn sm", text: "All reports" })],
    );
    put(
      byId("evaluation"),
      report.blocks.map((block) => el("section", { class: "wb-panel" }, block.title ? el("h2", { text: plain(block.title) }) : null, block.sheets.map((one) => sheet(one, block.title ? "h3" : "h2")), notes(block.notes))),
      report.command ? el("p", { class: "wb-note" }, command(report.command), ` on ${report.machine}`) : null,
      report.published ? published(report.published) : null,
    );
  }
}

/** A row of what goes on or was interrupted: its runs so far; the same command goes on and writes the report. */
function begun({ name, tag, suites, played }, changed) {
  const runs = el("a", { href: `/trajectories?${new URLSearchParams({ tag })}`, text: `${count(played)} so far` });
  const told = el("span", { class: "wb-note", text: "no report yet" });
  const later = () => unknown("the report will say");
  return [[plain(name), " ", told], "—", suites.map(plain).join(", "), later(), later(), played ? runs : "none yet", changed];
}

function published(found) {
  const body = [el("h2", { text: "As published, not measured here" }), el("p", { text: PUBLISHED }), notes([`Source: ${found.source}.`, ...found.notes]), found.sheets.map((one) => sheet(one))];
  return el("section", { class: "wb-panel ev-published", "aria-label": "Published figures" }, body);
}

function sheet(one, level = "h3") {
  const rows = one.rows.map((row) => row.map(cell));
  return [el(level, { text: plain(one.title) }), table(plain(one.title), one.head.map(plain), rows), notes(one.notes)];
}

/** A minus as it is printed, in the figures of our reports, which are plain text. */
const signed = (text) => plain(text).replace(/(^|[[ ])-(?=\d)/g, "$1\u2212");

function cell({ text, href, share, spread, apart, after, drawn, links, less }) {
  if (less) return less.map((one, at) => [at ? " \u2212 " : "", el("a", { href: one.href, text: plain(one.text) })]);
  const words = spread ? spreadWords(spread) : share ? shareWords(share, apart) : signed(text);
  return [href ? el("a", { href, text: words }) : words, after ? ` ${plain(after)}` : null, drawn ? interval(share) : null, links ? ofEach(links) : null];
}

/** A share with its interval, or a difference of shares in points. */
function shareWords({ mean, low, high, tasks }, apart) {
  const write = apart ? points : percent;
  const ends = low === null || high === null ? "" : ` [${write(low, tasks)}, ${write(high, tasks)}]`;
  return `${write(mean, tasks)} ${apart ? "pts" : "%"}${ends}`;
}

const spreadWords = ({ sd, least, most, tasks }) => `${percent(sd, tasks)} pts (${percent(least, tasks)} to ${percent(most, tasks)} %)`;

/** The runs behind a figure over several suites, suite by suite. */
function ofEach(links) {
  const each = links.map(({ text, href }, at) => [at ? ", " : "", el("a", { href, text: plain(text) })]);
  return el("small", { class: "ev-each" }, "runs: ", each);
}

/** A share with its interval on a line from 0 to 100 %; the words beside it say the same. */
function interval({ low, mean, high }) {
  const at = (share) => 4 + 112 * (share ?? mean);
  return svg("svg", { class: "ev-bar", viewBox: "0 0 120 10", "aria-hidden": "true" }, svg("line", { class: "of", x1: 4, x2: 116, y1: 5, y2: 5 }), svg("line", { class: "reach", x1: at(low), x2: at(high), y1: 5, y2: 5 }), svg("circle", { cx: at(mean), cy: 5, r: 3 }));
}

function table(label, head, rows, kind = "") {
  const named = (one, at) => (at ? el("td", {}, el("span", { class: "wb-of", text: head[at] }), el("div", {}, one)) : el("th", { scope: "row" }, one));
  const listed = (one) => (one instanceof HTMLTableCellElement ? one : el("td", {}, one));
  const body = rows.map((row) => el("tr", {}, row.map(kind ? listed : named)));
  const made = el("table", { class: `ev-table ${kind || "wb-fold"}`, "aria-label": label }, el("thead", {}, el("tr", {}, head.map((words) => el("th", { scope: "col", text: words })))), el("tbody", {}, body));
  return el("div", { class: "ev-scroll", tabindex: "0", role: "region", "aria-label": label }, made);
}

const notes = (lines) => (lines.length ? el("ul", { class: "ev-notes" }, lines.map((line) => el("li", { text: plain(line) }))) : null);

export async function start() {
  const page = new Evaluation();
  keys.start({});
  await page.show();
}
