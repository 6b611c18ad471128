// What a run in a domain came to: three conditions with their reasons, its conduct, and what it changed beside what it
// should have.

import { el } from "./dom.js";
import { plain, plural } from "./format.js";
import { icon } from "./icons.js";
import { valueWords } from "./toolscalerecords.js";

const CONDITIONS = {
  state: "Final state equals the golden state",
  said: "Required information said",
  touched: "Every golden record looked at",
};
/** The lines of conduct that the calls of a run can be held against; no program sees the others. */
const CONDUCT = {
  authenticate: "Identify the user first",
  one_user: "One user in a conversation",
  one_call: "One change at a time",
  transfer: "Hand over to a human only what no tool can do",
};
const REASON_OF = [
  [/^not said/, "said"],
  [/^never looked at/, "touched"],
  [/./, "state"],
];

/** The three conditions, each met or not, with why not; then how the run behaved, which decides nothing, and what the
 * published rule would have said. While the run is `going` nothing has failed yet. */
export function conditions(judged, going = false) {
  const reasons = { state: [], said: [], touched: [] };
  for (const reason of judged.reasons) reasons[REASON_OF.find(([words]) => words.test(reason))[1]].push(reason);
  const met = {
    state: judged.golden.length ? plural(records(judged.golden).size, "record") + " as they should be, no other" : "nothing was to be changed, and nothing was",
    said: judged.required.length ? judged.required.map(informationWords).join(", ") : "nothing was to be said",
    touched: "all that the golden calls look at",
  };
  const line = ([name, title]) => {
    const holds = judged.conditions[name];
    const chip = el("span", { class: `wb-chip ${holds ? "ok" : going ? "" : "bad"}` }, icon(holds ? "check" : going ? "minus" : "cross", true), holds ? "met" : going ? "not yet" : "not met");
    return finding(chip, title, holds ? met[name] : reasons[name].join("; "));
  };
  const stale = judged.as_then
    ? null
    : el("p", { class: "wb-note" }, "The domain of the day of this run is not kept: it is judged in that of today.");
  return [Object.entries(CONDITIONS).map(line), conductRows(judged, going), going ? null : publishedRule(judged), stale];
}

const finding = (chip, title, words) =>
  el("div", { class: "ts-c" }, chip, el("div", {}, el("b", { text: title }), el("p", { class: "wb-note", text: plain(words) })));

/** What the run did against its policy's lines on behaviour: told, and no part of success. */
function conductRows({ conduct }, going) {
  const breach = ({ line, why }) =>
    finding(el("span", { class: "wb-chip warn" }, icon("warn", true), "breach"), CONDUCT[line] ?? plain(line), why);
  const lines = Object.values(CONDUCT).map((words) => words.toLowerCase());
  const none = () =>
    finding(
      el("span", { class: "wb-chip" }, icon("minus", true), "none"),
      going ? "No breach so far" : "No breach found",
      `Calls are held against four lines, where the policy has them: ${lines.join("; ")}.`,
    );
  return el(
    "section",
    { class: "ts-rule", "aria-label": "Conduct" },
    el("p", { class: "wb-note", text: "Conduct: told, and no part of whether the task was done." }),
    conduct.length ? conduct.map(breach) : none(),
  );
}

function publishedRule({ upstream, success }) {
  const words =
    upstream === success
      ? `The published rule says the same: ${upstream ? "passed" : "not passed"}.`
      : `The published rule would have said ${upstream ? "passed" : "not passed"}: it compares only whole states and substrings.`;
  return el("p", { class: "wb-note ts-rule", text: words });
}

/** A piece of required information in words. */
export function informationWords({ value, unit, what }) {
  const said = ["$", "€", "£"].includes(unit) ? `${unit}${value}` : [value, unit].filter((part) => part !== null).join(" ");
  return plain(what ? `${what}: ${said}` : said);
}

const records = (changes) => new Set(changes.map((one) => `${one.table} ${one.key}`));
const placeOf = (one) => JSON.stringify([one.table, one.key, one.path]);

/** Changes by record: `[title, changes]`. */
function byRecord(changes) {
  const found = new Map();
  for (const one of changes) {
    const title = `${one.table} / ${one.key}`;
    found.set(title, [...(found.get(title) ?? []), one]);
  }
  return [...found];
}

