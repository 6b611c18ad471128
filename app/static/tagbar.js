// The tags of one trajectory: what it has, each with a cross, and a field for another.

import { el } from "./dom.js";
import { plain } from "./format.js";
import { Refused, getJson, postJson, runPath } from "./server.js";

export class TagBar {
  /** Of the run `id`; `onTagged()` hears that its tags were changed here. Nothing is shown before `load`. */
  constructor(id, onTagged) {
    this.id = id;
    this.onTagged = onTagged;
    this.field = el("input", {
      id: "tag-new",
      type: "text",
      maxlength: 40,
      placeholder: "+ tag",
      "aria-label": "New tag",
      autocomplete: "off",
      on: {
        keydown: (event) => {
          if (event.key === "Enter" && this.field.value.trim()) this.set(this.field.value.trim(), true);
        },
      },
    });
    this.list = el("span", { class: "rc-tags" });
    this.said = el("span", { class: "wb-note", id: "tag-said", role: "status" });
    this.node = el("div", { class: "wb-tile" }, el("span", { class: "l", text: "Tags" }), this.list, this.said);
    this.list.append(this.field, el("kbd", { text: "a" }));
  }

  async load() {
    const { tags } = await getJson(runPath(this.id, "/tags")).catch(() => ({ tags: [] }));
    this.show(tags);
  }

  show(tags) {
    for (const old of this.list.querySelectorAll(".wb-tag")) old.remove();
    this.list.prepend(...tags.map((tag) => this.tag(tag)));
  }

  tag(name) {
    return el(
      "span",
      { class: "wb-tag" },
      plain(name),
      el("button", {
        class: "rc-untag",
        type: "button",
        "aria-label": `Take the tag ${plain(name)} away`,
        text: "×",
        on: { click: () => this.set(name, false) },
      }),
    );
  }

  async set(tag, on) {
    try {
      const { tags } = await postJson("/api/trajectories/tags", { runs: [this.id], tag, on });
      this.said.textContent = "";
      this.show(tags[this.id] ?? []);
      if (on) this.field.value = "";
      else (this.list.querySelector("button") ?? this.field).focus(); // the cross that was pressed is gone
      this.onTagged();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      this.said.textContent = error.message;
    }
  }

  focus() {
    this.field.focus();
    return true;
  }
}
