// What can be done with one trajectory: run it again, open it elsewhere, copy it, delete it.

import { el } from "./dom.js";
import { icon } from "./icons.js";
import { getText, runPath } from "./server.js";

const COPIES = [
  ["JSON", "/trajectory"],
  ["curl", "/copy/curl"],
  ["Python", "/copy/python"],
  ["Notebook cell", "/copy/cell"],
  ["TOML", "/copy/toml"],
];

/** The buttons over the trajectory `id`; `onRemove()` is told that it shall go. */
export function detailActions(id, onRemove) {
  const words = el("span", { class: "wb-note", role: "status" });
  const copied = async (title, text) => {
    try {
      await navigator.clipboard.writeText(await text);
      words.textContent = `${title} copied`;
    } catch (error) {
      words.textContent = `Not copied: ${error.message}`;
    }
  };
  const link = (sign, text, href) => el("a", { class: "wb-btn sm", href }, icon(sign, true), text);
  const button = (sign, text, act, more = {}) =>
    el("button", { class: "wb-btn sm", type: "button", on: { click: act }, ...more }, icon(sign, true), text);
  const named = encodeURIComponent(id);
  const address = `${location.origin}/trajectories?run=${named}`;
  return el(
    "div",
    { class: "tr-btns" },
    words,
    link("again", "Run again", `/?again=${named}`),
    link("play", "Open in Live", `/?run=${named}`),
    link("compare", "Compare", `/compare?a=${named}`),
    copyMenu(id, copied),
    button("link", "Link", () => copied("Link", address)),
    button("trash", "", onRemove, { "aria-label": "Delete", title: "Delete", class: "wb-btn sm icon" }),
  );
}

function copyMenu(id, copied) {
  const menu = el("details", { class: "rc-pop end" }, el("summary", { class: "wb-btn sm" }, icon("copy", true), "Copy"));
  const copy = ([title, path]) =>
    el("button", {
      class: "wb-btn ghost sm",
      type: "button",
      text: title,
      on: {
        click: () => {
          menu.open = false;
          menu.querySelector("summary").focus();
          copied(title, getText(runPath(id, path)));
        },
      },
    });
  menu.append(el("div", { class: "rc-menu rc-copies" }, COPIES.map(copy)));
  return menu;
}
