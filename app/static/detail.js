// One trajectory, drawn from its events by the code that draws it live: score, tabs, bill; and what can be done with it.

import { byId, el, put } from "./dom.js";
import { icon } from "./icons.js";
import { count, fullSentence, plain, unknown, usd, when } from "./format.js";
import { billTable } from "./billtable.js";
import { detailActions } from "./detailactions.js";
import { endCard } from "./endcard.js";
import { ForkCard } from "./forkform.js";
import { GradeCard } from "./gradecard.js";
import { nominalBadge, originBadge, outcomeChip, simulatedBadge, statusChip } from "./marks.js";
import { Painter } from "./painter.js";
import { Run } from "./run.js";
import { drawScore } from "./score.js";
import { Refused, follow, getJson, runPath } from "./server.js";
import { TABS, tabContent } from "./tabs.js";
import { TagBar } from "./tagbar.js";
import { nowhere, placard, skeleton } from "./placards.js";
import { lasted } from "./times.js";
import { Timeline } from "./timeline.js";
import { DomainCard } from "./domaincard.js";

/** In a domain the user's opening words stand for the task, whose text is mostly policy. */
const titleOf = ({ assigned, task }) => assigned?.assignment.instruction || task.text;

export class Detail {
  /**
   * `on`: back() leaves the detail on a narrow screen, tab(name) turns to a tab, remove(id) and restore(id) a run,
   * tagged() hears that its tags changed.
   */
  constructor(on) {
    this.on = on;
    this.run = null;
    this.timeline = null;
    this.tab = "timeline";
    this.style = null;
    this.tags = null;
    this.unfollow = () => {};
    this.painter = new Painter(() => this.facts());
    new ResizeObserver(() => this.drawScore()).observe(byId("main"));
  }

  /** The run that is open, by its id, or null. */
  get id() {
    return this.run?.id ?? null;
  }

  show(id) {
    this.unfollow();
    this.run = id ? new Run(id) : null;
    this.style = null;
    document.title = "Trajectories · Orchestra Workbench";
    if (!id) {
      put(byId("detail"));
      return;
    }
    put(byId("detail"), skeleton());
    this.timeline = null;
    const run = this.run;
    const mine =
      (act) =>
      (...given) => {
        if (this.run === run) act(...given);
      };
    this.unfollow = follow(id, {
      frame: mine((event, callId) => this.take(event, callId)),
      clock: mine((t) => run.setClock(t)),
      broken: mine((message) => {
        run.broken = message;
      }),
      never: mine((message) => this.unknown(plain(message))),
      end: mine(() => this.ended()),
      lost: mine((pause) => this.lost(pause)),
      back: mine(() => byId("detail-lost")?.remove()),
      unknown: mine(() => this.unknown(nowhere(id))),
    });
  }

  lost(pause) {
    byId("detail-lost")?.remove();
    const words = `Connection lost. What is here stays; trying again in ${pause} s.`;
    byId("detail").prepend(el("div", { class: "wb-alert warn", id: "detail-lost", role: "status" }, icon("warn"), el("p", { text: words })));
  }

  /** There is no such run, or no longer: what can still be done about it. */
  async unknown(words) {
    const { id } = this.run;
    this.timeline = null;
    const kept = await getJson(runPath(id, "/trash")).catch(() => ({ restorable: false }));
    if (this.id !== id) return;
    const back = kept.restorable
      ? el("button", {
          class: "wb-btn primary",
          type: "button",
          text: "Restore it",
          on: { click: () => this.on.restore(id) },
        })
      : null;
    put(
      byId("detail"),
      placard(
        kept.restorable ? "This trajectory was deleted" : "There is no such trajectory here",
        kept.restorable ? "It is kept in the trash for a day." : words,
        back,
        el("a", { class: "wb-btn", href: "/trajectories", text: "All trajectories" }),
      ),
    );
  }

  /** Another tab may have deleted or restored the open run; `gone` were deleted here. */
  async check(gone) {
    const { id } = this;
    if (id === null) return;
    const there = this.timeline !== null;
    let found = !gone.includes(id);
    if (found)
      await getJson(runPath(id)).catch((error) => {
        if (error instanceof Refused && error.status === 404) found = false;
      });
    if (this.id !== id) return;
    if (!found && there) {
      this.unfollow();
      this.unknown(nowhere(id));
    } else if (found && !there && byId("detail").querySelector(".wb-state")) {
      const { tab } = this;
      this.show(id);
      this.tab = tab;
    }
  }

  take(event) {
    const position = this.run.feed(event);
    if (event.kind === "run_started") this.frame();
    if (event.kind === "streamed") this.timeline.stream(position);
    else if (position !== null) this.timeline.update(position, event.call_id ?? event.observation?.call_id);
    if (event.kind !== "streamed") this.painter.ask();
  }

  ended() {
    if (!this.timeline) return;
    this.timeline.updateAll();
    if (this.run.finished) this.forks.ended();
    this.domain?.load();
    if (this.run.finished) byId("turns").append(endCard(this.run, null));
    this.facts();
    if (this.tab !== "timeline") this.drawTab();
  }

