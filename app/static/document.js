// A document is plain HTML. This gives it the theme that was chosen elsewhere, its pictures too, marks the section that
// is read in the list beside it, and lets Tab pass over boxes in which nothing scrolls.

import { start } from "./theme.js";

const READ_FROM = 80; // a heading that was led to stands a little above, under the top bar

start();

const dark = [...document.querySelectorAll("picture > source")];
const showPictures = () => {
  const chosen = document.documentElement.classList.contains("dark") ? "screen" : "not all"; // paper is light
  for (const source of dark) source.media = chosen;
};
showPictures();
new MutationObserver(showPictures).observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });

const boxes = new ResizeObserver((entries) => {
  for (const { target } of entries) target.tabIndex = target.scrollWidth > target.clientWidth ? 0 : -1;
});
for (const box of document.querySelectorAll(".dc-box")) boxes.observe(box);

const side = document.querySelector(".dc-side");
if (side) followReading(side);

/** The last heading that has come up to the top of the window is the one that is read. */
function followReading(list) {
  const links = [...list.querySelectorAll("a")];
  const heads = links.map((link) => document.getElementById(link.hash.slice(1)));
  let current = null;
  const mark = () => {
    const next = links[heads.findLastIndex((head) => head.getBoundingClientRect().top < READ_FROM)];
    if (next === current) return;
    current?.removeAttribute("aria-current");
    next?.setAttribute("aria-current", "location");
    current = next;
    if (!next) return;
    const [top, listTop] = [next, list].map((one) => one.getBoundingClientRect().top);
    list.scrollTop += top - listTop - list.clientHeight / 2;
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
}
