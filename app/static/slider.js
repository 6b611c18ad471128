// Sliders: a goal from 0 to 1, or a tool from avoid (-1) to prefer (1).

import { el } from "./dom.js";
import { weight } from "./format.js";

/** A tool's weight as a word. */
export const word = (value) =>
  value <= -0.75 ? "avoid" : value < -0.15 ? "less" : value <= 0.15 ? "neutral" : value < 0.75 ? "more" : "prefer";

/** One slider from `min` to 1, its track filled from zero to the thumb. */
export function slider({ id, title, hint, min, value, shown, box, on, below }) {
  const output = el("output", { for: id });
  const input = el("input", { id, type: "range", min, max: 1, step: 0.05 });
  const paint = () => {
    const now = Number(input.value);
    const place = (v) => ((v - min) / (1 - min)) * 100;
    input.style.setProperty("--wb-a", `${Math.min(place(now), place(0))}%`);
    input.style.setProperty("--wb-b", `${Math.max(place(now), place(0))}%`);
    const track = now < 0 ? "var(--wb-neg)" : min < 0 && now === 0 ? "var(--wb-line-strong)" : "var(--wb-accent)";
    input.style.setProperty("--wb-f", track);
    output.textContent = shown(now);
    output.className = (min < 0 ? Math.abs(now) > 0.15 : now > 0) ? "on" : "";
    input.setAttribute("aria-valuetext", min < 0 ? `${word(now)} ${weight(now)}` : weight(now));
  };
  const set = (next) => {
    input.value = next;
    paint();
    on(Number(input.value));
  };
  input.value = value;
  paint();
  input.addEventListener("input", () => set(input.value));
  input.addEventListener("dblclick", () => set(0));
  input.addEventListener("keydown", (event) => {
    if (event.key === "0") set(0);
  });
  return el(
    "div",
    { class: min < 0 ? "wb-sld bi" : "wb-sld" },
    box ?? el("span"),
    el("label", { for: id, title: hint, text: title }),
    output,
    input,
    below ? el("span", { class: "sub" }, below) : null,
  );
}
