// The bill as a table.

import { el } from "./dom.js";
import { cost, count, figure, plain, tokenCount, unknown, usd } from "./format.js";
import { kindBox } from "./marks.js";
import { lasted } from "./times.js";

/** The bill as a table, a row per payee and priced name, with the price row behind each sum. */
export function billTable(run) {
  const { bill, setting } = run;
  const header = [["Payee"], ["Tries", "n"], ["Tok in", "n"], ["Tok out", "n"], ["Cost", "n"], ["Sec", "n"]];
  const rows = bill.rows.flatMap((row) => [
    el(
      "tr",
      { class: "lv-payee" },
      el(
        "td",
        {},
        el(
          "span",
          { class: "lv-payee-name" },
          kindBox(row.kind, row.payee),
          el("span", { class: "lv-cut", text: plain(row.title) }),
        ),
      ),
      number(count(row.attempts)),
      number(row.uses_tokens ? tokenCount(row.input_tokens) : ""),
      number(row.uses_tokens ? tokenCount(row.output_tokens) : ""),
      number(cost(row.cost)),
      number(lasted(row.wall_s, figure)),
    ),
    el(
      "tr",
      { class: "lv-price" },
      el(
        "td",
        { colspan: 6, title: plain(row.source ?? "") },
        row.price
          ? `${plain(row.priced_as)}: ${row.price}`
          : [`${plain(row.priced_as)}: `, unknown(`no row in ${setting.prices.name}`)],
      ),
    ),
  ]);
  const sum = bill.cost_usd === null ? unknown(bill.why) : usd(bill.cost_usd);
  return el(
    "table",
    { class: "wb-tbl tight lv-bill-table" },
    el("caption", { class: "wb-sr", text: "Bill by payee" }),
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        header.map(([name, look]) => el("th", { class: look ?? null, scope: "col", text: name })),
      ),
    ),
    el("tbody", {}, rows),
    el(
      "tfoot",
      {},
      el(
        "tr",
        {},
        el("td", { text: "Total" }),
        number(count(bill.attempts)),
        number(tokenCount(bill.input_tokens)),
        number(tokenCount(bill.output_tokens)),
        number(sum),
        number(lasted(bill.wall_s, figure)),
      ),
    ),
  );
}

const number = (...value) => el("td", { class: "n" }, value);
