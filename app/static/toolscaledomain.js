// Of one domain: its tables with their state machines, its operations with their rules, its policy as text.

import { el, svg } from "./dom.js";
import { count, plain, plural } from "./format.js";
import { icon } from "./icons.js";

const panel = (title, note, ...content) =>
  el(
    "section",
    { class: "wb-panel", "aria-label": plain(title) },
    el("header", {}, el("h2", { text: plain(title) }), note ? el("p", { text: note }) : null),
    content,
  );

/** A mark of a fact about a field, with what it means as its tooltip. */
const tag = (text, title) => el("span", { class: "wb-tag ts-tag", title, text });

// ---- schema
export function schemaView(domain, page) {
  const tables = domain.tables.map((table) => tablePanel(table, page));
  const invariants = domain.invariants.map((text) => el("li", { text: plain(text) }));
  return [
    domain.description ? el("p", { class: "wb-note", text: plain(domain.description) }) : null,
    el("div", { class: "ts-tables" }, tables),
    invariants.length
      ? panel("Holds of every record", "before and after each write", el("ul", { class: "ts-lines" }, invariants))
      : null,
    parametersPanel(domain.policy_parameters_list),
  ];
}

function tablePanel(table, page) {
  const twins = table.twins
    ? el("p", { class: "wb-note" }, `${count(table.twins)} look like another one in ${table.look_alike.map(plain).join(", ")}.`)
    : null;
  return el(
    "section",
    { class: "wb-panel", "aria-label": `Table ${plain(table.name)}` },
    el(
      "header",
      {},
      el("h2", { class: "wb-mono", text: plain(table.name) }),
      el("p", { text: plain(table.description) }),
      el("span", { class: "wb-sp" }),
      page.link({ view: "records", table: table.name }, { class: "wb-link" }, plural(table.records, "record")),
    ),
    table.machine ? machineFigure(table) : null,
    el(
      "div",
      { class: "ts-scroll", tabindex: "0", role: "region", "aria-label": `Fields of ${plain(table.name)}` },
      el(
        "table",
        { class: "wb-tbl tight" },
        el("caption", { class: "wb-sr", text: `Fields of ${plain(table.name)}` }),
        el("thead", {}, el("tr", {}, ["Field", "Type", "Notes"].map((word) => el("th", { scope: "col", text: word })))),
        el("tbody", {}, table.fields.flatMap((field) => fieldRows(field, table))),
      ),
    ),
    twins,
  );
}

function fieldRows(field, table, depth = 0) {
  const notes = [
    depth === 0 && field.name === table.key ? tag("key", "Names the record") : null,
    depth === 0 && field.name === table.owner ? tag("owner", "Whose record it is") : null,
    depth === 0 && table.look_alike.includes(field.name) ? tag("look-alike", "Records that a user may confuse agree in it") : null,
    field.optional ? tag("optional", "It may be empty") : null,
    field.unordered ? tag("unordered", "Compared as a set, whatever the order") : null,
    field.free ? tag("free text", "Not compared when a run is judged") : null,
  ];
  const row = el(
    "tr",
    {},
    el("th", { scope: "row", class: `wb-mono ts-depth${depth}`, text: plain(field.name) }),
    el("td", {}, typeWords(field)),
    el("td", { class: "ts-notes" }, notes, field.description ? el("span", { class: "wb-note", text: plain(field.description) }) : null),
  );
  return [row, ...field.fields.flatMap((inner) => fieldRows(inner, table, depth + 1))];
}

function typeWords(field) {
  const words = field.references ? `→ ${field.references}` : field.values.length ? field.values.join(" | ") : field.type;
  return plain(field.unit ? `${words} (${field.unit})` : words);
}

