// The timeline: one card per call, redrawn when its turn changes; what the reader opened stays open.

import { el, put } from "./dom.js";
import { icon, toolIcon } from "./icons.js";
import { bytes, cost, count, firstLine, plain, plural, seconds, unknown, usd, weight } from "./format.js";
import { Refused, getText, runPath } from "./server.js";
import { phase } from "./run.js";

const CHIPS = {
  thinking: ["run", null, "thinking"], writing: ["run", null, "writing"], waiting: ["", "minus", "waiting"],
  running: ["run", null, "calling"], ok: ["ok", "check", "done"], error: ["bad", "cross", "failed"],
  timeout: ["bad", "cross", "timed out"], rejected: ["bad", "cross", "rejected"], cancelled: ["warn", "warn", "cancelled"],
};
const FAILED = new Set(["error", "timeout", "rejected"]);
const SHOWN_CHARS = 400_000;
const ARGUMENT_LINES = 3;

export class Timeline {
  /** `list` is the `ol` to fill. */
  constructor(list) {
    this.list = list;
    this.reset(null);
  }

  reset(run) {
    this.run = run;
    this.nodes = new Map(); // turn position -> its list items
    this.choices = new Map(); // what the reader opened or closed, by key
    this.full = new Map(); // full observations already fetched, by call id
    put(this.list);
  }

  /** Draw the turn at `position` anew. */
  update(position) {
    const turn = this.run.turns[position];
    const old = this.nodes.get(position) ?? [];
    const focus = old.some((node) => node.contains(document.activeElement)) ? document.activeElement.dataset.key : null;
    const items = this.cards(turn, position);
    this.nodes.set(position, items);
    if (old.length) {
      old[0].before(...items);
      for (const node of old) node.remove();
    } else {
      for (const item of items) item.classList.add("new");
      this.list.append(...items);
    }
    if (focus) this.list.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }

  /** New text of a generation: only the text changes. */
  stream(position) {
    const turn = this.run.turns[position];
    const node = this.nodes.get(position)?.[0];
    const reasoning = node?.querySelector("[data-reasoning]");
    const content = node?.querySelector("[data-content]");
    if (!reasoning || !content || phase(turn, this.run) !== node.dataset.phase) return this.update(position);
    reasoning.textContent = plain(turn.text.reasoning);
    content.firstChild.textContent = plain(turn.text.content);
  }

  updateAll() {
    this.run.turns.forEach((_, position) => this.update(position));
  }

  cards(turn, position) {
    if (turn.calls.length) return turn.calls.map((call, n) => this.callCard(turn, call, n, position));
    return [this.orchestratorCard(turn, position)];
  }

  isOpen(key, usual) {
    return this.choices.get(key) ?? usual;
  }

  toggle(key, usual, position) {
    this.choices.set(key, !this.isOpen(key, usual));
    this.update(position);
  }

  // ---- a turn without calls: thinking, writing, an answer, or nothing
  orchestratorCard(turn, position) {
    const state = phase(turn, this.run);
    const live = state === "thinking" || state === "writing";
    const cut = !live && turn.generation === null;
    const chip = live ? state : cut ? (this.run.stop === "fault" ? "error" : "cancelled") : "ok";
    const key = `turn-${turn.index}`;
    const unfolded = this.isOpen(key, live || cut);
    const answered = turn.generation && turn.generation.answer !== null;
    const word = answered ? "answered" : null;
    const took = (turn.generated ?? turn.finished ?? this.run.now) - turn.started;
    const header = this.header({ key, unfolded, usual: live || cut, position, number: turn.index, title: "Orchestrator", code: this.run.setting.orchestrator, chip, word,
      cells: [turn.spent ? cost(turn.spent.cost) : "", live ? el("span", { "data-since": turn.started }) : seconds(took), tokenText(turn.spent)] });
    const body = [];
    if (unfolded) {
      body.push(el("p", { class: "wb-say", "data-reasoning": true, text: plain(turn.text.reasoning) }));
      if (!answered) body.push(el("p", { class: "wb-say lv-content", "data-content": true }, plain(turn.text.content), live ? el("span", { class: "caret" }) : null));
      body.push(this.why(turn, null, position));
    } else if (turn.text.reasoning) body.push(el("p", { class: "wb-say lv-fold", text: firstLine(turn.text.reasoning) }));
    return this.item("orch", icon("baton"), `Turn ${turn.index}, orchestrator, ${word ?? CHIPS[chip][2]}`, header, body, { live, bad: chip === "error", key, state });
  }

