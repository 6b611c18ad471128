// A form made from a tool's JSON schema, and one call by hand, which is kept and billed like any other.

import { el, put } from "./dom.js";
import { cost, plain, seconds } from "./format.js";
import { icon } from "./icons.js";
import { Refused, follow, postJson, runPath } from "./server.js";

export class TryOut {
  /** `prices()` names the price table; `done()` is told when a call has ended. */
  constructor(row, prices, done) {
    this.row = row;
    this.prices = prices;
    this.done = done;
    this.going = null;
    const schema = row.reads.parameters;
    const required = new Set(schema.required ?? []);
    this.fields = Object.entries(schema.properties ?? {}).map(([name, part]) => field(name, part, required.has(name)));
    this.problem = el("p", { class: "tp-bad", role: "alert", hidden: true });
    this.result = el("div", { class: "tp-result", role: "status" });
    this.call = el("button", { class: "wb-btn primary sm", id: "try" }, "Call it");
    this.stop = el("button", {
      class: "wb-btn danger sm",
      type: "button",
      hidden: true,
      text: "Stop",
      on: { click: () => this.halt() },
    });
    this.node = el(
      "form",
      { class: "tp-try", "aria-label": "Try it out", novalidate: true, on: { submit: (event) => this.submit(event) } },
      el(
        "h3",
        { class: "wb-cap" },
        "Try it out",
        el("span", { class: "lv-plain", text: "one call, kept as a trajectory" }),
      ),
      this.fields.map((one) => one.node),
      this.fields.length === 0 ? el("p", { class: "wb-note", text: "It takes no arguments." }) : null,
      this.problem,
      el("div", { class: "lv-actions" }, this.call, this.stop),
      this.result,
    );
  }

  setRow(row) {
    this.row = row;
    this.call.disabled = row.off !== null || this.going !== null;
    this.call.title = row.off ?? "";
  }

  say(words) {
    this.problem.hidden = words === null;
    this.problem.textContent = words === null ? "" : plain(words);
  }

  async submit(event) {
    event.preventDefault();
    this.say(null);
    const given = {};
    for (const one of this.fields) {
      try {
        const value = one.read();
        if (value !== undefined) given[one.name] = value;
      } catch (error) {
        this.say(`${one.name}: ${error.message}`);
        one.focus();
        return;
      }
    }
    await this.run(given);
  }

  async run(given) {
    const words = `Try ${this.row.title} out: ${JSON.stringify(given)}`;
    const order = {
      task: words.slice(0, 2000),
      orchestrator: "try-out",
      tools: [this.row.id],
      arguments: given,
      prices: this.prices(),
    };
    this.call.disabled = true;
    try {
      const { id } = await postJson("/api/runs", order);
      this.watch(id);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.say(error.message);
      this.call.disabled = this.row.off !== null;
    }
  }

  watch(id) {
    this.going = id;
    this.stop.hidden = false;
    put(
      this.result,
      el("p", { class: "wb-note" }, el("span", { class: "wb-chip run" }, el("i", { class: "dot" }), "calling"), ""),
    );
    let seen = null;
    follow(id, {
      frame: (event) => {
        if (event.kind === "call_finished") seen = event;
      },
      clock: () => {},
      broken: (message) => this.say(message),
      lost: () => {},
      back: () => {},
      unknown: (message) => this.end(id, seen, message),
      end: () => this.end(id, seen),
    });
  }

  end(id, seen, message = null) {
    this.going = null;
    this.stop.hidden = true;
    this.call.disabled = this.row.off !== null;
    if (message) this.say(message);
    put(this.result, seen ? outcome(id, seen) : null);
    this.done();
  }

  async halt() {
    if (this.going) await postJson(runPath(this.going, "/stop"), {});
  }
}

function outcome(id, event) {
  const seen = event.observation;
  const ok = seen.status === "ok";
  const files = seen.artefacts.length;
  return [
    el(
      "div",
      { class: "tp-out-head" },
      el("span", { class: `wb-chip ${ok ? "ok" : "bad"}` }, icon(ok ? "check" : "cross", true), seen.status),
      el("span", { class: "wb-num", text: seconds(seen.finished_s - seen.started_s) }),
      el("span", { class: "wb-num" }, cost(event.derived.cost)),
      el("span", { class: "wb-sp" }),
      el("a", {
        class: "wb-link",
        href: `/trajectories?run=${encodeURIComponent(id)}`,
        text: files ? `open, with ${files} file${files > 1 ? "s" : ""}` : "open the trajectory",
      }),
    ),
    el("pre", { class: "wb-args tp-out", tabindex: "0", text: plain(seen.text) || "(nothing)" }),
    event.derived.cut ? el("p", { class: "wb-note", text: "The beginning; the trajectory has all of it." }) : null,
  ];
}