function parametersPanel(parameters) {
  if (!parameters.length) return null;
  const row = (one) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", class: "wb-mono", text: plain(one.name) }),
      el("td", { class: "n", text: plain(one.value) }),
      el("td", { class: "wb-mut", text: one.choices.map(plain).join(", ") }),
      el("td", { class: "wb-mut", text: one.held_out.map(plain).join(", ") }),
      el("td", { class: "ts-wide", text: plain(one.what) }),
    );
  const head = ["Parameter", "Value", "Drawn in training", "Kept for evaluation", "What it says"];
  return panel(
    "Policy parameters",
    "numbers that predicates and policy share",
    el(
      "div",
      { class: "ts-scroll", tabindex: "0", role: "region", "aria-label": "Policy parameters and their values" },
      el(
        "table",
        { class: "wb-tbl tight" },
        el("caption", { class: "wb-sr", text: "Policy parameters" }),
        el("thead", {}, el("tr", {}, head.map((word) => el("th", { scope: "col", class: word === "Value" ? "n" : null, text: word })))),
        el("tbody", {}, parameters.map(row)),
      ),
    ),
  );
}

// ---- a status field as a small graph: columns by how far a state is from the first one
function machineFigure({ name, machine }) {
  const at = columns(machine);
  const wide = Math.max(...machine.states.map((state) => state.name.length)) * 6.6 + 52;
  const [gap, high, step] = [46, 24, 34];
  const rows = new Map();
  const place = new Map();
  for (const state of machine.states) {
    const column = at.get(state.name);
    const row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    place.set(state.name, { x: 1 + column * (wide + gap), y: 6 + row * step });
  }
  const width = (Math.max(...at.values()) + 1) * (wide + gap) - gap + 30;
  const height = Math.max(...rows.values()) * step + 4;
  const box = (state) => {
    const { x, y } = place.get(state.name);
    return svg(
      "g",
      {},
      svg("rect", { class: `ts-state${state.name === machine.initial ? " first" : ""}${state.given ? " given" : ""}`, x, y, width: wide, height: high, rx: 6 }),
      svg("text", { class: "ink", x: x + 10, y: y + 16, text: plain(state.name) }),
      svg("text", { x: x + wide - 10, y: y + 16, "text-anchor": "end", text: count(state.records) }),
    );
  };
  const arrow = ([old, next]) => {
    const [from, to] = [place.get(old), place.get(next)];
    const [y1, y2] = [from.y + high / 2, to.y + high / 2];
    if (from.x === to.x) {
      const x = from.x + wide;
      return svg("path", { class: "ts-move", "marker-end": `url(#ts-arrow-${name})`, d: `M${x} ${y1}C${x + 26} ${y1} ${x + 26} ${y2} ${x + 3} ${y2}` });
    }
    const [x1, x2] = from.x < to.x ? [from.x + wide, to.x - 3] : [from.x, to.x + wide + 3];
    const middle = (x1 + x2) / 2;
    return svg("path", { class: "ts-move", "marker-end": `url(#ts-arrow-${name})`, d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` });
  };
  const words = machine.moves.map(([old, next]) => `${old} to ${next}`).join(", ") || "no operation changes it";
  return el(
    "figure",
    { class: "ts-machine" },
    el("figcaption", { class: "wb-note" }, el("b", { class: "wb-mono", text: plain(machine.field) }), " and how many records stand in each state"),
    el(
      "div",
      { class: "ts-scroll", tabindex: "0", role: "region", "aria-label": `States of ${plain(name)}` },
      svg(
        "svg",
        { class: "wb-chart ts-graph", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": `${plain(machine.field)} of ${plain(name)}: ${plain(words)}` },
        svg("defs", {}, svg("marker", { id: `ts-arrow-${name}`, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { class: "ts-head", d: "M0 0 8 4 0 8z" }))),
        machine.moves.map(arrow),
        machine.states.map(box),
      ),
    ),
  );
}

/** The column of each state: steps from states that nothing leads to. */
function columns({ states, moves }) {
  const led = new Set(moves.filter(([old, next]) => old !== next).map(([, next]) => next));
  const at = new Map(states.filter(({ name }) => !led.has(name)).map(({ name }) => [name, 0]));
  if (at.size === 0) at.set(states[0].name, 0);
  for (let round = 0; round < states.length; round += 1)
    for (const [old, next] of moves) if (at.has(old) && !at.has(next)) at.set(next, at.get(old) + 1);
  for (const { name } of states) if (!at.has(name)) at.set(name, 0);
  return at;
}

// ---- operations
export function operationsView(domain) {
  const kinds = ["write", "read", "generic"];
  return kinds.map((kind) => {
    const some = domain.operations.filter((one) => one.kind === kind);
    return some.length
      ? panel({ write: "Writes", read: "Reads", generic: "Concern no record" }[kind], plural(some.length, "operation"), some.map(operationCard))
      : null;
  });
}

function operationCard(one) {
  const enforced = one.rules.filter((rule) => rule.mode === "enforced");
  const policy = one.rules.filter((rule) => rule.mode !== "enforced");
  const rules = (title, note, some) =>
    some.length
      ? el(
          "div",
          {},
          el("h4", { class: "wb-cap", text: title }),
          el("p", { class: "wb-note", text: note }),
          el("ul", { class: "ts-lines" }, some.map((rule) => el("li", { text: plain(rule.text) }))),
        )
      : null;
  return el(
    "details",
    { class: "ts-op" },
    el(
      "summary",
      {},
      icon("cylinder", true),
      el("b", { class: "wb-mono", text: plain(one.name) }),
      readWrite(one.kind),
      el("span", { class: "wb-note lv-cut", text: plain(one.description) }),
      el("span", { class: "wb-sp" }),
      one.rules.length ? el("span", { class: "wb-note", text: `${enforced.length} enforced, ${policy.length} by policy` }) : null,
    ),
    el(
      "div",
      { class: "ts-opbody" },
      el("p", { text: plain(one.description) }),
      el(
        "p",
        { class: "wb-note" },
        one.reads.length ? `Looks at ${one.reads.map(plain).join(", ")}. ` : "",
        one.writes.length ? `Changes ${one.writes.map(plain).join(", ")}.` : "Changes nothing.",
      ),
      parameterTable(one),
      el(
        "div",
        { class: "ts-rules" },
        rules("Enforced", "the operation refuses", enforced),
        rules("By policy only", "nothing refuses: whoever acts must have read it", policy),
        one.effects.length
          ? el("div", {}, el("h4", { class: "wb-cap", text: "What it does" }), el("ul", { class: "ts-lines" }, one.effects.map((text) => el("li", { text: plain(text) }))))
          : null,
      ),
    ),
  );
}

function parameterTable(one) {
  if (!one.parameters.length) return el("p", { class: "wb-note", text: "It takes no arguments." });
  const row = (field) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", class: "wb-mono", text: plain(field.name) }),
      el("td", { text: typeWords(field) }),
      el("td", { class: "ts-notes" }, field.optional ? tag("optional", "It may be left out") : null, el("span", { class: "wb-note", text: plain(field.description) })),
    );
  return el(
    "div",
    { class: "ts-scroll", tabindex: "0", role: "region", "aria-label": `Arguments of ${plain(one.name)}` },
    el(
      "table",
      { class: "wb-tbl tight" },
      el("caption", { class: "wb-sr", text: `Arguments of ${plain(one.name)}` }),
      el("thead", {}, el("tr", {}, ["Argument", "Type", "Notes"].map((word) => el("th", { scope: "col", text: word })))),
      el("tbody", {}, one.parameters.map(row)),
    ),
  );
}

/** The small mark that tells reads from writes. */
export const readWrite = (kind) => el("span", { class: `ts-rw ${kind === "write" ? "write" : "read"}`, text: plain(kind) });

// ---- policy: headings, bullets and paragraphs of our own Markdown, as text
export function policyView(domain) {
  const blocks = plain(domain.policy).split(/\n{2,}/);
  const note = `${count(domain.words)} words, made of the predicates that the operations evaluate`;
  return panel("Policy", note, el("div", { class: "ts-policy" }, blocks.map(policyBlock)));
}

function policyBlock(block) {
  const heading = /^(#{1,3}) (.*)$/.exec(block.trim());
  if (heading) return el(["h3", "h4", "h5"][heading[1].length - 1], { text: heading[2] });
  const lines = block.trim().split("\n");
  if (lines.every((line) => line.startsWith("- "))) return el("ul", { class: "ts-lines" }, lines.map((line) => el("li", {}, coded(line.slice(2)))));
  return el("p", {}, coded(block.trim()));
}

/** Words between backticks in the font of code. */
const coded = (text) => text.split("`").map((part, at) => (at % 2 ? el("code", { class: "wb-mono", text: part }) : part));
