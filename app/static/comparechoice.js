// What the Compare page shows while there are not two runs to compare: the latest to choose from, or what is not there.

import { el, put } from "./dom.js";
import { fullSentence, plain, when } from "./format.js";
import { outcomeChip, statusChip } from "./marks.js";
import { nowhere, placard } from "./placards.js";
import { getJson } from "./server.js";

const LATEST = 20;
const HOW = "Pick one of the latest runs, or select two to eight in Trajectories and press c there.";

/** What the server refused: the side that is not here, or the whole comparison. `query` is that of the page, `again()` reads it anew. */
export function drawRefused(host, error, query, again) {
  const [a, b] = [query.get("a"), query.get("b")];
  const side = /^([AB]): /.exec(error.message)?.[1];
  const kept = side === "A" ? b : a;
  const title = side ? `${side} is not here` : error.mayPass ? "The runs could not be read" : "These could not be compared";
  put(
    host,
    placard(
      title,
      side ? nowhere(side === "A" ? a : b) : fullSentence(plain(error.message)),
      side
        ? el("a", { class: "wb-btn primary", href: `/compare?a=${encodeURIComponent(kept)}`, text: "Choose another" })
        : null,
      error.mayPass ? el("button", { class: "wb-btn primary", type: "button", text: "Try again", on: { click: again } }) : null,
      el("a", { class: "wb-btn", href: "/trajectories", text: "All trajectories" }),
    ),
  );
}

/** One run is known, or none: the latest to choose the `missing` side from, a section. Raises `Refused`. */
export async function choices(known, missing) {
  const run = known ? (await getJson(`/api/rail?ids=${encodeURIComponent(known)}`)).runs[0] : null;
  if (run?.status === "gone") return gone(known);
  const rows = (await getJson("/api/trajectories")).rows.filter((row) => row.id !== known).slice(0, LATEST);
  const address = (row) =>
    `/compare?${new URLSearchParams(known ? { a: known, b: known, [missing]: row.id } : { a: row.id })}`;
  const content = rows.length
    ? el(
        "ul",
        { class: "cp-choices" },
        rows.map((row) => choice(row, address(row))),
      )
    : el("p", { class: "wb-note", text: known ? "There is no other run yet." : "Nothing has been run yet." });
  return el(
    "section",
    { class: "wb-panel cp-choose", "aria-label": "Choose" },
    el("h1", { text: known ? "Choose what to compare with" : "Compare two trajectories" }),
    known ? knownRun(run, missing === "a" ? "b" : "a") : null,
    rows.length ? el("p", { class: "wb-note", text: HOW }) : null,
    content,
    rows.length
      ? el("a", { class: "wb-btn", href: "/trajectories", text: "All trajectories" })
      : el("a", { class: "wb-btn primary", href: "/", text: "Give it a task" }),
  );
}

const gone = (id) =>
  placard(
    "This run is not here",
    nowhere(id),
    el("a", { class: "wb-btn primary", href: "/compare", text: "Choose two others" }),
    el("a", { class: "wb-btn", href: "/trajectories", text: "All trajectories" }),
  );

/** The run that is chosen already, with the letter of its side. */
const knownRun = (run, side) =>
  el(
    "div",
    { class: "cp-known" },
    el("span", { class: `cp-l cp-${side}`, text: side.toUpperCase() }),
    el(
      "a",
      { class: "cp-who", href: `/trajectories?run=${encodeURIComponent(run.id)}`, title: plain(run.task) },
      el("b", { class: "lv-cut", text: plain(run.task) }),
      el("span", { class: "wb-note lv-cut", text: `${plain(run.orchestrator)} · ${run.wish} · ${run.id}` }),
    ),
    standing(run),
  );

const standing = ({ outcome, status }) => ((outcome ?? null) === null ? statusChip(status) : outcomeChip(outcome));

const choice = (row, href) =>
  el(
    "li",
    {},
    el(
      "a",
      { class: "cp-choice", href },
      el("b", { class: "lv-cut", text: plain(row.task) }),
      el("span", { class: "wb-note lv-cut", text: `${plain(row.orchestrator)} · ${row.wish}` }),
      el("span", { class: "wb-note wb-num", text: when(row.started_at) }),
      standing(row),
    ),
  );
