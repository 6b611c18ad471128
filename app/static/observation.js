// What went into a call and what came back: arguments, first line and size, the whole text when it is opened, figures.

import { documentLinks } from "./documentlinks.js";
import { el, put } from "./dom.js";
import { icon } from "./icons.js";
import { bytes, count, firstLine, plain, plural } from "./format.js";
import { Refused, getText, runPath } from "./server.js";

const SHOWN_CHARS = 400_000;
const ARGUMENT_LINES = 3;

export function argumentsBox(timeline, call, key, position) {
  const lines = argumentLines(call);
  const open = timeline.isOpen(`${key}-args`, call.state === "running");
  const shown = open ? lines : lines.slice(0, ARGUMENT_LINES);
  const text = el(
    "div",
    { class: "wb-args" },
    shown.map(({ name, text }, at) => [
      at ? "\n" : "",
      name ? el("span", { class: "key", text: `${name} ` }) : "",
      text,
    ]),
  );
  if (lines.length > ARGUMENT_LINES) {
    text.append(
      "\n",
      el("button", {
        class: "lv-more",
        type: "button",
        "aria-expanded": String(open),
        "data-key": `${key}-more`,
        text: open ? "show less" : `… ${plural(lines.length, "line")}`,
        on: { click: () => timeline.toggle(`${key}-args`, call.state === "running", position) },
      }),
    );
  }
  if (call.recovered) text.append("\n", el("span", { class: "key", text: `read as: ${plain(call.recovered)}` }));
  return text;
}

function argumentLines(call) {
  if (call.arguments === null)
    return plain(call.arguments_text)
      .split("\n")
      .map((text, n) => ({ name: n ? null : "not a JSON object", text }));
  return Object.entries(call.arguments).flatMap(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return plain(text)
      .split("\n")
      .map((line, n) => ({ name: n ? null : plain(name), text: line }));
  });
}

export function observationBox(timeline, call, spec, images, key, position) {
  const { observation, derived } = call;
  const usual = images.length > 0;
  const openKey = `${key}-obs`;
  const open = timeline.isOpen(openKey, usual);
  const line = el(
    "button",
    {
      class: "wb-obs",
      type: "button",
      "aria-expanded": String(open),
      "data-key": openKey,
      "data-observation": call.id,
      on: { click: () => timeline.toggle(openKey, usual, position) },
    },
    el("span", { class: "tw", "aria-hidden": "true", text: open ? "▾" : "▸" }),
    el("span", {
      class: "pv",
      text: open && images.length ? plural(images.length, "figure") : firstLine(observation.text) || "(empty)",
    }),
    el("small", { text: bytes(derived.bytes) }),
  );
  if (!open) return line;
  const figures = images.map((file) => figure(file, spec));
  const files = observation.artefacts.filter((file) => !images.includes(file));
  return el(
    "div",
    { class: "lv-obs" },
    line,
    el(
      "div",
      { class: "lv-obs-body" },
      figures.length ? el("div", { class: "lv-figs" }, figures) : null,
      el(
        "div",
        { class: "lv-obs-text" },
        observationText(timeline, call, position),
        files.map((file) =>
          el(
            "a",
            { class: "wb-btn sm", href: `/api/artefacts/${file.sha256}`, download: file.name },
            icon("down", true),
            `${plain(file.name)} · ${bytes(file.size_bytes)}`,
          ),
        ),
      ),
    ),
  );
}

function observationText(timeline, call, position) {
  const { observation, derived } = call;
  const whole = derived.cut ? timeline.full.get(call.id) : observation.text;
  const pre = el("pre", { class: "wb-mono lv-text", tabindex: "0", "aria-label": "Observation" });
  if (whole !== undefined) {
    put(pre, documentLinks(plain(whole.slice(0, SHOWN_CHARS)) || "(empty)"));
    const more =
      whole.length > SHOWN_CHARS
        ? el(
            "p",
            { class: "wb-note" },
            `${count(SHOWN_CHARS)} of ${count(whole.length)} characters are shown. `,
            el("a", {
              class: "lv-link",
              href: observationPath(timeline, call),
              target: "_blank",
              rel: "noopener",
              text: "All of it",
            }),
          )
        : null;
    return [pre, more];
  }
  pre.textContent = plain(observation.text);
  fetchFull(timeline, call, position);
  return [pre, el("p", { class: "wb-note", role: "status", text: `Fetching all ${bytes(derived.bytes)} …` })];
}

function observationPath(timeline, call) {
  return runPath(timeline.run.id, `/observations/${encodeURIComponent(call.id)}`);
}

async function fetchFull(timeline, call, position) {
  const run = timeline.run;
  let text;
  try {
    text = await getText(observationPath(timeline, call));
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    text = `${call.observation.text}\n\n(the rest could not be fetched: ${error.message})`;
  }
  if (timeline.run !== run) return;
  timeline.full.set(call.id, text);
  timeline.update(position);
}

function figure(file, spec) {
  const address = `/api/artefacts/${file.sha256}`;
  const alt = `Figure ${plain(file.name)} returned by ${plain(spec.title)}`;
  return el(
    "figure",
    {},
    el(
      "a",
      { href: address, target: "_blank", rel: "noopener", title: "Open in full size" },
      el("img", { class: "wb-fig", src: address, alt, loading: "lazy" }),
    ),
    el("figcaption", { class: "wb-note", text: `${plain(file.name)} · ${bytes(file.size_bytes)}` }),
  );
}
