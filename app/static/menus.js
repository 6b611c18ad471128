// The small menus of the list: saved views, columns, export. One is open at a time; Escape and a click outside close it.

import { byId, el, put } from "./dom.js";
import { plain } from "./format.js";
import { keep, kept } from "./keeping.js";
import { COLUMNS, chooseColumns, chosenColumns } from "./runrow.js";

const VIEWS = "wb-views";
const FORMS = [
  ["jsonl", "JSONL", "the whole report of a run a line"],
  ["messages", "Messages", "conversations for fine-tuning"],
  ["sharegpt", "ShareGPT", "conversations for LLaMA-Factory and the like"],
  ["trl", "TRL", "prompt, completion and what a reward is made of"],
  ["csv", "CSV", "a row per run"],
  ["parquet", "Parquet", "a row per run, typed"],
];

export function closeMenus(but = null) {
  for (const open of document.querySelectorAll(".rc-pop[open]")) if (open !== but) open.open = false;
}

export function startMenus() {
  document.addEventListener("click", (event) => closeMenus(event.target.closest?.(".rc-pop")));
  document.addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" ? document.activeElement?.closest(".rc-pop[open]") : null;
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
    event.preventDefault(); // the page's own Escape would take the focus away
  });
}

/** Views are addresses with a name. `address()` is the present one. */
export function drawViews(address) {
  const views = kept(VIEWS, []);
  const valid = (Array.isArray(views) ? views : []).filter(
    (view) => typeof view?.name === "string" && /^\/trajectories(\?|$)/.test(view.address),
  );
  const store = (next) => {
    keep(VIEWS, next);
    drawViews(address);
  };
  const name = el("input", {
    type: "text",
    maxlength: 60,
    "aria-label": "Name of this view",
    placeholder: "Name of this view",
  });
  const save = (event) => {
    event.preventDefault();
    const given = name.value.trim();
    if (given) store([...valid.filter((view) => view.name !== given), { name: given, address: address() }]);
  };
  const line = (view) =>
    el(
      "li",
      {},
      el("a", { href: view.address, text: plain(view.name) }),
      el("button", {
        class: "wb-btn ghost sm icon",
        type: "button",
        "aria-label": `Forget the view ${plain(view.name)}`,
        text: "×",
        on: { click: () => store(valid.filter((one) => one !== view)) },
      }),
    );
  put(
    byId("views"),
    valid.length
      ? el("ul", {}, valid.map(line))
      : el("p", {
          class: "wb-note",
          text: "A view is this list as it is filtered now, under a name. Its link can be shared.",
        }),
    el(
      "div",
      { class: "rc-save" },
      el("label", { class: "wb-in sm" }, name),
      el("button", { class: "wb-btn sm", type: "button", text: "Save", on: { click: save } }),
    ),
  );
  name.addEventListener("keydown", (event) => event.key === "Enter" && save(event));
}

export function drawColumns(redraw) {
  const chosen = new Set(chosenColumns());
  const box = (name) =>
    el(
      "label",
      {},
      el("input", {
        type: "checkbox",
        checked: chosen.has(name),
        on: {
          change: (event) => {
            if (event.target.checked) chosen.add(name);
            else chosen.delete(name);
            chooseColumns([...chosen]);
            redraw();
          },
        },
      }),
      COLUMNS[name].title,
    );
  put(byId("columns"), Object.keys(COLUMNS).map(box));
}

/** Downloads of what the filter lets through. */
export function drawExport(query) {
  const link = ([form, title, words]) => {
    const asked = new URLSearchParams(query);
    asked.set("form", form);
    return el(
      "li",
      {},
      el("a", { href: `/api/trajectories/export?${asked}`, download: "" }, el("b", { text: title }), ` ${words}`),
    );
  };
  put(
    byId("export"),
    el("p", { class: "wb-note", text: "All runs that the filter lets through:" }),
    el("ul", {}, FORMS.map(link)),
  );
}
