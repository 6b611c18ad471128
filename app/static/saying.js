// Wishes said in words: read by rules at once, or proposed by a model; the sliders move, and can be moved back.

import { byId, el, put } from "./dom.js";
import { plain, unknown, usd, weight } from "./format.js";
import { nominalBadge } from "./marks.js";
import { Refused, getJson, postJson } from "./server.js";
import { word } from "./slider.js";

const GOALS = { outcome: "Quality", cost: "Low cost", latency: "Low latency" };
const MAX_CHARS = 600;

export class Saying {
  /**
   * `wishes()` gives the sliders as they stand, `title(name)` what a tool is called; `move(wishes)` moves them, and
   * `speak(words)` puts the user's own words in the place of the sentence that the sliders make.
   */
  constructor({ wishes, title, move, speak }) {
    Object.assign(this, { wishes, title, move, speak });
    this.before = null;
    this.asking = null;
    this.models = null;
    byId("say-text").maxLength = MAX_CHARS;
    byId("say").addEventListener("submit", (event) => {
      event.preventDefault();
      this.read();
    });
    byId("say-ask").addEventListener("click", () => (this.asking ? this.asking.abort() : this.ask()));
    byId("say-undo").addEventListener("click", () => this.undo());
    byId("say-speak").addEventListener("click", () => {
      this.speak(this.text);
      this.say("The model will read your words as they are.");
    });
    byId("say-text").addEventListener("focus", () => this.findModels());
  }

  get text() {
    return byId("say-text").value.trim();
  }

  say(text, bad = false) {
    byId("say-status").textContent = plain(text);
    byId("say-status").classList.toggle("bad", bad);
  }

  /** What can be asked; looked for when somebody begins to type. */
  async findModels() {
    if (this.models) return;
    this.models = [];
    try {
      const { models } = await getJson("/api/preference/models");
      this.models = models.filter((one) => one.off === null);
      const off = models.length - this.models.length;
      put(
        byId("say-model"),
        this.models.map((one) => el("option", { value: one.name, text: plain(one.name) })),
        off ? el("option", { disabled: true, text: `${off} more are off, see Tools` }) : null,
      );
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.models = null;
      this.say(`The models are not known: ${error.message}`, true);
    }
    const some = Boolean(this.models?.length);
    byId("say-model").hidden = !some;
    byId("say-ask").disabled = !some;
    byId("say-ask").title = some ? "" : "no language model is here to ask; the Tools page says why";
  }

  /** The words, or null where there are none, which is said. */
  words() {
    if (this.text) return this.text;
    this.say("Say what you prefer, for example: be quick, avoid paid APIs.", true);
    byId("say-text").focus();
    return null;
  }

  async read() {
    const sentence = this.words();
    if (sentence === null) return;
    this.asking?.abort();
    try {
      const found = await postJson("/api/preference/read", { sentence });
      const moved = found.understood.length > 0;
      if (moved) this.apply(found);
      put(byId("say-found"), this.phrases(found));
      this.say(moved ? "The sliders say it now." : "Nothing of it could be weighed; the sliders stay.");
    } catch (error) {
      this.failed(error);
    }
  }

  /** A line for each phrase: what it was taken for, or that it was not understood. */
  phrases({ understood, no_tool, not_understood }) {
    const by = new Map();
    for (const one of understood) by.set(one.words, [...(by.get(one.words) ?? []), one]);
    const line = (kind, words, what) =>
      el("li", { class: `lv-phrase ${kind}` }, el("q", { text: plain(words) }), el("span", {}, what));
    return [
      ...[...by].map(([words, parts]) =>
        line(
          "ok",
          words,
          parts.map((part) => this.taken(part)),
        ),
      ),
      ...no_tool.map((words) => line("moot", words, "understood; no such tool is on offer")),
      ...not_understood.map((words) => line("lost", words, "not understood")),
    ];
  }

  taken({ name, weight: value, overridden }) {
    const text = `${this.named(name)} ${shown(name, value)}`;
    const why = overridden ? "another part of the sentence wins" : null;
    return el("span", { class: "wb-tag", title: why }, overridden ? el("s", { text }) : text);
  }

  named(name) {
    return GOALS[name] ?? plain(this.title(name.replace(/^tool\./, "")));
  }

  /** Have a model propose weights: shown beside those that are, and applied by a press. */
  async ask() {
    const sentence = this.words();
    if (sentence === null) return;
    const model = byId("say-model").value;
    this.asking = new AbortController();
    const { signal } = this.asking;
    byId("say-ask").textContent = "Stop asking";
    put(byId("say-found"));
    this.say(`${model} is asked; this takes a while on a small machine …`);
    try {
      const found = await postJson("/api/preference/propose", { sentence, model }, signal);
      if (found.goals === null) this.say(found.why, true);
      else this.offer(model, found);
    } catch (error) {
      if (signal.aborted) this.say("Not asked any more; the sliders stay.");
      else this.failed(error);
    } finally {
      this.asking = null;
      byId("say-ask").textContent = "Ask model";
    }
  }

  offer(model, found) {
    const now = this.wishes();
    const both = [
      ...Object.entries(found.goals).map(([name, value]) => [name, now.goals[name] ?? 0, value]),
      ...Object.entries(found.tools).map(([name, value]) => [`tool.${name}`, now.tools[name] ?? 0, value]),
    ];
    const lines = both
      .filter(([, from, to]) => from !== to)
      .map(([name, from, to]) =>
        el(
          "li",
          { class: "lv-phrase ok" },
          el("b", { text: this.named(name) }),
          el("span", { class: "wb-tag", text: `${shown(name, from)} → ${shown(name, to)}` }),
        ),
      );
    const accept = el("button", {
      class: "wb-btn primary sm",
      type: "button",
      text: "Move the sliders",
      on: { click: () => this.accept(model, found) },
    });
    const reason = found.reason ? `: ${found.reason}` : "";
    const unpriced = `the table ${found.prices} has no price for it`;
    const spent = found.cost_usd === null ? unknown(unpriced) : usd(found.cost_usd);
    const bill = el("li", { class: "wb-note" }, "Asking cost ", spent, " ", nominalBadge());
    if (lines.length) put(byId("say-found"), lines, bill, el("li", {}, accept));
    else put(byId("say-found"), bill);
    this.say(lines.length ? `${model} proposes${reason}` : `${model} would leave every slider as it is${reason}`);
    if (lines.length) accept.focus();
  }

  accept(model, found) {
    this.apply(found);
    put(byId("say-found"));
    this.say(`The sliders are as ${model} proposed; change what you like.`);
    byId("say-undo").focus();
  }

  apply({ goals, tools }) {
    const now = this.wishes();
    this.before = now;
    this.move({ goals: { ...now.goals, ...goals }, tools: { ...now.tools, ...tools }, sentence: null });
    byId("say-undo").hidden = false;
    byId("say-speak").hidden = false;
  }

  undo() {
    this.move(this.before);
    this.before = null;
    put(byId("say-found"));
    this.say("The sliders are back where they were.");
    byId("say-undo").hidden = true;
    byId("say-speak").hidden = true;
    byId("say-text").focus();
  }

  failed(error) {
    if (!(error instanceof Refused)) throw error;
    this.say(error.message, true);
  }
}

const shown = (name, value) => (name.startsWith("tool.") ? `${word(value)} ${weight(value)}` : weight(value));
