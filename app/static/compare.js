// The Compare page: two trajectories aligned by call or turn; what is the same folds away, what differs is marked.
// More than two stand in a matrix.

import { byId, el, put } from "./dom.js";
import { count } from "./format.js";
import { choices, drawRefused } from "./comparechoice.js";
import { compareHead } from "./comparehead.js";
import { drawMany } from "./comparemany.js";
import { CompareRows, openCall, stepDifference } from "./comparerows.js";
import { skeleton } from "./placards.js";
import { Refused, getJson } from "./server.js";
import { Staves } from "./staves.js";
import * as keys from "./keys.js";

class Compare {
  constructor() {
    this.data = null;
    this.rows = new CompareRows();
    addEventListener("popstate", () => this.open());
  }

  get query() {
    return new URLSearchParams(location.search);
  }

  get onlyDifferences() {
    return this.query.get("all") === null;
  }

  go(changes, { replace = false } = {}) {
    const query = this.query;
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) query.delete(name);
      else query.set(name, value);
    }
    history[replace ? "replaceState" : "pushState"](null, "", `/compare?${query}`);
    return this.open();
  }

  async open() {
    const runs = [...new Set(this.query.getAll("run"))];
    if (runs.length > 2) return this.several();
    if (runs.length) return this.go({ a: runs[0], b: runs[1] ?? null, run: null, base: null }, { replace: true });
    const [a, b] = [this.query.get("a"), this.query.get("b")];
    const by = this.by;
    const pair = `${a}\n${b}\n${by}`;
    if (!a || !b) return this.choose(a ?? b, a ? "b" : "a");
    if (this.pair !== pair) {
      this.pair = pair;
      this.data = null; // the two before are no longer drawn
      this.rows = new CompareRows();
      put(byId("compare"), skeleton());
      try {
        const data = await getJson(`/api/compare?${new URLSearchParams({ a, b, by })}`);
        if (this.pair !== pair) return null;
        this.data = data;
        this.frame();
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (this.pair === pair) this.refused(error);
        return null;
      }
    }
    this.drawRows();
    return null;
  }

  get by() {
    return this.query.get("by") === "turn" ? "turn" : "call";
  }

  /** Three and more: facts side by side, marked against a base. */
  async several() {
    const asked = new URLSearchParams([...this.query].filter(([name]) => name === "run" || name === "base")).toString();
    this.pair = asked;
    this.data = null;
    document.title = "Compare · Orchestra Workbench";
    put(byId("compare"), skeleton());
    try {
      const data = await getJson(`/api/compare?${asked}`);
      if (this.pair === asked) drawMany(byId("compare"), data, (base) => this.go({ base }, { replace: true }));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (this.pair === asked) this.refused(error);
    }
    return null;
  }

  async choose(known, missing) {
    this.pair = null;
    this.data = null;
    put(byId("compare"), skeleton());
    try {
      const section = await choices(known, missing);
      if (this.pair === null) put(byId("compare"), section);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      if (this.pair === null) this.refused(error);
    }
  }

  refused(error) {
    this.data = null;
    drawRefused(byId("compare"), error, this.query, () => {
      this.pair = null;
      this.open();
    });
  }

  // ---- two
  frame() {
    document.title = "Compare · Orchestra Workbench";
    put(
      byId("compare"),
      ...compareHead(this.data, () => this.swap()),
      el("section", {
        class: "wb-panel cp-staves",
        id: "staves",
        role: "group",
        "aria-label": "Both scores on one time axis",
      }),
      el("div", { class: "cp-tools", id: "cp-tools" }),
      el("section", { class: "cp-grid", id: "rows", "aria-label": "Calls side by side" }),
    );
    new Staves(byId("staves")).show(this.data);
  }

  swap() {
    const query = this.query;
    if (!this.data) return false;
    this.go({ a: query.get("b"), b: query.get("a") });
    return true;
  }

  drawRows() {
    if (!this.data) return;
    this.drawTools();
    this.rows.draw(byId("rows"), this.data, { only: this.onlyDifferences, byTurn: this.by === "turn" });
  }

  drawTools() {
    const { rows, differences, pairs } = this.data;
    const only = this.onlyDifferences;
    const focused = byId("cp-tools").contains(document.activeElement) ? document.activeElement.textContent : null;
    const button = (text, pressed, changes) =>
      el("button", {
        type: "button",
        "aria-pressed": String(pressed),
        text,
        on: { click: () => this.go(changes, { replace: true }) },
      });
    const choice = (name, ...buttons) =>
      el("span", { class: "wb-seg sm", role: "group", "aria-label": name }, buttons);
    put(
      byId("cp-tools"),
      el("h2", { class: "wb-cap", text: "Aligned by" }),
      choice(
        "What belongs together",
        button("call", this.by === "call", { by: null }),
        button("turn", this.by === "turn", { by: "turn" }),
      ),
      choice(
        "Which calls",
        button(`all ${count(pairs)}`, !only, { all: "1" }),
        button(`differences ${count(differences)}`, only, { all: null }),
      ),
      el("kbd", { text: "d" }),
      pairs > rows.length
        ? el("span", { class: "wb-note", text: `The first ${count(rows.length)} of ${count(pairs)} are here.` })
        : null,
      el("span", { class: "wb-sp" }),
      el("span", { class: "wb-note" }, el("del", { text: "only in A" }), " ", el("ins", { text: "only in B" })),
    );
    if (focused) [...byId("cp-tools").querySelectorAll("button")].find((one) => one.textContent === focused)?.focus();
  }
}

export async function start() {
  const compare = new Compare();
  keys.start({
    ArrowDown: {
      shown: "↓ ↑",
      words: "next difference",
      brief: "next, previous difference",
      run: () => stepDifference(1),
    },
    ArrowUp: { shown: "↑", words: "difference before", run: () => stepDifference(-1) },
    x: { words: "swap A and B", brief: "swap A and B", run: () => compare.swap() },
    a: {
      words: "aligned by call or by turn",
      brief: "by call, by turn",
      run: () => compare.data && compare.go({ by: compare.by === "turn" ? null : "turn" }, { replace: true }),
    },
    d: {
      words: "differences only, or all calls",
      brief: "differences only",
      run: () => compare.data && compare.go({ all: compare.onlyDifferences ? "1" : null }, { replace: true }),
    },
    Enter: { words: "open the call's trajectory", brief: "open trajectory", run: openCall },
  });
  await compare.open();
}
