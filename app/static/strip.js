// The bill in one line, for a screen without room for the bill.

import { byId, el, put } from "./dom.js";
import { unknown, usd } from "./format.js";
import { meter } from "./meters.js";
import { statusChip } from "./marks.js";
import { lasted } from "./times.js";

export function drawStrip(run) {
  const limit = run.setting.limits.cost_usd;
  const sum = run.bill.cost_usd === null ? unknown(run.bill.why) : usd(run.bill.cost_usd);
  put(
    byId("strip"),
    el(
      "div",
      {},
      el("b", { class: "lv-sum" }, sum),
      limit === null ? null : el("span", { class: "wb-note", text: ` of ${usd(limit)}` }),
    ),
    meter(run.bill.known_usd, run.held.usd, limit),
    el("span", { class: "wb-note" }, run.finished ? lasted(run.timed ? run.took : null) : [el("span", { "data-clock": true, text: run.now.toFixed(1) }), " s"]),
    run.finished ? statusChip(run.stop ?? "fault") : null,
  );
}
