// One trajectory, drawn from its events by the code that draws it live: score, timeline, bill, setting.

import { byId, el, put } from "./dom.js";
import { icon } from "./icons.js";
import { count, plain, plural, seconds, unknown, usd, weight, when } from "./format.js";
import { billTable } from "./billtable.js";
import { endCard } from "./endcard.js";
import { nominalBadge, simulatedBadge, statusChip } from "./marks.js";
import { Run } from "./run.js";
import { drawScore } from "./score.js";
import { follow, getText, runPath } from "./server.js";
import { Timeline } from "./timeline.js";

export class Detail {
  /** `onBack` leaves the detail on a narrow screen. */
  constructor(onBack) {
    this.onBack = onBack;
    this.run = null;
    this.timeline = null;
    this.unfollow = () => {};
    new ResizeObserver(() => this.drawScore()).observe(byId("main"));
  }

  /** The run that is open, by its id, or null. */
  get id() {
    return this.run?.id ?? null;
  }

  show(id) {
    this.unfollow();
    this.run = id ? new Run(id) : null;
    document.title = "Trajectories · Orchestra Workbench";
    if (!id) {
      put(byId("detail"));
      return;
    }
    put(byId("detail"), el("div", { class: "wb-skel lv-late", "aria-hidden": "true" }));
    this.timeline = null;
    const run = this.run;
    const mine =
      (act) =>
      (...given) => {
        if (this.run === run) act(...given);
      };
    this.unfollow = follow(id, {
      frame: mine((event) => this.take(event)),
      clock: mine((t) => run.setClock(t)),
      broken: mine((message) => {
        run.broken = message;
      }),
      end: mine(() => this.ended()),
      lost: mine((pause) => this.lost(pause)),
      back: mine(() => byId("detail-lost")?.remove()),
      unknown: mine((message) => this.unknown(message)),
    });
  }

  lost(pause) {
    byId("detail-lost")?.remove();
    const words = `Connection lost. What is here stays; trying again in ${pause} s.`;
    byId("detail").prepend(el("p", { class: "wb-alert warn", id: "detail-lost", role: "status", text: words }));
  }

  unknown(message) {
    put(
      byId("detail"),
      el(
        "div",
        { class: "wb-state lv-empty" },
        el("h2", { text: "There is no such trajectory here" }),
        el("p", { text: plain(message) }),
        el("a", { class: "wb-btn", href: "/trajectories", text: "All trajectories" }),
      ),
    );
  }

  take(event) {
    const position = this.run.feed(event);
    if (event.kind === "run_started") this.frame();
    if (event.kind === "streamed") this.timeline.stream(position);
    else if (position !== null) this.timeline.update(position);
    if (event.kind !== "streamed" && this.run.finished !== (event.kind !== "run_finished")) this.facts();
  }

  ended() {
    this.timeline.updateAll();
    if (this.run.finished) byId("turns").append(endCard(this.run, statusChip(this.run.stop ?? "fault"), null));
    this.facts();
  }

  frame() {
    const { setting, id } = this.run;
    document.title = `${plain(setting.task.text).slice(0, 60)} · Orchestra Workbench`;
    const meta = [
      id,
      plain(setting.orchestrator),
      setting.protocol,
      setting.seed === null ? null : `seed ${setting.seed}`,
      when(setting.started_at),
    ]
      .filter(Boolean)
      .join(" · ");
    put(
      byId("detail"),
      el(
        "div",
        { class: "tr-top" },
        el(
          "div",
          { class: "tr-title" },
          el(
            "button",
            {
              class: "wb-btn ghost sm tr-back",
              type: "button",
              on: { click: this.onBack },
            },
            icon("back", true),
            "Runs",
          ),
          el("h2", { class: "tr-task", text: plain(setting.task.text) }),
          el("p", { class: "wb-note", text: meta }),
        ),
        this.actions(),
      ),
      el("div", { class: "tr-strip", id: "facts" }),
      el("section", { class: "wb-panel tr-score", id: "d-score", "aria-label": "Score" }),
      el(
        "div",
        { class: "tr-cols" },
        el("ol", { class: "wb-tl", id: "turns", "aria-label": "Turns" }),
        el("div", { class: "tr-side", id: "side" }),
      ),
    );
    this.timeline = new Timeline(byId("turns"));
    this.timeline.reset(this.run);
    this.facts();
  }

