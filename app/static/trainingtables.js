// The parts of a run that are text and tables: every step in numbers, its settings, what its process wrote.

import { el } from "./dom.js";
import { plain, plural, unknown, when } from "./format.js";
import { UNITS } from "./trainingfigures.js";
import { HEALTH, LEARNS, follows, reasonWords } from "./trainingwords.js";

const MOST_ROWS = 400;

/** Every step in numbers, the newest first; the present step is marked. */
export function stepsTable(run) {
  const { rows, aims, at } = run;
  const reasons = [...new Set(rows.flatMap((row) => Object.keys(row.excluded)))];
  const figures = [...LEARNS, ...aims.map(follows), ...HEALTH];
  const shown = [...rows].reverse().slice(0, MOST_ROWS);
  const heads = ["Step", "Kept", ...reasons.map((name) => `out: ${reasonWords(name)}`), ...figures.map((one) => one.title), "Alarms"];
  const number = (value) => el("td", { class: "n" }, value === null || value === undefined ? unknown("not known at this step") : String(value));
  const line = (row) =>
    el(
      "tr",
      { "aria-selected": row.step === at ? "true" : null },
      el("th", { scope: "row" }, run.page.link({ view: null, step: row.step }, { class: "wb-link" }, String(row.step))),
      el("td", { class: "n" }, row.kept === null || row.samples === null ? unknown("not known at this step") : `${row.kept} of ${row.samples}`),
      reasons.map((name) => number(row.excluded[name])),
      figures.map(({ key, unit, get }) => {
        const value = get(row);
        const odd = row.odd.includes(key);
        return el("td", { class: "n" }, odd ? el("span", { class: "tn-nan", text: "NaN" }) : value === null || value === undefined ? unknown("not known at this step") : UNITS[unit].text(value));
      }),
      el("td", { class: "tn-alarmtext", text: plain(row.alarms.join("; ")) }),
    );
  return el(
    "section",
    { class: "wb-panel", "aria-label": "Steps" },
    el("header", {}, el("h2", { text: "Steps" }), el("p", { text: rows.length > shown.length ? `the last ${shown.length} of ${plural(rows.length, "step")}` : plural(rows.length, "step") })),
    rows.length
      ? el(
          "div",
          { class: "tn-wide tn-scroll", tabindex: "0", role: "region", "aria-label": "Every step in numbers" },
          el("table", { class: "wb-tbl tight" }, el("caption", { class: "wb-sr", text: "Every step in numbers" }), el("thead", {}, el("tr", {}, heads.map((text, n) => el("th", { scope: "col", class: n ? "n" : null, text: plain(text) })))), el("tbody", {}, shown.map(line))),
        )
      : el("p", { class: "wb-note", text: "No step was made yet." }),
  );
}

/** The settings that the run resolved to, and where everything of it lies. */
export function settingsView(head) {
  const facts = [
    ["Folder", el("code", { class: "wb-mono tn-path", text: plain(head.folder) })],
    ["Started", head.started_at ? when(head.started_at) : unknown("the run does not say")],
    ["Heard of", head.heartbeat_at ? when(head.heartbeat_at) : unknown("the run does not say")],
    ["Process", head.pid === null ? "none on this machine" : `${head.pid}, on this machine`],
    ["Checkpoints", head.checkpoints.length ? `of step ${head.checkpoints.slice(-6).join(", ")}` : "none"],
    ["Trained policy", head.final ? plain(`stage ${head.final.stage ?? "?"}, step ${head.final.step ?? "?"}, dialect ${head.final.dialect ?? "?"}`) : "not there before the end"],
  ];
  return el(
    "div",
    { class: "tn-3" },
    el(
      "section",
      { class: "wb-panel", "aria-label": "Resolved settings" },
      el("header", {}, el("h2", { text: "Resolved settings" }), el("p", { text: "config.toml of its folder: file, --set and defaults together" })),
      head.config_text === null ? el("p", { class: "wb-note", text: "They were not saved." }) : el("pre", { class: "wb-args tn-log", tabindex: "0", "aria-label": "config.toml", text: plain(head.config_text) }),
    ),
    el(
      "section",
      { class: "wb-panel", "aria-label": "Folder" },
      el("header", {}, el("h2", { text: "Folder and process" })),
      el("dl", { class: "tr-setting" }, facts.map(([name, value]) => [el("dt", { text: name }), el("dd", {}, value)])),
    ),
  );
}

/** What the process wrote, where it was started from here. */
export function logView(head) {
  return el(
    "section",
    { class: "wb-panel", "aria-label": "Log" },
    el("header", {}, el("h2", { text: "Log" }), el("p", { text: "the last lines of its process" })),
    head.command ? el("p", { class: "wb-note" }, "Started as ", el("code", { class: "wb-mono", text: plain(`… ${head.command.join(" ")}`) })) : null,
    head.log.length
      ? el("pre", { class: "wb-args tn-log tn-scroll", tabindex: "0", "aria-label": "Lines of the log", text: head.log.map(plain).join("\n") })
      : el("p", { class: "wb-note", text: head.launched ? "It has written nothing yet." : "It was not started from here, so its lines are in the terminal that started it." }),
  );
}


/** A dry run: what stands in the way, what should be known, and the numbers with how each comes about. */
export function planView({ rows, problems, remarks }) {
  const list = (words, look, texts) =>
    texts.length ? el("div", { class: `wb-alert ${look}` }, el("div", {}, el("b", { text: words }), el("ul", { class: "tn-planlist" }, texts.map((text) => el("li", { text: plain(text) }))))) : null;
  return el(
    "section",
    { class: "wb-panel", "aria-label": "Dry run" },
    el("header", {}, el("h2", { text: "Dry run" }), el("p", { text: "worked out for the config as it ships, nothing is started; memory is estimated and was not measured on such GPUs" })),
    list(`${plural(problems.length, "problem")} to mend before it can start on a cluster`, "warn", problems),
    list("To be known", "", remarks),
    el(
      "div",
      { class: "tn-wide", tabindex: "0", role: "region", "aria-label": "Plan, table" },
      el(
        "table",
        { class: "wb-tbl tight" },
        el("caption", { class: "wb-sr", text: "What a run comes to, and how" }),
        Object.entries(rows).map(([heading, lines]) => [
          el("thead", {}, el("tr", {}, el("th", { scope: "col", text: plain(heading) }), el("th", { scope: "col", class: "n", text: "Value" }), el("th", { scope: "col", text: "How it comes about" }))),
          el("tbody", {}, lines.map((line) => el("tr", {}, el("th", { scope: "row", text: plain(line.name) }), el("td", { class: "n", text: plain(line.value) }), el("td", { class: "wb-mut", text: plain(line.how) })))),
        ]),
      ),
    ),
  );
}
