// The menus of the Reward page: groups, prices and tools as what-if; and the example that can be checked by hand.

import { byId, el, put } from "./dom.js";
import { count, plain, plural, usd } from "./format.js";
import { kindBox, nominalBadge } from "./marks.js";
import { EXAMPLE } from "./rewardexample.js";
import { RECORDED } from "./rewardlab.js";
import { report } from "./rewardmath.js";
import { fixed } from "./rewardwhy.js";

/** The groups of the store into a list; null while they are not known yet, or cannot be for the `problem`. */
export function drawGroups(host, groups, problem = "") {
  if (groups === null)
    return put(host, el("p", { class: problem ? "wb-alert bad" : "wb-note", text: problem || "Looking for groups …" }));
  const line = (group) =>
    el(
      "li",
      {},
      el(
        "a",
        { href: `/reward?${new URLSearchParams({ group: group.name })}` },
        el("b", { class: "lv-cut", text: plain(group.task) }),
        el("span", {
          class: "wb-note lv-cut",
          text: `${plain(group.name)} · ${plural(group.runs, "rollout")}, ${count(group.ungraded)} ungraded${group.running ? `, ${count(group.running)} going on` : ""}`,
        }),
      ),
    );
  return put(
    host,
    groups.length ? el("ul", {}, groups.map(line)) : el("p", { class: "wb-note", text: "There is no group yet." }),
    host.id === "groups" ? el("a", { class: "wb-link", href: "/reward?example", text: "Worked example" }) : null,
  );
}

/** The price tables, those that cannot price the group with their reason. `on(key)` chooses one. */
export function drawPrices(host, lab, on) {
  byId("prices-now").textContent = lab.table ? plain(lab.table.name) : "";
  const option = (table) =>
    el(
      "li",
      {},
      el(
        "label",
        { class: "rw-option" },
        el("input", {
          type: "radio",
          name: "prices",
          value: table.key,
          checked: table.key === lab.prices,
          disabled: Boolean(table.refused) && table.key !== lab.prices,
          on: { change: () => on(table.key) },
        }),
        el(
          "span",
          {},
          el("b", { text: plain(table.name) }),
          ` ${table.dated} `,
          table.key === RECORDED ? "as it was played " : "",
          table.nominal ? nominalBadge(true) : null,
          table.refused ? el("small", { text: plain(table.refused) }) : null,
        ),
      ),
    );
  put(
    host,
    el("p", { class: "wb-note", text: "What the same calls cost under another table:" }),
    el("ul", {}, lab.data.prices.map(option)),
  );
}

/** The tools on offer. `on(name, isOn)` takes one away, or gives it back. */
export function drawSubset(host, lab, on) {
  const { tools } = lab.data;
  byId("subset-now").textContent = `${tools.length - lab.without.size} of ${tools.length}`;
  const box = (tool) =>
    el(
      "label",
      {},
      el("input", {
        type: "checkbox",
        checked: !lab.without.has(tool.name),
        on: { change: (event) => on(tool.name, event.target.checked) },
      }),
      kindBox(tool.kind, tool.name),
      plain(tool.title),
    );
  put(
    host,
    el("p", { class: "wb-note", text: "A rollout that called a tool which is not on offer is left out." }),
    tools.map(box),
  );
}

/** The worked example in both modes. */
export function drawByHand(host, { link }) {
  const { rollouts, preference } = EXAMPLE;
  const [paper, released] = ["paper", "released_code"].map((mode) => report(rollouts, [], preference, mode).reward);
  const cell = (rewards, at) => el("td", { class: "n" }, el(rewards[at] === Math.max(...rewards) ? "b" : "span", { text: fixed(rewards[at]) }));
  const head = ["Rollout", "Cost", "paper", "released_code"];
  put(
    host,
    el(
      "table",
      { class: "wb-tbl tight" },
      el("thead", {}, el("tr", {}, head.map((text, n) => el("th", { scope: "col", class: n ? "n" : null, text })))),
      el(
        "tbody",
        {},
        rollouts.map((one, at) =>
          el("tr", {}, el("td", { text: one.id }), el("td", { class: "n", text: usd(one.cost_usd) }), cell(paper, at), cell(released, at)),
        ),
      ),
    ),
    el("p", {
      class: "wb-note rw-hand",
      text: "paper: (0.10 − c) / 0.09. released_code: 0.10 / 0.09 + (c + 0.10) / 0.09; the sign of the cost is lost and a constant is added, so the dearest of three correct rollouts wins.",
    }),
    el("p", {
      class: "wb-note rw-hand",
      text: "This is the arithmetic found in public code, kept to reproduce it. It is no claim about a trained model.",
    }),
    link ? el("a", { class: "wb-link", href: "/reward?example", text: "Open these three" }) : null,
  );
}
