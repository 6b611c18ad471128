// One verdict of a person for several runs, and the lines that have a check or a judge grade them from a terminal.

import { byId, el, put } from "./dom.js";
import { icon } from "./icons.js";
import { plural } from "./format.js";
import { NAME, VERDICTS } from "./gradecard.js";
import { keep, kept } from "./keeping.js";

/** Ask what a person says of these runs; resolves with `{ by, outcome, reason }` or null. */
export function askVerdict(ids) {
  const dialog = byId("ask");
  const field = (value, more) => el("input", { type: "text", value, ...more });
  const labelled = (words, input) => el("label", { class: "rc-field" }, el("span", { text: words }), el("span", { class: "wb-in" }, input));
  const name = field(kept(NAME, ""), { maxlength: 80, autocomplete: "name" });
  const reason = field("", { maxlength: 2000, autocomplete: "off" });
  const said = el("p", { class: "wb-note", role: "status" });
  return new Promise((resolve) => {
    const close = (value) => {
      resolve(value);
      dialog.close();
    };
    const give = (outcome) => {
      const who = name.value.trim();
      if (!who) {
        said.textContent = "Write your name first: a grade says who gave it.";
        name.focus();
        return;
      }
      keep(NAME, who);
      close({ by: `person:${who}`, outcome, reason: reason.value.trim() || null });
    };
    put(
      dialog,
      el("h2", { id: "ask-title", text: `Grade ${plural(ids.length, "run")}` }),
      labelled("Your name", name),
      labelled("Why (optional)", reason),
      el(
        "div",
        { class: "rc-verdicts", role: "group", "aria-label": "Your verdict" },
        VERDICTS.map(([outcome, text]) =>
          el("button", { class: "wb-btn", type: "button", text, on: { click: () => give(outcome) } }),
        ),
      ),
      said,
      el("p", { class: "wb-note rc-terminal", text: "By a check or by a judge, from a terminal; each copies its line:" }),
      el("div", { class: "rc-verdicts" }, line("By a check", ids, "auto", said), line("By a judge", ids, "model:NAME", said)),
      el(
        "div",
        { class: "rc-ask" },
        el("button", { class: "wb-btn", type: "button", text: "Cancel", on: { click: () => close(null) } }),
      ),
    );
    dialog.addEventListener("close", () => resolve(null), { once: true });
    dialog.showModal();
    (name.value ? reason : name).focus();
  });
}

/** The command that grades these runs so. Ids hold nothing that a shell reads, but for those of other programs. */
export const gradeLine = (ids, by) => `orchestra grade ${ids.map(quoted).join(" ")} --by ${by}`;

const quoted = (id) => (/^[\w.-]+$/.test(id) ? id : `'${id.replaceAll("'", "'\\''")}'`);

function line(title, ids, by, said) {
  const text = gradeLine(ids, by);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = `Copied: ${text}`;
    } catch {
      said.textContent = text; // no clipboard but on https and localhost: it can be copied by hand
    }
  };
  return el("button", { class: "wb-btn sm", type: "button", title: text, on: { click: copy } }, icon("copy", true), title);
}
