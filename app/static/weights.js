// The notice about model weights that are on their way.

import { el } from "./dom.js";
import { icon } from "./icons.js";
import { bytes, count, plain, wait } from "./format.js";

/** What still arrives: bytes, rate and time left of each weight file. */
export function weightsNotice(weights) {
  const coming = weights.filter((item) => item.state !== "ready");
  if (coming.length === 0) return null;
  const bad = coming.some((item) => item.state === "failed");
  return el(
    "div",
    { class: `wb-alert ${bad ? "warn" : ""}` },
    icon(bad ? "warn" : "down"),
    el(
      "div",
      { class: "lv-weights" },
      el(
        "p",
        {},
        el("b", { text: bad ? "Some model weights could not be fetched. " : "Model weights are arriving. " }),
        "You can run everything that does not need them.",
      ),
      coming.map(weightLine),
    ),
  );
}

const WEIGHTS_WORDS = { absent: "waiting,", partial: "waiting,", fetching: "", checking: "checking," };

function weightLine(item) {
  const share = item.total_bytes ? item.done_bytes / item.total_bytes : 0;
  const parts = [
    `${WEIGHTS_WORDS[item.state] ?? plain(item.state)} ${count(Math.floor(item.done_bytes / 1e6))} of ${count(Math.round(item.total_bytes / 1e6))} MB`.trim(),
  ];
  if (item.rate_bps) parts.push(`${bytes(Math.round(item.rate_bps))}/s`);
  if (item.eta_s !== null && item.eta_s !== undefined) parts.push(`${wait(item.eta_s)} left`);
  return el(
    "div",
    { class: "lv-weight" },
    el("span", { class: "lv-cut", text: plain(item.name) }),
    el("span", { class: "wb-note", text: item.error ? plain(item.error) : parts.join(" · ") }),
    el("div", { class: "wb-prog" }, el("i", { style: { width: `${share * 100}%` } })),
  );
}