  actions() {
    const { id } = this.run;
    const said = el("span", { class: "wb-sr", role: "status" });
    const copy = (get, words) => async () => {
      try {
        await navigator.clipboard.writeText(await get());
        said.textContent = words;
      } catch (error) {
        said.textContent = `Not copied: ${error.message}`;
      }
      said.classList.remove("wb-sr");
      said.classList.add("wb-note");
    };
    const button = (sign, text, act) =>
      el("button", { class: "wb-btn sm", type: "button", on: { click: act } }, icon(sign, true), text);
    return el(
      "div",
      { class: "tr-btns" },
      said,
      el("a", { class: "wb-btn sm", href: `/?again=${encodeURIComponent(id)}` }, icon("again", true), "Run again"),
      el("a", { class: "wb-btn sm", href: `/?run=${encodeURIComponent(id)}` }, icon("play", true), "Open in Live"),
      button(
        "copy",
        "JSON",
        copy(() => getText(runPath(id, "/trajectory")), "JSON copied"),
      ),
      button(
        "link",
        "Link",
        copy(async () => `${location.origin}/trajectories?run=${encodeURIComponent(id)}`, "Link copied"),
      ),
    );
  }

  facts() {
    const { run } = this;
    const { setting, bill } = run;
    const tile = (name, ...value) =>
      el("div", { class: "wb-tile" }, el("span", { class: "l", text: name }), el("b", {}, value));
    const sum = bill.cost_usd === null ? unknown(bill.why) : usd(bill.cost_usd);
    const tokens =
      bill.input_tokens === null || bill.output_tokens === null
        ? unknown("a model did not report its tokens")
        : count(bill.input_tokens + bill.output_tokens);
    put(
      byId("facts"),
      tile("Status", statusChip(run.finished ? (run.stop ?? "fault") : "running")),
      tile(
        "Cost",
        sum,
        setting.limits.cost_usd === null ? null : el("small", { text: ` of ${usd(setting.limits.cost_usd)}` }),
      ),
      tile("Time", seconds(run.now)),
      tile("Tokens", tokens),
      tile("Turns", count(run.turns.length), el("small", { text: ` of ${setting.limits.max_turns}` })),
      el(
        "span",
        {},
        setting.prices.nominal ? nominalBadge() : null,
        " ",
        setting.tools.some((tool) => tool.simulated) ? simulatedBadge() : null,
      ),
    );
    put(byId("side"), this.billPanel(), this.settingPanel());
    this.drawScore();
  }

  billPanel() {
    const { prices } = this.run.setting;
    return el(
      "section",
      { class: "wb-panel", "aria-label": "Bill" },
      el("header", {}, el("h2", { text: "Bill" }), el("p", { text: "a row per payee, attempts counted" })),
      billTable(this.run),
      el(
        "p",
        { class: "wb-note lv-table", title: plain(prices.source) },
        prices.nominal ? nominalBadge() : null,
        `Price table ${plain(prices.name)} of ${prices.dated}`,
      ),
    );
  }

  settingPanel() {
    const { setting } = this.run;
    const { preference, limits } = setting;
    const wishes = Object.entries(preference.tools)
      .filter(([, value]) => value !== 0)
      .map(([name, value]) => `${plain(this.run.tool(name).title)} ${weight(value)}`);
    const known = [
      ["cost_usd", usd],
      ["time_s", (v) => `${v} s`],
      ["max_turns", (v) => plural(v, "turn")],
      ["tokens", (v) => `${count(v)} tokens`],
    ]
      .filter(([name]) => limits[name] !== null)
      .map(([name, shown]) => shown(limits[name]));
    const rows = [
      [
        "Goals",
        `quality ${weight(preference.outcome)} · cost ${weight(preference.cost)} · latency ${weight(preference.latency)}`,
      ],
      ["Tool wishes", wishes.join(" · ") || "none"],
      ["The model read", setting.sentence ? `“${plain(setting.sentence)}”` : "nothing"],
      ["Limits", known.join(" · ")],
      ["Tools", setting.tools.map((tool) => plain(tool.title)).join(", ") || "none"],
      ["Seed", setting.seed === null ? "none" : String(setting.seed)],
    ];
    return el(
      "section",
      { class: "wb-panel", "aria-label": "Setting" },
      el("header", {}, el("h2", { text: "Setting" })),
      el(
        "dl",
        { class: "tr-setting" },
        rows.map(([name, value]) => [el("dt", { text: name }), el("dd", { text: value })]),
      ),
    );
  }

  drawScore() {
    const host = byId("d-score");
    if (host && this.run?.setting) drawScore(host, this.run);
  }
}
