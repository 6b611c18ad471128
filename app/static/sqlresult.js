// A result as a table, and as bars when it is one category and one number.

import { el, put, svg } from "./dom.js";
import { count, plain } from "./format.js";

const NUMBER = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL.*|DOUBLE|FLOAT)$/;
const CATEGORY = /^(VARCHAR|BOOLEAN|DATE|ENUM.*|TIMESTAMP.*)$/;
const MOST_BARS = 40;
const CHUNK = 200;
const LETTER_PX = 7; // of a name beside a bar, at most on average
const NUMBER_PX = 80; // right of the longest bar

const isNumber = (column) => NUMBER.test(column.type);

/** The places of category and number when a result is a chart; null when it is none. */
export function chartable({ columns, rows }) {
  if (columns.length !== 2 || rows.length < 2 || rows.length > MOST_BARS) return null;
  const number = columns.findIndex(isNumber);
  const category = columns.findIndex((column) => CATEGORY.test(column.type));
  if (number < 0 || category < 0) return null;
  return rows.every((row) => row[number] === null || typeof row[number] === "number") ? { category, number } : null;
}

/** One bar a row, from a zero line that negative values pass; unknown has no bar. */
export function chart({ columns, rows }, { category, number }) {
  const values = rows.map((row) => row[number]);
  const low = Math.min(0, ...values.filter((value) => value !== null));
  const high = Math.max(0, ...values.filter((value) => value !== null)) || (low === 0 ? 1 : 0);
  // On a narrow screen the drawing is as wide as the screen, so that its words keep their size.
  const [whole, room, most] = matchMedia("(max-width: 760px)").matches ? [330, 110, 17] : [780, 190, 30];
  const names = rows.map((row) => (row[category] === null ? "(unknown)" : plain(String(row[category]))));
  const left = Math.min(room, 12 + LETTER_PX * Math.max(...names.map((name) => name.length)));
  const wide = whole - left - NUMBER_PX;
  const step = 24;
  const at = (value) => left + (wide * (value - low)) / (high - low);
  const tall = rows.length * step + 8;
  const sentence = `${columns[number].name} by ${columns[category].name}: ${rows.length} bars`;
  return el(
    "figure",
    { class: "qy-chart" },
    svg(
      "svg",
      { class: "wb-chart", viewBox: `0 0 ${whole} ${tall}`, role: "img", "aria-label": plain(sentence) },
      rows.map((row, place) => {
        const [y, value] = [place * step + 4, row[number]];
        const name = names[place];
        const end = value === null ? at(0) : at(value);
        return [
          svg(
            "text",
            { class: "ink", x: left - 8, y: y + 14, "text-anchor": "end" },
            svg("title", {}, name),
            shorten(name, most),
          ),
          value === null
            ? null
            : svg("rect", {
                class: value < 0 ? "qy-neg" : "qy-bar",
                x: Math.min(at(0), end),
                y: y + 3,
                width: Math.max(1, Math.abs(end - at(0))),
                height: step - 8,
                rx: 1,
              }),
          svg("text", { class: "ink b", x: Math.max(end, at(0)) + 6, y: y + 14 }, value === null ? "—" : figure(value)),
        ];
      }),
      svg("path", { class: "ax", d: `M${at(0).toFixed(1)} 0V${tall}` }),
    ),
    el("figcaption", { class: "wb-note", text: plain(`${columns[number].name} by ${columns[category].name}`) }),
  );
}

const shorten = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

/** All rows of an answer; the later ones are drawn as the reader comes near, so that the page stays light. */
export function resultTable({ columns, rows }) {
  if (rows.length === 0)
    return el(
      "div",
      { class: "wb-state" },
      el("h2", { text: "No row" }),
      el("p", { text: "The query is fine, and nothing in the store fits it." }),
    );
  const numeric = columns.map(isNumber);
  const body = el("tbody", {});
  let drawn = 0;
  const more = () => {
    body.append(
      ...rows.slice(drawn, drawn + CHUNK).map((row) =>
        el(
          "tr",
          {},
          row.map((value, place) => el("td", { class: numeric[place] ? "n" : "" }, cell(value, columns[place]))),
        ),
      ),
    );
    drawn = Math.min(rows.length, drawn + CHUNK);
  };
  more();
  const box = el(
    "div",
    { class: "qy-rows", tabindex: "0", role: "region", "aria-label": "Rows of the result" },
    el(
      "table",
      { class: "wb-tbl tight" },
      el("caption", { class: "wb-sr", text: "Result" }),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          columns.map((column, place) =>
            el("th", { scope: "col", class: numeric[place] ? "n" : "", title: column.type, text: plain(column.name) }),
          ),
        ),
      ),
      body,
    ),
  );
  box.addEventListener("scroll", () => {
    while (drawn < rows.length && box.scrollTop + box.clientHeight * 2 > box.scrollHeight) more();
  });
  return box;
}

function cell(value, column) {
  if (value === null)
    return el("span", { class: "wb-mut qy-null", title: "NULL: unknown, or it does not apply", text: "NULL" });
  if (typeof value === "number") return figure(value);
  if (typeof value === "boolean") return String(value);
  if (/^TIMESTAMP/.test(column.type)) return el("time", { datetime: value, title: value, text: moment(value) });
  const text = plain(value);
  if (/^(run_id|id)$/.test(column.name) && /^[0-9A-Z]{10}-[0-9A-Z]{6}$/.test(value))
    return el("a", { class: "wb-link", href: `/trajectories?run=${encodeURIComponent(value)}`, text });
  if (text.length <= 60 && !text.includes("\n")) return text;
  const whole = el("span", {
    class: "qy-long",
    title: "Click to read all of it",
    text: text.slice(0, 60).replaceAll("\n", " ") + "…",
  });
  return el(
    "button",
    {
      type: "button",
      class: "qy-cell",
      "aria-expanded": "false",
      on: { click: (event) => toggle(event.currentTarget, whole, text) },
    },
    whole,
  );
}

function toggle(button, whole, text) {
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(open));
  put(whole, open ? text : text.slice(0, 60).replaceAll("\n", " ") + "…");
  whole.classList.toggle("open", open);
}

/** A point in time to the second; DuckDB gives the ones with a zone in UTC. */
const moment = (value) =>
  value
    .replace("T", " ")
    .replace(/\.\d+/, "")
    .replace(/\+00:00$/, " UTC");

/** A number as exact as it helps: whole ones grouped, others with four significant digits. */
function figure(value) {
  if (Number.isInteger(value)) return count(value).replace("-", "\u2212");
  const digits = Math.abs(value) >= 1000 ? 0 : 4;
  const text = digits === 0 ? count(Math.round(value)) : String(Number(value.toPrecision(digits)));
  return text.replace("-", "\u2212");
}
