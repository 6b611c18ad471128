// Light or dark: the remembered choice, else the system's. Gradio sets its own class once; ours stays.

const KEY = "wb-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage is switched off: the system's theme it is
  }
}

const wanted = () => remembered() ?? (system.matches ? "dark" : "light");

function apply() {
  const dark = wanted() === "dark";
  for (const node of [document.documentElement, document.body]) {
    if (node.classList.contains("dark") !== dark) node.classList.toggle("dark", dark);
  }
}

export function flip() {
  try {
    localStorage.setItem(KEY, wanted() === "dark" ? "light" : "dark");
  } catch {
    return;
  }
  apply();
}

export function start() {
  apply();
  system.addEventListener("change", apply);
  addEventListener("storage", apply);
  new MutationObserver(apply).observe(document.body, { attributes: true, attributeFilter: ["class"] });
}
