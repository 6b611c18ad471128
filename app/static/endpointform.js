// An endpoint, new or changed: its address, its model, and the name of the variable with its key. Never the key.

import { el, put } from "./dom.js";
import { plain } from "./format.js";
import { Refused, postJson, putJson } from "./server.js";

const LOOKS_LIKE_A_KEY =
  /\b(sk|pk|nvapi|gsk|hf|tvly|ghp|xai|tgp|AIza)[-_]?[A-Za-z0-9_-]{16,}|\bBearer\s+\S+|\b(?=\S*\d)(?=\S*[A-Za-z])[A-Za-z0-9]{32,}\b/;
const KEY_WORDS =
  "This looks like a key, and keys do not belong into files. Give it to an environment variable, such as LAB_API_KEY, write that name here, and start the workbench again.";

const FIELDS = [
  ["name", "Name", "lab/qwen3-8b", "Provider and name, with a slash between. A known provider needs no address.", true],
  ["base_url", "Address", "http://127.0.0.1:8000/v1", "Where its OpenAI-compatible API is.", false],
  ["model", "Model", "Qwen/Qwen3-8B", "What the server calls it.", true],
  [
    "key_env",
    "Variable with the key",
    "LAB_API_KEY",
    "The name of an environment variable, never the key itself. Empty when it needs none.",
    false,
  ],
  ["title", "Title", "Qwen3 8B", "How it is called here; the model's name when empty.", false],
];
const KINDS = ["generalist", "maths", "code", "orchestrator"];

const DOOR = ["base_url", "key_env"];
const ADD = {
  title: "Add an endpoint",
  words: "It is written into endpoints.toml in the workbench's home, as an orchestrator and as a tool.",
  save: "Add it",
  send: (values) => postJson("/api/endpoints", values),
};
const EDIT = {
  title: "Change this endpoint",
  words:
    "Its entry in endpoints.toml changes when all of it holds. Runs that go on keep what they began with; the address and the variable are those of its provider, for all its models.",
  save: "Save",
  send: (values) => putJson(`/api/endpoints/${encodeURI(values.name)}`, values),
};

/**
 * Open the form in `dialog`; `done(name)` is told when the endpoint is in the file. `own` is one of the user's own
 * that is to be changed, with `door` saying whether its address may be.
 */
export function endpointForm(dialog, done, own = null) {
  const way = own ? EDIT : ADD;
  const fixed = (name) => own !== null && (name === "name" || (!own.door && DOOR.includes(name)));
  const inputs = {};
  const problem = el("p", { class: "tp-bad", role: "alert", hidden: true, id: "endpoint-problem" });
  const say = (words) => {
    problem.hidden = words === null;
    problem.textContent = words ?? "";
  };
  const fields = FIELDS.map(([name, title, example, hint, required]) => {
    const id = `ep-${name}`;
    inputs[name] = el("input", {
      id,
      type: "text",
      value: own?.endpoint[name] ?? "",
      disabled: fixed(name),
      autocomplete: "off",
      spellcheck: "false",
      placeholder: example,
      "aria-required": String(required),
      "aria-describedby": `${id}-note`,
      on: { input: () => say(LOOKS_LIKE_A_KEY.test(inputs[name].value) ? KEY_WORDS : null) },
    });
    return el(
      "div",
      { class: "tp-field" },
      el("label", { for: id, class: "tp-label" }, el("b", { text: title })),
      el("span", { class: "wb-in" }, inputs[name]),
      el("p", { class: "wb-note", id: `${id}-note`, text: fixed(name) ? fixedWords(name) : hint }),
    );
  });
  const kind = el(
    "select",
    { id: "ep-kind" },
    KINDS.map((value) => el("option", { value, text: value })),
  );
  kind.value = own?.endpoint.kind ?? KINDS[0];
  const tokens = String(own?.endpoint.context ?? 32768);
  const context = el("input", { id: "ep-context", type: "number", min: "1024", step: "1", value: tokens });
  const save = el("button", { class: "wb-btn primary", text: way.save });
  const form = el(
    "form",
    {
      novalidate: true,
      on: {
        submit: async (event) => {
          event.preventDefault();
          const values = Object.fromEntries(
            Object.entries(inputs).map(([name, input]) => [name, input.value.trim() || null]),
          );
          // A key is told apart here already, so that it does not even leave this page.
          if (Object.values(values).some((value) => value && LOOKS_LIKE_A_KEY.test(value))) return say(KEY_WORDS);
          if (!values.name || !values.model) return say("Give it a name and a model.");
          save.disabled = true;
          try {
            const made = await way.send({
              ...values,
              kind: kind.value,
              context: Number(context.value) || 32768,
            });
            dialog.close();
            await done(made.name);
          } catch (error) {
            if (!(error instanceof Refused)) throw error;
            say(plain(error.message));
          }
          save.disabled = false;
        },
      },
    },
    fields,
    el(
      "div",
      { class: "tp-two" },
      el(
        "div",
        { class: "tp-field" },
        el("label", { for: "ep-kind", class: "tp-label" }, el("b", { text: "Good at" })),
        el("span", { class: "wb-sel lv-pick" }, kind),
      ),
      el(
        "div",
        { class: "tp-field" },
        el("label", { for: "ep-context", class: "tp-label" }, el("b", { text: "Context, tokens" })),
        el("span", { class: "wb-in" }, context),
      ),
    ),
    problem,
    el(
      "div",
      { class: "lv-actions" },
      save,
      el("button", { class: "wb-btn", type: "button", text: "Cancel", on: { click: () => dialog.close() } }),
    ),
  );
  put(
    dialog,
    el("header", {}, el("h2", { id: "dialog-title", text: way.title })),
    el("p", { class: "wb-note", text: way.words }),
    form,
  );
  dialog.showModal();
  inputs[own ? "model" : "name"].focus();
}

const fixedWords = (name) =>
  name === "name"
    ? "An endpoint keeps its name: trajectories call it by that."
    : "Written by hand, or shipped: it is changed in endpoints.toml alone.";
