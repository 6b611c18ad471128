// An answer as its writer set it: code between fences in a well of its own, code within a line in its own letters, the
// rest as it stands. What the conductor adds below, where an answer comes from and what it leaves open, stands smaller.
// Text nodes only, and links to our own documents where one is named.

import { documentLinks } from "./documentlinks.js";
import { el } from "./dom.js";
import { plain } from "./format.js";

const FENCE = /^```[^\n`]*\n([\s\S]*?)^```[ \t]*$/gm;
const BELOW = /\n+(?=(?:From the local library|Not checked|Not answered): )/;
const SPAN = /`([^`\n]+)`/; // its parts alternate: words, code, words

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
  return [...parts, words(shown.slice(at))].flat().filter(Boolean);
}

function words(text) {
  if (!text.trim()) return null;
  return text
    .trim()
    .split(BELOW)
    .map((piece, n) => el("p", { class: n ? "wb-note" : null }, spans(piece)));
}

const spans = (text) => text.split(SPAN).map((part, n) => (n % 2 ? el("code", { class: "lv-span", text: part }) : documentLinks(part)));
