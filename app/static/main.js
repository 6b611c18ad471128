// Starts whichever page this is, once Gradio has put its skeleton into the document.

import { ready, styled } from "./dom.js";
import { icon } from "./icons.js";
import * as theme from "./theme.js";
import * as topbar from "./topbar.js";

theme.start();
const root = await ready("wb");
await styled();
document.getElementById("theme").replaceChildren(icon("half"));
for (const node of root.querySelectorAll("[data-icon]"))
  node.replaceChildren(icon(node.dataset.icon, "small" in node.dataset));
topbar.start(root.dataset.page);
document.title = `${root.querySelector(".wb-nav [aria-current]").textContent} · Orchestra Workbench`;
const page = await import(`./${root.dataset.page}.js`);
await page.start();
root.dataset.ready = "";
