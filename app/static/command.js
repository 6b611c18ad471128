// A command to type in a terminal, on the page: it breaks between its words and nowhere inside them.

import { el } from "./dom.js";

/** `words` of a command as code; an option stays whole at the end of a line. */
export const command = (words) =>
  el(
    "code",
    { class: "wb-mono wb-command" },
    words.split(" ").flatMap((word, at) => [at ? " " : "", el("span", { text: word })]),
  );
