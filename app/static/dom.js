// Building the page: elements from names, properties and children. Text goes in as text nodes and in no other way.

const SVG = "http://www.w3.org/2000/svg";
const AS_PROPERTY = new Set(["hidden", "disabled", "value", "checked", "tabIndex", "open"]);

/** An element. `props`: `class`, `text`, `on` (listeners), `style` (custom properties), properties and attributes. */
export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "text") node.textContent = value;
    else if (name === "on")
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "style") for (const [key, part] of Object.entries(value)) node.style.setProperty(key, part);
    else if (AS_PROPERTY.has(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...present(children));
  return node;
}

/** Put these children in the place of all that a node holds. */
export function put(node, ...children) {
  node.replaceChildren(...present(children));
  return node;
}

/** Children in one row, without those that are not there. */
function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

export const byId = (id) => document.getElementById(id);

/** Resolves once our style sheets apply: without them Gradio's own bar is there to be tabbed into, and widths are wrong. */
export function styled() {
  const links = [...document.querySelectorAll('link[rel="stylesheet"][href^="/wb/"]')];
  const come = (link) =>
    link.sheet ??
    new Promise((resolve) => {
      for (const event of ["load", "error"]) link.addEventListener(event, resolve, { once: true });
    });
  return Promise.all(links.map(come));
}

/** Resolves with the page's root once Gradio has drawn it. */
export function ready(id) {
  return new Promise((resolve) => {
    const found = byId(id);
    if (found) return resolve(found);
    const watcher = new MutationObserver(() => {
      const node = byId(id);
      if (!node) return;
      watcher.disconnect();
      resolve(node);
    });
    watcher.observe(document.documentElement, { childList: true, subtree: true });
  });
}
