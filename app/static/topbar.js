// What the top bar shows on every page: how many trajectories there are, and the way out where there is a login.

import { byId, el } from "./dom.js";
import { count } from "./format.js";
import { icon } from "./icons.js";
import { getJson } from "./server.js";

const COUNTING = new Set(["live", "trajectories"]); // pages that are told the number with their own answers
const doors = new BroadcastChannel("wb-login");

/** The number of trajectories that the list has unasked: those in the store, rollouts of training apart. */
export function showCount(total) {
  byId("count").textContent = `${count(total)} trajector${total === 1 ? "y" : "ies"}`;
}

export function start(page) {
  // Gradio's <base> would lead every address that is only a fragment to Live.
  document.querySelector(".wb-skip").addEventListener("click", (event) => {
    event.preventDefault();
    const main = byId("main");
    const holds = main.checkVisibility() && main.querySelector("a[href], button, input, textarea, select");
    (holds ? main : (main.previousElementSibling ?? main)).focus(); // the list, where nothing of it is open
  });
  if (!COUNTING.has(page)) {
    ask();
    addEventListener("focus", ask);
  }
  // The bottom bar of a narrow screen scrolls when there are more pages than fit; it has a size once its style is there.
  const bar = document.querySelector(".wb-tabbar");
  const showCurrent = () => bar.querySelector('[aria-current="page"]')?.scrollIntoView({ inline: "center", block: "nearest" });
  new ResizeObserver(showCurrent).observe(bar);
  if (document.querySelector('meta[name="wb-login"]')) offerLogout();
}

async function ask() {
  const found = await getJson("/api/trajectories/count").catch(() => null); // the page itself says what is wrong
  if (found) showCount(found.trajectories);
}

function offerLogout() {
  const leave = () => location.assign("/login");
  const button = el(
    "button",
    {
      class: "wb-btn ghost sm icon",
      id: "logout",
      type: "button",
      "aria-label": "Log out",
      title: "Log out",
      on: {
        click: async () => {
          await fetch("/logout", { method: "POST", redirect: "manual" }).catch(() => {});
          doors.postMessage("out");
          leave();
        },
      },
    },
    icon("door"),
  );
  byId("theme").after(button);
  // The other tabs of this browser have lost the same cookie.
  doors.addEventListener("message", leave);
  addEventListener("pageshow", (event) => event.persisted && location.reload()); // the back button shows nothing kept
}
