// The MCP servers of Tools & prices: what each offers, how it is, and how to be rid of it.

import { command } from "./command.js";
import { byId, el, put } from "./dom.js";
import { count, plain, seconds, unknown } from "./format.js";
import { Refused, deleteJson, getJson, postJson } from "./server.js";
import { ask } from "./ask.js";
import { alertOf } from "./toolmarks.js";

const path = (name, rest = "") => `/api/mcp/${encodeURIComponent(name)}${rest}`;

export class McpServers {
  /** `changed` is called when tools have come or gone. */
  constructor(changed) {
    this.changed = changed;
    this.asking = new Set();
    this.servers = null; // not read
  }

  async load() {
    try {
      const found = await getJson("/api/mcp");
      this.servers = found.servers;
      put(byId("mcp-problem"), found.broken ? alertOf("MCP servers cannot be read.", plain(found.broken)) : null);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      put(byId("mcp-problem"), alertOf("MCP servers cannot be read.", error.message));
    }
    this.draw();
  }

  draw() {
    if (this.servers === null) return;
    const tools = this.servers.reduce((sum, server) => sum + server.tools.length, 0);
    byId("mcp-count").textContent = this.servers.length ? `${count(tools)} tools of third parties` : "";
    put(byId("mcp"), this.servers.length ? this.table() : nothing());
  }

  table() {
    const head = ["Server", "Health", ["Tools"], ["A call"], ["At most"], "Actions"];
    const cell = (word) =>
      el("th", {
        scope: "col",
        class: Array.isArray(word) ? "n" : null,
        text: Array.isArray(word) ? word[0] : word,
      });
    return el(
      "table",
      { class: "wb-tbl tp-tbl" },
      el("caption", { class: "wb-sr", text: "MCP servers" }),
      el("thead", {}, el("tr", {}, head.map(cell))),
      el(
        "tbody",
        {},
        this.servers.map((server) => this.row(server)),
      ),
    );
  }

  row(server) {
    const name = plain(server.name);
    const asking = this.asking.has(server.name);
    return el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        el("b", { text: name }),
        el("span", { class: "lv-cut tp-where wb-mut", title: plain(server.place), text: plain(server.place) }),
      ),
      el("td", { class: "tp-health" }, asking ? el("span", { class: "wb-mut", text: "asking…" }) : health(server)),
      el("td", { class: "n" }, count(server.tools.length), refused(server)),
      el("td", { class: "n" }, server.call_usd === null ? unknown("no --price was given for it") : `$${server.call_usd}`),
      el("td", { class: "n" }, seconds(server.timeout_s)),
      el(
        "td",
        {},
        el(
          "span",
          { class: "tp-s" },
          el("button", {
            class: "wb-btn sm",
            disabled: asking,
            "aria-label": `Check ${name}`,
            text: "Check",
            on: { click: () => this.check(server.name) },
          }),
          el("button", {
            class: "wb-btn sm",
            "aria-label": `Remove ${name}`,
            text: "Remove",
            on: { click: () => this.remove(server.name) },
          }),
        ),
      ),
    );
  }

  async check(name) {
    this.asking.add(name);
    this.draw();
    try {
      await postJson(path(name, "/check"), {});
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
    }
    this.asking.delete(name);
    await this.load();
    this.changed();
    byId("mcp").querySelector(`[aria-label="${CSS.escape(`Check ${plain(name)}`)}"]`)?.focus();
  }

  async remove(name) {
    const sure = await ask({
      title: `Remove ${plain(name)}?`,
      words: "It is taken out of mcp.toml, and its tools out of the catalogue. Runs and their trajectories stay.",
      yes: "Remove",
      no: "Keep it",
      danger: true,
    });
    if (!sure) return;
    await deleteJson(path(name));
    await this.load();
    this.changed();
    byId("main").focus();
  }
}

function health(server) {
  if (server.problem) return el("span", { class: "tp-bad tp-why", text: plain(server.problem) });
  return el("span", server.checked ? { text: "ok" } : { class: "wb-mut", text: "not asked yet" });
}

function refused(server) {
  const names = Object.keys(server.refused);
  if (names.length === 0) return null;
  const why = names.map((name) => `${plain(name)}: ${plain(server.refused[name])}`).join("\n");
  return el("span", { class: "wb-mut", title: why, text: ` + ${names.length} left out` });
}

function nothing() {
  return el(
    "p",
    { class: "wb-note tp-none" },
    "None yet. A terminal adds one: ",
    command("orchestra tools add-mcp NAME -- COMMAND"),
    ". Its tools then stand in the catalogue.",
  );
}
