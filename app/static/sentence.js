// The sentence that the model will read: made from the sliders, or the user's own words in its place.

import { byId } from "./dom.js";
import { plain } from "./format.js";
import { Refused, postJson } from "./server.js";

const MAX_CHARS = 600;
const TYPING_MS = 80;

export class Sentence {
  /** `preference()` gives the sliders as the server reads them; `onChange` is told of own words. */
  constructor(preference, onChange) {
    this.preference = preference;
    this.onChange = onChange;
    this.own = null;
    this.made = "";
    this.timer = 0;
    this.asking = null;
    const field = byId("own-words");
    field.maxLength = MAX_CHARS;
    field.addEventListener("input", () => this.write(field.value));
    byId("sentence-edit").addEventListener("click", () => this.edit());
    byId("sentence-reset").addEventListener("click", () => this.reset());
  }

  /** Own words, or null for the generated sentence. */
  set(own) {
    this.own = own;
    byId("own-words").value = own ?? "";
    this.draw();
  }

  /** Begin with the words that the sliders make now, which may still be on their way. */
  async edit() {
    clearTimeout(this.timer);
    await this.ask();
    this.set(this.own ?? this.made);
    byId("own-words").focus();
    this.onChange();
  }

  write(text) {
    this.own = text;
    this.draw();
    this.onChange();
  }

  reset() {
    this.set(null);
    this.onChange();
    byId("sentence-edit").focus();
  }

  draw() {
    const own = this.own !== null;
    byId("own").hidden = !own;
    byId("sentence").hidden = own;
    byId("sentence-edit").hidden = own;
    byId("sentence-reset").hidden = !own;
    const left = `${(this.own ?? "").length} of ${MAX_CHARS} characters`;
    byId("own-count").textContent = this.own?.trim() ? left : `${left}; the model reads no wish`;
  }

  /** The sliders have moved: ask for their sentence once they rest. */
  moved() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.ask(), TYPING_MS);
  }

  async ask() {
    this.asking?.abort();
    this.asking = new AbortController();
    const { signal } = this.asking;
    try {
      const { sentence } = await postJson("/api/preference", { preference: this.preference() }, signal);
      if (signal.aborted) return;
      this.made = sentence;
      byId("sentence").textContent = sentence ? `“${plain(sentence)}”` : "Nothing: no wish is set.";
    } catch (error) {
      if (signal.aborted) return; // also while its answer is still being read
      if (!(error instanceof Refused)) throw error;
      byId("sentence").textContent = `The sentence is not known: ${error.message}`;
    }
  }
}
