// The catalogue of Tools & prices: which entries are shown, each with its status, price and what was measured.

import { byId, el, put } from "./dom.js";
import { count, percent, plain, seconds, unknown } from "./format.js";
import { kindBox, simulatedBadge } from "./marks.js";
import { status } from "./toolmarks.js";

const SHOW = {
  all: () => true,
  on: (row) => row.off === null,
  orchestrators: (row) => row.role === "orchestrator",
  tools: (row) => row.role === "tool",
  simulated: (row) => row.simulated,
};

export const sameEntry = (row, picked) => picked !== null && row.role === picked.role && row.id === picked.id;

/** The weights behind an entry, when they are not here. */
export function missingWeights(row, weights) {
  const found = weights.get(row.priced_as[0]);
  return found && found.state !== "ready" ? found : null;
}

export class Catalogue {
  /** `page` tells `query`, `picked`, `rows` and `weights`; its `write` changes the address and `pick` opens a card. */
  constructor(page) {
    this.page = page;
    this.drawn = null;
  }

  shown() {
    const show = SHOW[this.page.query.get("show")] ?? SHOW.all;
    const wanted = (this.page.query.get("q") ?? "").trim().toLowerCase();
    const text = (row) => [row.id, row.title, row.where, row.kind, row.off ? "off" : "ready"].join(" ").toLowerCase();
    const fits = (row) => show(row) && (wanted === "" || text(row).includes(wanted));
    // What can be used comes first; within that the order of the server.
    return this.page.rows.filter(fits).sort((a, b) => (a.off === null ? 0 : 1) - (b.off === null ? 0 : 1));
  }

  draw() {
    const { rows, weights, picked } = this.page;
    const drawn = JSON.stringify([rows, [...weights], picked, location.search]);
    if (drawn === this.drawn) return; // looked at every few seconds: what has the focus must not be drawn anew
    this.drawn = drawn;
    this.drawSegments();
    const on = rows.filter((row) => row.off === null).length;
    byId("ready-count").textContent = `${on} of ${rows.length} ready`;
    const at = document.activeElement?.dataset?.row;
    const some = this.shown();
    put(byId("catalogue"), some.length ? this.table(some) : this.nothing());
    if (at)
      byId("catalogue")
        .querySelector(`[data-row="${CSS.escape(at)}"]`)
        ?.focus();
  }

  /** Nothing was read: how many there are is unknown, and not 0. */
  clear() {
    this.drawn = null;
    put(byId("catalogue"));
  }

  drawSegments() {
    const now = this.page.query.get("show") in SHOW ? this.page.query.get("show") : "all";
    const had = [...byId("show").children].indexOf(document.activeElement);
    put(
      byId("show"),
      Object.keys(SHOW).map((name) => {
        const n = this.page.rows.filter(SHOW[name]).length;
        return el("button", {
          "aria-pressed": String(name === now),
          text: `${name} ${n}`,
          on: { click: () => this.page.write({ show: name === "all" ? null : name }) },
        });
      }),
    );
    byId("show").children[had]?.focus();
  }

  table(rows) {
    const head = ["Name", "Where", "Status", ["Price"], ["Median"], ["Calls"], ["Went well"]];
    return el(
      "table",
      { class: "wb-tbl tp-tbl" },
      el("caption", { class: "wb-sr", text: "Tools and orchestrators" }),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          head.map((word) =>
            Array.isArray(word)
              ? el("th", { scope: "col", class: "n", text: word[0] })
              : el("th", { scope: "col", text: word }),
          ),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) => this.row(row)),
      ),
    );
  }

  row(row) {
    const weights = missingWeights(row, this.page.weights);
    return el(
      "tr",
      {
        class: row.off === null ? "" : "dim",
        "aria-selected": String(sameEntry(row, this.page.picked)),
        on: { click: (event) => event.target.closest("a") ?? event.currentTarget.querySelector("a").click() },
      },
      el(
        "th",
        { scope: "row" },
        el(
          "a",
          {
            class: "tp-n",
            href: this.address(row),
            "data-row": `${row.role}:${row.id}`,
            on: { click: (event) => this.page.pick(event, row) },
          },
          kindBox(row.kind, row.id),
          el("span", { class: "lv-cut", text: plain(row.title) }),
          row.simulated ? simulatedBadge(true) : null,
        ),
      ),
      el(
        "td",
        { class: "wb-mut" },
        el("span", { class: "lv-cut tp-where", title: plain(row.where), text: plain(row.where) }),
      ),
      el("td", {}, status(row, weights)),
      el("td", { class: "n" }, row.price ?? dash(row)),
      el("td", { class: "n" }, median(row)),
      el("td", { class: "n" }, row.use ? count(row.use.ran) : row.role === "tool" ? "0" : ""),
      el("td", { class: "n" }, share(row)),
    );
  }

  address(row) {
    const query = this.page.query;
    query.delete("tool");
    query.delete("orchestrator");
    query.set(row.role, row.id);
    return `/tools?${query}`;
  }

  nothing() {
    return el(
      "div",
      { class: "wb-state" },
      el("h2", { text: "Nothing matches" }),
      el("p", { text: "Drop the search or the choice above." }),
      el("button", {
        class: "wb-btn",
        text: "Show all",
        on: {
          click: () => {
            byId("q").value = "";
            this.page.write({ q: null, show: null });
          },
        },
      }),
    );
  }

  step(by) {
    const links = [...document.querySelectorAll(".tp-n")];
    if (links.length === 0) return false;
    const focused = links.indexOf(document.activeElement);
    const at = focused >= 0 ? focused : links.findIndex((link) => link.closest("tr").ariaSelected === "true");
    const next = links[Math.min(links.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
    next.focus();
    next.scrollIntoView({ block: "nearest" });
    return true;
  }
}

export function skeleton() {
  return Array.from({ length: 8 }, () => el("div", { class: "wb-skel tp-skel" }));
}

function dash(row) {
  if (row.priced_as.length === 0) return "";
  return unknown(`no row for ${row.priced_as.join(", ")} in this price table; a USD limit refuses to start with it`);
}

function median(row) {
  if (row.use?.p50_s !== null && row.use?.p50_s !== undefined) return seconds(row.use.p50_s);
  if (row.role === "orchestrator") return "";
  return unknown("no call went well yet");
}

function share(row) {
  if (!row.use?.ran) return row.role === "tool" ? unknown("not called yet") : "";
  return `${percent(row.use.ok / row.use.ran)} %`;
}
