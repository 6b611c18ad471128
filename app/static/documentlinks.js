// Text in which a document of the project is named, `docs/NAME.md`, with a link to its page there and to nothing else:
// only names that the page was sent with lead anywhere.

import { el } from "./dom.js";

const NAMED = /(?<![\w./\\:-])docs\/(README|[a-z0-9_]{1,60}(?:\/[a-z0-9_]{1,60})?)\.md(?!\.?[\w/\\-])/g;
const HEADING = /^From the local library: ([^\n]{1,200}) \($/; // what a source says before the name of its document
const known = new Set(document.querySelector('meta[name="wb-documents"]')?.content.split(" "));

/** The text as strings and links, for `el` and `put`. */
export function documentLinks(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(NAMED)) {
    const [words, name] = match;
    if (name !== "README" && !known.has(name)) continue;
    const address = (name === "README" ? "/documents" : `/documents/${name}`) + section(text.slice(0, match.index));
    parts.push(
      text.slice(at, match.index),
      el("a", { class: "lv-link", href: address, target: "_blank", rel: "noopener", text: words }),
    );
    at = match.index + words.length;
  }
  return [...parts, text.slice(at)];
}

/** The part of a document that a source names, by the id that its heading has. */
function section(before) {
  const heading = before.match(HEADING)?.[1];
  if (!heading) return "";
  const id = heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_ -]/gu, "")
    .replaceAll(" ", "-");
  return `#${encodeURIComponent(id)}`;
}