  frame() {
    const { setting, id } = this.run;
    document.title = `${plain(titleOf(setting)).slice(0, 60)} · Orchestra Workbench`;
    this.grades = new GradeCard(this.run, (event) => {
      this.run.feed(event);
      this.facts();
      this.on.tagged();
    });
    this.forks = new ForkCard(this.run);
    this.tags = new TagBar(id, this.on.tagged);
    this.domain = setting.assigned ? new DomainCard(this.run) : null;
    const seed = setting.seed === null ? null : `seed ${setting.seed}`;
    const meta = [id, plain(setting.orchestrator), setting.protocol, seed].filter(Boolean);
    const back = el(
      "button",
      { class: "wb-btn ghost sm tr-back", type: "button", on: { click: this.on.back } },
      icon("back", true),
      "Runs",
    );
    put(
      byId("detail"),
      el(
        "div",
        { class: "tr-top" },
        el(
          "div",
          { class: "tr-title" },
          back,
          el("h2", { class: "tr-task", text: plain(titleOf(setting)) }),
          el("p", { class: "wb-note" }, `${meta.join(" · ")} · `, el("span", { class: "wb-num", text: when(setting.started_at) })),
        ),
        detailActions(id, () => this.on.remove(id)),
      ),
      el("div", { class: "tr-strip", id: "facts" }),
      el("section", { class: "wb-panel tr-score", id: "d-score", "aria-label": "Score" }),
      el("nav", { class: "wb-tabs", id: "tabs", "aria-label": "Parts of this trajectory" }),
      el(
        "div",
        { class: "tr-cols", id: "tab-timeline" },
        el("ol", { class: "wb-tl", id: "turns", "aria-label": "Turns" }),
        el("div", { class: "tr-side" }, el("div", { class: "tr-side", id: "side" }), this.domain?.node, this.grades.node, this.forks.node),
      ),
      el("div", { class: "rc-tabbed", id: "tab-other" }),
    );
    this.timeline = new Timeline(byId("turns"));
    this.timeline.reset(this.run);
    this.facts();
    this.drawTabs();
    this.tags.load();
  }

  // ---- tabs
  turnTo(tab) {
    const wanted = tab && Object.hasOwn(TABS, tab) ? tab : "timeline";
    const changed = wanted !== this.tab;
    this.tab = wanted;
    if (this.timeline && changed) this.drawTabs();
  }

  drawTabs() {
    const address = (tab) => {
      const query = new URLSearchParams(location.search);
      if (tab === "timeline") query.delete("tab");
      else query.set("tab", tab);
      return `/trajectories?${query}`;
    };
    const link = ([tab, title]) =>
      el("a", {
        href: address(tab),
        "aria-current": tab === this.tab ? "true" : null,
        text: title,
        on: {
          click: (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            this.on.tab(tab === "timeline" ? null : tab);
          },
        },
      });
    put(byId("tabs"), Object.entries(TABS).map(link));
    byId("tab-timeline").hidden = this.tab !== "timeline";
    byId("tab-other").hidden = this.tab === "timeline";
    this.drawTab();
  }

  async drawTab() {
    const { tab, run } = this;
    if (tab === "timeline") return put(byId("tab-other"));
    const host = byId("tab-other");
    if (!host.childElementCount) put(host, skeleton());
    const setStyle = (style) => {
      this.style = style;
      this.drawTab();
    };
    let content;
    try {
      content = await tabContent(tab, run, setStyle, this.style);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const why = el("p", {}, el("b", { text: "This part could not be read. " }), fullSentence(plain(error.message)));
      const again = el("button", { class: "wb-btn sm", type: "button", text: "Try again", on: { click: () => this.drawTab() } });
      content = el("div", { class: "wb-alert bad", role: "alert" }, icon("warn"), why, again);
    }
    return this.run === run && this.tab === tab ? put(host, content) : host;
  }

  /** A grade that was given in the list, where it is of the run that is open. */
  heard(id, event) {
    if (id === this.id && this.run?.finished) this.grades.heard(event);
  }

  /** A person's verdict by key; false where there is nothing to grade. */
  grade(n) {
    return this.grades?.press(n) ?? false;
  }

  loadTags() {
    this.tags?.load();
  }

  /** Put the focus where a tag is written; false where nothing is open. */
  focusTag() {
    return this.timeline !== null && this.tags.focus();
  }

  // ---- figures
  facts() {
    const { run } = this;
    if (!run?.setting || !this.timeline) return;
    const { setting, bill } = run;
    const tile = (name, ...value) =>
      el("div", { class: "wb-tile" }, el("span", { class: "l", text: name }), el("b", {}, value));
    const sum = bill.cost_usd === null ? unknown(bill.why) : usd(bill.cost_usd);
    const tokens =
      bill.input_tokens === null || bill.output_tokens === null
        ? unknown("a model did not report its tokens")
        : count(bill.input_tokens + bill.output_tokens);
    const limit = setting.limits.cost_usd;
    const typing = byId("facts").contains(document.activeElement) ? document.activeElement : null;
    put(
      byId("facts"),
      tile(
        "Status",
        statusChip(run.finished ? (run.stop ?? "fault") : "running"),
        run.outcome === null ? null : outcomeChip(run.outcome),
      ),
      tile("Cost", sum, limit === null ? null : el("small", { text: ` of ${usd(limit)}` })),
      tile("Time", lasted(setting.timed ? run.took : null)),
      tile("Tokens", tokens),
      tile("Turns", count(run.turns.length), setting.origin ? null : el("small", { text: ` of ${setting.limits.max_turns}` })),
      el(
        "span",
        { class: "rc-badges" },
        setting.prices.nominal ? nominalBadge() : null,
        setting.tools.some((tool) => tool.simulated) ? simulatedBadge() : null,
        originBadge(setting),
      ),
      this.tags.node,
    );
    if (typing) typing.focus(); // it was taken out and put back
    put(byId("side"), this.billPanel());
    this.grades.update();
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

  drawScore() {
    const host = byId("d-score");
    if (host && this.run?.setting) drawScore(host, this.run);
  }
}
