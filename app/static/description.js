// What describes a model, in versions: who wrote it from which runs, a measured profile beside it, editing and using.

import { el, put } from "./dom.js";
import { count, percent, plain, plural, seconds, unknown, usd } from "./format.js";
import { simulatedBadge } from "./marks.js";
import { Refused, getJson, postJson, putJson } from "./server.js";
import { again, alertOf } from "./toolmarks.js";

const MOST = 700;

export class DescriptionCard {
  /** `changed` is called when the tool is offered by another text. */
  constructor(row, changed) {
    this.path = `/api/tools/${encodeURIComponent(row.id)}/description`;
    this.id = row.id;
    this.changed = changed;
    this.body = el("div", { class: "td-body" });
    this.said = el("div", { role: "status" });
    this.node = el("section", { class: "td", "aria-label": "Description" }, el("h3", { class: "wb-cap", text: "Description" }), this.body, this.said);
    this.load();
  }

  async load() {
    try {
      this.found = await getJson(this.path);
      this.draw();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      put(this.body, alertOf("The descriptions could not be read.", error.message), again(error, () => this.load()));
    }
  }

  draw() {
    const { history, in_use: used } = this.found;
    const newest = history[0] ?? null;
    const shown = history.find((one) => one.version === used) ?? newest;
    put(
      this.body,
      el("p", { class: "wb-note", text: used ? `Offered by version ${used}, which is what the orchestrator reads.` : "Offered by the description that ships." }),
      newest ? null : el("p", { class: "wb-note" }, "Nobody has described it. Have another model do it: ", el("code", { text: `orchestra describe ${plain(this.id)}` })),
      shown ? this.version(shown, used) : null,
      this.editor(),
      history.length > 1 || used ? this.versions(history, used) : null,
    );
  }

  version(one, used) {
    return [
      one.version === used ? null : el("blockquote", { class: "tp-reads", tabindex: "0", text: plain(one.text) }),
      el("p", { class: "wb-note", text: origin(one) }),
      one.evidence ? profile(one.evidence, this.id) : null,
      one.version === used ? null : button(`Offer it by version ${one.version}`, () => this.use(one.version)),
    ];
  }

  versions(history, used) {
    return el(
      "details",
      { class: "td-history" },
      el("summary", { class: "wb-note", text: plural(history.length, "version") }),
      el(
        "ol",
        { reversed: true },
        history.map((one) =>
          el(
            "li",
            {},
            el("p", {}, el("b", { text: `${one.version} ` }), plain(one.text)),
            el("p", { class: "wb-note", text: origin(one) }),
            el(
              "div",
              { class: "td-btns" },
              one.version === used ? el("span", { class: "wb-chip ok", text: "in use" }) : button(`Use ${one.version}`, () => this.use(one.version)),
              one === history[0] ? null : button(`Restore ${one.version}`, () => this.keep(`${this.path}/restore/${one.version}`, {}, "Restored")),
            ),
          ),
        ),
      ),
      used ? button("Use what ships", () => this.use(null)) : null,
    );
  }

  editor() {
    const text = this.found.history[0]?.text ?? this.found.reads;
    const left = el("span", { class: "wb-note" });
    const input = el("textarea", {
      rows: 4,
      maxlength: MOST,
      "aria-label": "New description",
      value: plain(text),
      on: {
        input: () => put(left, `${count(MOST - input.value.length)} characters left`),
        keydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.requestSubmit(),
      },
    });
    const form = el(
      "form",
      {
        class: "td-form",
        on: {
          submit: (event) => {
            event.preventDefault();
            this.keep(this.path, { text: input.value }, "Kept");
          },
        },
      },
      input,
      el("div", { class: "td-btns" }, el("button", { class: "wb-btn sm", type: "submit", text: "Keep as a new version" }), el("kbd", { text: "Ctrl Enter" }), left),
    );
    return el("details", { class: "td-edit", open: false }, el("summary", { class: "wb-note", text: "Write another version" }), form);
  }

  keep(path, body, word) {
    return this.act(async () => {
      const made = await postJson(path, body);
      return `${word} as version ${made.version}; it is not in use until you say so.`;
    });
  }

  use(version) {
    return this.act(async () => {
      await putJson(this.path, { version });
      await this.changed();
      return version ? `New runs are offered it by version ${version}.` : "New runs are offered it by what ships.";
    });
  }

  async act(does) {
    try {
      const words = await does();
      await this.load();
      put(this.said, el("p", { class: "wb-note", text: words }));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      put(this.said, alertOf("Nothing changed.", error.message));
    }
  }
}

const button = (text, act) => el("button", { class: "wb-btn sm", type: "button", text, on: { click: act } });

function origin(one) {
  const how = one.of === null ? one.how : `${one.how} from version ${one.of}`;
  const cut = one.cut_from ? `, cut from ${count(one.cut_from)} characters` : "";
  return `Version ${one.version}, ${how} by ${plain(one.by)} on ${one.at.slice(0, 10)}${cut}`;
}

/** What was measured on the runs that a description was written from, by kind of task. */
function profile(evidence, tool) {
  const { measured } = evidence;
  const kinds = [...Object.entries(measured.kinds).sort(([a], [b]) => (a < b ? -1 : 1)), ["all", measured.right]];
  const cost = measured.cost_usd;
  const time = measured.latency_s;
  const tag = new URLSearchParams({ tag: "describe", tool });
  return [
    el(
      "table",
      { class: "td-profile" },
      el("caption", { class: "wb-note" }, `Measured on ${plural(evidence.tasks.length, "training task")} of ${plain(evidence.source)}, seed ${evidence.seed} `, evidence.simulated ? simulatedBadge() : null),
      el("thead", {}, el("tr", {}, ["kind", "right", "of", "95 %"].map((word) => el("th", { scope: "col", text: word })))),
      el(
        "tbody",
        {},
        kinds.map(([kind, one]) =>
          el(
            "tr",
            {},
            el("th", { scope: "row", text: plain(kind) }),
            el("td", {}, one.rate === null ? unknown("nothing of it could be graded") : `${percent(one.rate)} %`),
            el("td", { text: count(one.of) }),
            el("td", {}, one.low === null ? unknown("nothing of it could be graded") : `${percent(one.low)} to ${percent(one.high)}`),
          ),
        ),
      ),
    ),
    el(
      "p",
      { class: "wb-note" },
      "A call takes ",
      spread(time, seconds),
      " and costs ",
      spread(cost, usd),
      `; ${count(measured.ungraded)} ungraded, ${count(measured.faults)} without an answer, ${count(measured.unpriced)} unpriced. `,
      el("a", { class: "wb-link", href: `/trajectories?${tag}`, text: "The runs behind it" }),
    ),
  ];
}

function spread(found, write) {
  if (found === null) return unknown("no call has a known figure");
  const ends = found.low === null ? "" : ` [${write(found.low)}, ${write(found.high)}]`;
  return `${write(found.p50)}${ends} (n ${count(found.of)})`;
}