  // ---- a call
  callCard(turn, call, n, position) {
    const spec = this.run.tool(call.tool);
    const key = `call-${call.id}`;
    const running = call.state === "running" || (call.state === "waiting" && !this.run.finished);
    const bad = FAILED.has(call.state);
    const images = (call.observation?.artefacts ?? []).filter((file) => file.media_type.startsWith("image/"));
    const usual = running || images.length > 0 || call.state === "rejected";
    const unfolded = this.isOpen(key, usual);
    const number = turn.calls.length > 1 ? `${turn.index}.${n + 1}` : `${turn.index}`;
    const chip = call.state === "waiting" && this.run.finished ? "cancelled" : call.state;
    const header = this.header({ key, unfolded, usual, position, number, title: spec.title, code: spec.model ?? spec.name, chip, simulated: spec.simulated, cells: this.callCells(call) });
    const body = [];
    if (n === 0 && unfolded) body.push(...this.said(turn));
    if (n === 0) body.push(this.why(turn, call, position));
    if (unfolded) body.push(this.argumentsOf(call, key, position));
    if (call.observation) body.push(this.observation(call, spec, images, key, position));
    const label = `Turn ${number}, ${plain(spec.title)}, ${CHIPS[chip]?.[2] ?? chip}`;
    return this.item(spec.kind, icon(toolIcon(spec.kind, spec.name)), label, header, body, { live: running, bad, key, state: call.state });
  }

  callCells(call) {
    if (call.observation) return [call.state === "rejected" ? el("span", { class: "wb-mut wb-thin", text: "not run" }) : cost(call.derived.cost), seconds(call.observation.finished_s - call.observation.started_s), tokenText(call.derived)];
    if (call.started === null) return ["", "", ""];
    const held = call.held === null ? unknown("the worst case of this call has no known price") : call.held === 0 ? "free" : `≤ ${usd(call.held)}`;
    return [el("span", { class: "wb-mut wb-thin" }, held), el("span", { "data-since": call.started }), ""];
  }

  header({ key, unfolded, usual, position, number, title, code, chip, word, simulated, cells }) {
    const [look, sign, name] = CHIPS[chip] ?? ["", "minus", chip];
    const mark = sign ? icon(sign, true) : look === "run" ? el("i", { class: "dot" }) : null;
    const fold = el("button", { class: "lv-foldbtn", type: "button", "aria-expanded": String(unfolded), "data-key": `${key}-fold`, title: unfolded ? "Fold this turn" : "Unfold this turn", on: { click: () => this.toggle(key, usual, position) } },
      el("span", { class: "wb-mut", text: number }), el("b", { class: "lv-cut", text: plain(title) }), el("code", { class: "lv-cut", text: plain(code) }));
    return el("header", {}, fold, el("span", { class: `wb-chip ${look}` }, mark, word ?? name),
      simulated ? el("span", { class: "wb-badge", title: "Simulated: a stated profile answers.", text: "sim" }) : null,
      el("span", { class: "wb-cost" }, el("b", {}, cells[0]), el("span", {}, cells[1]), el("span", {}, cells[2])));
  }

  item(kind, sign, label, header, body, { live, bad, key, state }) {
    const look = `wb-turn${live ? " live" : ""}${bad ? " bad" : ""}`;
    return el("li", { class: look, "data-phase": state }, el("span", { class: `wb-kind k-${kind} lg`, "aria-hidden": "true" }, sign),
      el("article", { class: "wb-call", tabindex: "-1", "aria-label": label, "data-key": key }, header, body));
  }

  /** What the orchestrator said before it called, and what saying it cost. */
  said(turn) {
    const words = [turn.text.reasoning, turn.text.content].filter(Boolean).map((text) => el("p", { class: "wb-say", text: plain(text) }));
    if (!turn.spent || turn.spent.attempts === 0) return words;
    const parts = [seconds(turn.generated - turn.started), turn.spent.cost.kind === "known" ? usd(turn.spent.cost.usd) : null, tokenText(turn.spent) || null];
    return [...words, el("p", { class: "wb-say wb-note", text: `orchestrator ${parts.filter(Boolean).join(" · ")}` })];
  }

