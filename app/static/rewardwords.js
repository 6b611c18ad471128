// What the Reward page says in sentences, and what it hands on: a command, rows, a preference, a new run.

import { el } from "./dom.js";
import { icon } from "./icons.js";
import { count, plain, plural } from "./format.js";
import { againAddress, command, preferenceToml, rowsJson } from "./rewardlink.js";
import { reversals } from "./rewardmath.js";
import { RECORDED } from "./rewardlab.js";
import { fixed } from "./rewardwhy.js";

/** How far the two arithmetics disagree. */
export function sentence(lab) {
  const { counted, paper, released } = lab.bothModes();
  if (!paper) return null;
  const { pairs, reversed } = reversals(counted, paper, released);
  if (pairs === 0) return "No two solved rollouts differ in both modes";
  const other = lab.mode === "paper" ? "released_code" : "paper";
  const words = `solved ${pairs === 1 ? "pair ranks" : "pairs rank"} the other way round in ${other}`;
  return [el("b", { text: `${count(reversed)} of ${count(pairs)}` }), ` ${words}`];
}

/** What a reader must know before reading the numbers. */
export function notices(lab) {
  const { data, report } = lab;
  const lines = [];
  if (lab.refused)
    lines.push(["warn", "No reward under these prices", `${plain(lab.refused)}. Choose another table under Prices.`]);
  else if (!report)
    lines.push(["", "Nothing to compare", `${noneCounts(lab)} Open a rollout to grade it.`]);
  else if (report.why) lines.push(["", "No gradient", `This group is not in the loss: ${report.why}.`]);
  if (data.preferences > 1)
    lines.push(["", "Several preferences", `These were played under ${data.preferences} preferences; the faders start from the first one's and weigh all alike.`]);
  if (data.running?.length)
    lines.push(["", "Still running", `${plural(data.running.length, "run")} of this group has not ended and is left out.`]);
  return lines.map(([look, title, words]) =>
    el("div", { class: `wb-alert ${look}` }, icon("warn"), el("p", {}, el("b", { text: `${title}. ` }), words)),
  );
}

function noneCounts(lab) {
  const ungraded = lab.rollouts.every((one) => one.outcome === null);
  return ungraded ? "No rollout is graded." : "No rollout is left in the group.";
}

/** The line under the table: mean and deviation, and what they rest on. */
export function foot(lab) {
  const { report, mode } = lab;
  const left = lab.rollouts.length - lab.counted.length;
  const words = [];
  if (mode !== "paper")
    words.push(el("b", { text: "released_code" }), ": cost and time lose their sign and gain a constant, and who did not use a tool is placed below those who did. Kept to reproduce. ");
  if (report) {
    const std = report.std === null ? "" : `, standard deviation ${fixed(report.std)} (n − 1)`;
    const trains = report.why ? `. Not in the loss: ${report.why}. ` : ", enough to train on. ";
    words.push(`${plural(report.reward.length, "rollout")} compared: mean ${fixed(report.mean)}${std}${trains}`);
  }
  if (left) words.push(`${plural(left, "rollout")} left out. `);
  if (lab.table) words.push(`Priced by ${lab.pricesWord}. `);
  if (lab.simulated) words.push(`${count(lab.simulated)} of ${count(lab.rollouts.length)} with simulated tools. `);
  if (mode === "paper" && Object.values(lab.weights).some((weight) => weight < 0))
    words.push("A tool weight below 0 is this project’s extension: it rewards using the tool less.");
  return words;
}

/** What can be taken along. */
export function actions(lab) {
  const told = el("span", { class: "wb-note", role: "status" });
  const copy = async (text, done) => {
    try {
      await navigator.clipboard.writeText(text);
      told.textContent = done;
    } catch {
      told.textContent = `The browser did not let us copy: ${text.slice(0, 300)}`; // no clipboard but on https and localhost
    }
  };
  const button = (sign, text, act) =>
    el("button", { class: "wb-btn sm", type: "button", on: { click: act } }, icon(sign, true), text);
  const shown = Object.fromEntries(lab.names.map((name) => [name, lab.weights[name] ?? 0]));
  const { example } = lab.data;
  const rollouts = lab.without.size ? lab.counted : lab.rollouts;
  const line = command({
    ids: rollouts.map((one) => one.id),
    rows: example ? "rows.json" : null,
    weights: shown,
    prices: lab.prices === RECORDED ? null : lab.prices,
    mode: lab.mode,
  });
  const toml = `data:application/toml;charset=utf-8,${encodeURIComponent(preferenceToml(shown))}`;
  return [
    button("copy", "Copy as CLI command", () => copy(line, example ? "Command copied; rows.json is what the next button copies" : "Command copied")),
    button("copy", "Copy rows as JSON", () => copy(rowsJson(rollouts), "Rows copied, as orchestra reward FILE.json reads them")),
    el("a", { class: "wb-btn sm", href: toml, download: "preference.toml" }, icon("down", true), "Save this preference"),
    example
      ? null
      : el("a", { class: "wb-btn sm", href: againAddress(lab.rollouts[0].id, shown) }, icon("again", true), "Run again with it"),
    told,
  ];
}