const fieldName = (one) => (one.path === "" ? "new record" : one.path);
const gone = (value) => el("del", { text: valueWords(value) });
const come = (value) => el("ins", { text: valueWords(value) });

/** A list of changes, field by field; `last` are those that all golden calls come to, to compare with. */
export function diff(changes, last) {
  const wanted = new Map((last ?? []).map((one) => [placeOf(one), JSON.stringify(one.after)]));
  const yet = (last ?? []).filter((one) => !changes.some((now) => placeOf(now) === placeOf(one)));
  const card = ([title, some]) => {
    const settled = some.every((one) => wanted.get(placeOf(one)) === JSON.stringify(one.after)) && !yet.some((one) => `${one.table} / ${one.key}` === title);
    const chip = last ? el("span", { class: `wb-chip${settled ? " ok" : ""}`, text: settled ? "as at the end" : "more to come" }) : null;
    return recordCard(
      title,
      chip,
      some.flatMap((one) => [
        el("dt", { class: "wb-mono", text: plain(fieldName(one)) }),
        el("dd", {}, one.path === "" ? come(one.after) : [gone(one.before), " ", come(one.after)]),
      ]),
    );
  };
  const waiting = byRecord(yet).filter(([title]) => !byRecord(changes).some(([shown]) => shown === title));
  const later = ([title, some]) =>
    recordCard(
      title,
      el("span", { class: "wb-chip", text: "to come" }),
      some.flatMap((one) => [
        el("dt", { class: "wb-mono", text: plain(fieldName(one)) }),
        el("dd", { class: "wb-mut", text: one.path === "" ? "made later" : `${valueWords(one.before)}, ends as ${valueWords(one.after)}` }),
      ]),
      true,
    );
  if (!changes.length && !waiting.length) return el("p", { class: "wb-note", text: "Nothing is changed." });
  return [byRecord(changes).map(card), waiting.map(later)];
}

function recordCard(title, chip, content, missing = false) {
  return el(
    "div",
    { class: `ts-rec${missing ? " miss" : ""}` },
    el("div", { class: "ts-rechead" }, el("b", { class: "wb-mono", text: plain(title) }), chip),
    el("dl", {}, content),
  );
}

/** What a run changed beside what the golden calls change: a row a field. */
export function beside(judged, going = false) {
  const places = new Map();
  for (const [side, changes] of [["golden", judged.golden], ["run", judged.changed]])
    for (const one of changes) places.set(placeOf(one), { ...places.get(placeOf(one)), [side]: one, any: one });
  if (!places.size) return el("p", { class: "wb-note", text: "Neither the golden calls nor the run change anything." });
  const row = ({ golden, run, any }) => {
    const same = golden && run && JSON.stringify(golden.after) === JSON.stringify(run.after);
    const word = same ? "same" : !run ? (going ? "not yet" : "missing") : !golden ? "extra" : "other";
    const meant = judged.conditions.state && !same ? "not compared" : word;
    const open = meant === "not compared" || meant === "not yet";
    return el(
      "tr",
      {},
      el("th", { scope: "row", class: "ts-field" }, el("span", { class: "wb-mono", text: plain(fieldName(any)) }), el("small", { text: plain(`${any.table} ${any.key}`) })),
      el("td", { class: "wb-mut" }, el("span", { class: "ts-v", text: valueWords(any.before) })),
      el("td", {}, golden ? el("span", { class: "ts-v", text: valueWords(golden.after) }) : el("span", { class: "wb-mut", text: "unchanged" })),
      el("td", {}, run ? el("span", { class: "ts-v", text: valueWords(run.after) }) : el("span", { class: "wb-mut", text: "unchanged" })),
      el("td", {}, el("span", { class: `wb-chip${meant === "same" ? " ok" : open ? "" : " bad"}` }, icon(meant === "same" ? "check" : open ? "minus" : "cross", true), meant)),
    );
  };
  return el(
    "div",
    { class: "ts-scroll ts-cmp", tabindex: "0", role: "region", "aria-label": "What the run changed beside the golden calls" },
    el(
      "table",
      { class: "wb-tbl tight" },
      el("caption", { class: "wb-sr", text: "What the run changed beside what the golden calls change" }),
      el("thead", {}, el("tr", {}, ["Field", "Before", "Golden", "This run", "Same?"].map((text) => el("th", { scope: "col", text })))),
      el("tbody", {}, [...places.values()].map(row)),
    ),
  );
}
