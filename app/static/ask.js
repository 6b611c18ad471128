// A question in a dialog that waits for its answer.

import { byId, el, put } from "./dom.js";

/**
 * Ask in the dialog `ask` of the page; resolves with what was typed (or true), or with null. `no` is the word of the
 * button that leaves everything as it is; a question for a name is cancelled.
 */
export function ask({ title, words = null, field = null, yes, no = field ? "Cancel" : "Keep as it is", danger = false }) {
  const dialog = byId("ask");
  const input = field ? el("input", { type: "text", maxlength: 40, autocomplete: "off" }) : null;
  return new Promise((resolve) => {
    const close = (value) => {
      resolve(value);
      dialog.close();
    };
    const form = el(
      "form",
      {
        on: {
          submit: (event) => {
            event.preventDefault();
            close(input ? input.value.trim() : true);
          },
        },
      },
      el("h2", { id: "ask-title", text: title }),
      words ? el("p", { class: "wb-note", text: words }) : null,
      input ? el("label", { class: "rc-field" }, el("span", { text: field }), el("span", { class: "wb-in" }, input)) : null,
      el(
        "div",
        { class: "rc-ask" },
        el("button", { class: "wb-btn", type: "button", text: no, on: { click: () => close(null) } }),
        el("button", { class: `wb-btn ${danger ? "danger" : "primary"}`, type: "submit", text: yes }),
      ),
    );
    put(dialog, form);
    dialog.addEventListener("close", () => resolve(null), { once: true });
    dialog.showModal();
  });
}