const typesOf = (schema) => [schema.type ?? []].flat();

/** One field: its label, its control, and `read`, which throws an Error in words for what cannot be meant. */
function field(name, schema, required) {
  const id = `try-${name}`;
  const kind = kindOf(schema);
  const make = { choice, flag, number, text, json }[kind];
  const control = make(id, schema, required);
  const hint = [schema.description, ranges(schema)].filter(Boolean).join(" ");
  const note = el("p", { class: "wb-note", id: `${id}-note`, text: plain(hint) });
  control.input.setAttribute("aria-describedby", note.id);
  if (required) control.input.setAttribute("aria-required", "true");
  const label = el(
    "label",
    { for: id, class: "tp-label" },
    el("b", { text: plain(name) }),
    el("span", {
      class: "wb-mut",
      text: ` ${
        kind === "choice"
          ? "one of"
          : kind === "json"
            ? `${typesOf(schema).join(" or ") || "any"}, as JSON`
            : typesOf(schema)
                .filter((type) => type !== "null")
                .join(" or ")
      }${required ? "" : ", optional"}`,
    }),
  );
  return {
    name,
    node: el("div", { class: "tp-field" }, label, control.node, hint ? note : null),
    read: control.read,
    focus: () => control.input.focus(),
  };
}

function kindOf(schema) {
  if (Array.isArray(schema.enum)) return "choice";
  const types = typesOf(schema).filter((type) => type !== "null");
  if (types.length !== 1) return "json";
  return { boolean: "flag", integer: "number", number: "number", string: "text" }[types[0]] ?? "json";
}

function ranges(schema) {
  const parts = [];
  if (schema.minimum !== undefined) parts.push(`at least ${schema.minimum}`);
  if (schema.maximum !== undefined) parts.push(`at most ${schema.maximum}`);
  if (schema.default !== undefined) parts.push(`${JSON.stringify(schema.default)} when left empty`);
  return parts.length ? `(${parts.join(", ")})` : "";
}

function choice(id, schema, required) {
  const input = el(
    "select",
    { id },
    required ? null : el("option", { value: "", text: "(left out)" }),
    schema.enum.map((value, place) =>
      el("option", { value: String(place), text: plain(typeof value === "string" ? value : JSON.stringify(value)) }),
    ),
  );
  const node = el("span", { class: "wb-sel lv-pick" }, input);
  return { input, node, read: () => (input.value === "" ? undefined : schema.enum[Number(input.value)]) };
}

function flag(id, schema, required) {
  const values = { true: true, false: false };
  const input = el(
    "select",
    { id },
    required ? null : el("option", { value: "", text: "(left out)" }),
    ["true", "false"].map((word) => el("option", { value: word, text: word })),
  );
  return { input, node: el("span", { class: "wb-sel lv-pick" }, input), read: () => values[input.value] };
}

function number(id, schema) {
  const input = el("input", { id, type: "text", inputmode: "decimal", autocomplete: "off" });
  const read = () => {
    const written = input.value.trim();
    if (written === "") return undefined;
    const value = Number(written);
    if (!Number.isFinite(value)) throw new Error(`${written.slice(0, 40)} is no number`);
    return value;
  };
  return { input, node: el("span", { class: "wb-in" }, input), read };
}

/** What a text field holds is the text; one that is optional and empty is left out. */
function text(id, schema, required) {
  const input = el("textarea", { id, rows: "2", spellcheck: "false", autocomplete: "off" });
  return {
    input,
    node: el("span", { class: "wb-in tp-area" }, input),
    read: () => (input.value === "" && !required ? undefined : input.value),
  };
}

function json(id, schema) {
  const shape = typesOf(schema).includes("array") ? "[]" : "{}";
  const input = el("textarea", {
    id,
    rows: "2",
    spellcheck: "false",
    autocomplete: "off",
    placeholder: shape,
    class: "wb-mono",
  });
  const read = () => {
    if (input.value.trim() === "") return undefined;
    try {
      return JSON.parse(input.value);
    } catch (error) {
      throw new Error(`this is no JSON (${error.message})`);
    }
  };
  return { input, node: el("span", { class: "wb-in tp-area" }, input), read };
}
