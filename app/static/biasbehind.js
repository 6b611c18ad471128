// The dialog with the runs behind a mark of the Bias page.

import { byId, el, put } from "./dom.js";
import { fineUsd, plain, plural } from "./format.js";
import { Refused, getJson } from "./server.js";
import { alertOf } from "./toolmarks.js";

/** Show the runs behind a mark: those of `scope`, an address's query, which `mark` narrows; `columns` are the report's. */
export async function showBehind(scope, mark, words, columns) {
  const query = new URLSearchParams(scope);
  for (const [name, value] of Object.entries(mark)) {
    query.delete(name);
    for (const one of [value].flat()) query.append(name, one);
  }
  const dialog = byId("behind");
  const close = el("button", { class: "wb-btn ghost sm", type: "button", text: "Close", on: { click: () => dialog.close() } });
  put(dialog, el("header", {}, el("h2", { id: "behind-title", text: plain(words) })), el("p", { class: "wb-note", text: "…" }), el("div", { class: "bi-foot" }, close));
  dialog.showModal();
  try {
    const found = await getJson(`/api/bias/runs?${query}`);
    const all = new URLSearchParams(mark.who ? { orchestrator: mark.who } : {});
    const column = mark.model?.length === 1 ? columns.find((one) => one.model === mark.model[0]) : null;
    if (column?.tool) all.set("tool", column.tool);
    const exact = Object.keys(mark).every((name) => name === "who" || (name === "model" && column?.tool));
    put(
      dialog,
      el("header", {}, el("h2", { id: "behind-title", text: plain(words) })),
      el("p", { class: "wb-note", text: `${plural(found.count, "run")} behind it${found.count > found.runs.length ? `, the latest ${found.runs.length} of them` : ""}` }),
      el("ol", { tabindex: "0", "aria-label": "Runs" }, found.runs.map(row)),
      el("div", { class: "bi-foot" }, el("a", { class: "wb-btn sm", href: `/trajectories?${all}`, text: exact ? "Open in Trajectories" : "All of this orchestrator" }), close),
    );
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    put(dialog, el("h2", { id: "behind-title", text: plain(words) }), alertOf("The runs could not be read.", error.message), el("div", { class: "bi-foot" }, close));
  }
}

function row(run) {
  const outcome = run.outcome === null ? "ungraded" : run.outcome ? "solved" : "not solved";
  return el("li", {}, el("a", { href: `/trajectories?${new URLSearchParams({ run: run.id })}` }, el("span", { text: plain(run.title) }), el("span", { text: `${outcome} · ${plural(run.calls ?? 0, "call")}` }), el("span", { text: run.cost_usd === null ? "—" : `${fineUsd(run.cost_usd)}${run.simulated ? " sim" : ""}` })));
}