  // ---- why this tool
  why(turn, call, position) {
    const estimates = turn.generation?.estimates ?? [];
    if (estimates.length === 0) return null;
    const key = `why-${turn.index}`;
    const open = this.isOpen(key, false);
    const ranked = [...estimates].sort((a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity));
    const chosen = ranked.find((row) => row.tool === call?.tool) ?? (call ? null : ranked[0]);
    const second = ranked.find((row) => row !== chosen && row.score !== null);
    const line = el("button", { class: "lv-why", type: "button", "aria-expanded": String(open), "data-key": key, on: { click: () => this.toggle(key, false, position) } },
      el("span", { class: "tw", "aria-hidden": "true", text: open ? "▾" : "▸" }), el("span", { class: "pv" }, whyLine(this.run, chosen, second)));
    return el("div", { class: "lv-whybox" }, line, open ? estimateTable(this.run, ranked, chosen) : null);
  }

  // ---- arguments
  argumentsOf(call, key, position) {
    const lines = argumentLines(call);
    const open = this.isOpen(`${key}-args`, call.state === "running");
    const shown = open ? lines : lines.slice(0, ARGUMENT_LINES);
    const text = el("div", { class: "wb-args" }, shown.map(({ name, text }, at) => [at ? "\n" : "", name ? el("span", { class: "key", text: `${name} ` }) : "", text]));
    if (lines.length > ARGUMENT_LINES) {
      text.append("\n", el("button", { class: "lv-more", type: "button", "aria-expanded": String(open), "data-key": `${key}-more`, text: open ? "show less" : `… ${plural(lines.length, "line")}`, on: { click: () => this.toggle(`${key}-args`, call.state === "running", position) } }));
    }
    if (call.recovered) text.append("\n", el("span", { class: "key", text: `read as: ${plain(call.recovered)}` }));
    return text;
  }

  // ---- observation
  observation(call, spec, images, key, position) {
    const { observation, derived } = call;
    const usual = images.length > 0;
    const openKey = `${key}-obs`;
    const open = this.isOpen(openKey, usual);
    const line = el("button", { class: "wb-obs", type: "button", "aria-expanded": String(open), "data-key": openKey, "data-observation": call.id, on: { click: () => this.toggle(openKey, usual, position) } },
      el("span", { class: "tw", "aria-hidden": "true", text: open ? "▾" : "▸" }),
      el("span", { class: "pv", text: open && images.length ? plural(images.length, "figure") : firstLine(observation.text) || "(empty)" }),
      el("small", { text: bytes(derived.bytes) }));
    if (!open) return line;
    const figures = images.map((file) => figure(file, spec));
    const files = observation.artefacts.filter((file) => !images.includes(file));
    return el("div", { class: "lv-obs" }, line, el("div", { class: "lv-obs-body" }, figures.length ? el("div", { class: "lv-figs" }, figures) : null,
      el("div", { class: "lv-obs-text" }, this.observationText(call, position), files.map((file) => el("a", { class: "wb-btn sm", href: `/api/artefacts/${file.sha256}`, download: file.name }, icon("down", true), `${plain(file.name)} · ${bytes(file.size_bytes)}`)))));
  }

  observationText(call, position) {
    const { observation, derived } = call;
    const whole = derived.cut ? this.full.get(call.id) : observation.text;
    const pre = el("pre", { class: "wb-mono lv-text", tabindex: "0", "aria-label": "Observation" });
    if (whole !== undefined) {
      pre.textContent = plain(whole.slice(0, SHOWN_CHARS)) || "(empty)";
      const more = whole.length > SHOWN_CHARS ? el("p", { class: "wb-note" }, `${count(SHOWN_CHARS)} of ${count(whole.length)} characters are shown. `, el("a", { class: "lv-link", href: this.observationPath(call), target: "_blank", rel: "noopener", text: "All of it" })) : null;
      return [pre, more];
    }
    pre.textContent = plain(observation.text);
    this.fetchFull(call, position);
    return [pre, el("p", { class: "wb-note", role: "status", text: `Fetching all ${bytes(derived.bytes)} …` })];
  }

  observationPath(call) {
    return runPath(this.run.id, `/observations/${encodeURIComponent(call.id)}`);
  }

  async fetchFull(call, position) {
    const run = this.run;
    let text;
    try {
      text = await getText(this.observationPath(call));
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      text = `${call.observation.text}\n\n(the rest could not be fetched: ${error.message})`;
    }
    if (this.run !== run) return;
    this.full.set(call.id, text);
    this.update(position);
  }
}

function tokenText(spent) {
  if (!spent || !spent.uses_tokens) return "";
  if (spent.input_tokens === null || spent.output_tokens === null) return unknown("the model did not report its tokens");
  return `${count(spent.input_tokens + spent.output_tokens)} tok`;
}

