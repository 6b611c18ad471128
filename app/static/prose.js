// An answer as its writer set it: code between fences in a well of its own, the rest as it stands. Text nodes only.

import { el } from "./dom.js";
import { plain } from "./format.js";

const FENCE = /^```[^\n`]*\n([\s\S]*?)^```[ \t]*$/gm;

export function prose(text) {
  const shown = plain(text);
  const parts = [];
  let at = 0;
  for (const match of shown.matchAll(FENCE)) {
    parts.push(
      words(shown.slice(at, match.index)),
      el("pre", { class: "wb-args lv-code", tabindex: "0", text: match[1].trimEnd() }),
    );
    at = match.index + match[0].length;
  }
  return [...parts, words(shown.slice(at))].filter(Boolean);
}

const words = (text) => (text.trim() ? el("p", { text: text.trim() }) : null);