function whyLine(run, chosen, second) {
  if (!chosen) return "no estimate for this tool";
  const name = (row) => plain(run.tool(row.tool).title);
  const parts = ["why ", el("b", { text: chosen.score === null ? name(chosen) : `${name(chosen)} ${weight(chosen.score)}` })];
  if (second) parts.push(` over ${name(second)} ${weight(second.score)}`);
  if (chosen.chance !== null) parts.push(` · chance ${weight(chosen.chance)}`);
  if (chosen.note) parts.push(` · ${plain(chosen.note)}`);
  return parts;
}

function estimateTable(run, ranked, chosen) {
  const names = [["Tool", null], ["Score", "n"], ["Chance", "n"], ["Cost", "n"], ["Seconds", "n"], ["Why", null]];
  const cell = (value, shown) => el("td", { class: "n" }, value === null || value === undefined ? unknown("not estimated") : shown(value));
  return el("div", { class: "lv-estimates", tabindex: "0", role: "region", "aria-label": "Estimates for every tool" }, el("table", { class: "wb-tbl tight" },
    el("caption", { class: "wb-sr", text: "What the orchestrator expected of each tool" }),
    el("thead", {}, el("tr", {}, names.map(([text, look]) => el("th", { class: look, scope: "col", text })))),
    el("tbody", {}, ranked.map((row) => el("tr", { "aria-selected": row === chosen ? "true" : null },
      el("td", {}, row === chosen ? el("b", { text: plain(run.tool(row.tool).title) }) : plain(run.tool(row.tool).title)),
      row.score === null ? el("td", { class: "n wb-mut", text: "ruled out" }) : cell(row.score, weight),
      cell(row.chance, weight), cell(row.cost_usd, usd), cell(row.latency_s, seconds), el("td", { class: "lv-note", text: plain(row.note) }))))));
}

function argumentLines(call) {
  if (call.arguments === null) return plain(call.arguments_text).split("\n").map((text, n) => ({ name: n ? null : "not a JSON object", text }));
  return Object.entries(call.arguments).flatMap(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return plain(text).split("\n").map((line, n) => ({ name: n ? null : plain(name), text: line }));
  });
}

function figure(file, spec) {
  const address = `/api/artefacts/${file.sha256}`;
  const alt = `Figure ${plain(file.name)} returned by ${plain(spec.title)}`;
  return el("figure", {}, el("a", { href: address, target: "_blank", rel: "noopener", title: "Open in full size" }, el("img", { class: "wb-fig", src: address, alt, loading: "lazy" })),
    el("figcaption", { class: "wb-note", text: `${plain(file.name)} · ${bytes(file.size_bytes)}` }));
}

const ENDS = {
  cancelled: ["Stopped by you", "The run was stopped; calls that ran were closed."],
  max_turns: ["Turn limit", "The run used all its turns without an answer."],
  cost_limit: ["Cost limit", "The next step could have cost more than the limit allows."],
  time_limit: ["Time limit", "The run's seconds are used up; calls that ran were closed."],
  token_limit: ["Token limit", "The run's tokens are used up."],
  loop: ["Loop", "The orchestrator kept repeating a call that had been refused as a repeat."],
  fault: ["Fault", "Something outside the episode failed, so it ended here."],
};

/** The card that closes a run: the answer, or why there is none and what is kept. */
export function endCard(run, chip, actions) {
  if (run.stop === "answered") {
    return el("li", { class: "lv-end" }, el("div", { class: "lv-end-head" }, el("h2", { class: "wb-cap", text: "Answer" }), chip),
      el("p", { class: "lv-answer", id: "answer", text: plain(run.answer) }), actions);
  }
  const [title, words] = ENDS[run.stop] ?? ["Ended", ""];
  const message = run.broken ?? run.fault?.message;
  const kept = run.turns.filter((turn) => turn.finished !== null && turn.generation !== null).length;
  const keptWords = kept ? `${plural(kept, "turn")} and the bill are kept.` : "What was spent so far is on the bill.";
  return el("li", { class: `lv-end ${run.stop === "fault" || run.broken ? "bad" : ""}` },
    el("div", { class: "lv-end-head" }, el("h2", { class: "wb-cap", text: title }), chip),
    message ? el("p", { class: "lv-fault" }, el("b", { text: `${plain(run.fault?.where ?? "run")}: ` }), plain(message)) : null,
    el("p", {}, run.broken ? `The record may be incomplete. ${keptWords}` : `${words} ${keptWords}`), actions);
}
