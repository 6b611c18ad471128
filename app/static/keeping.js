// What a reader chose, kept in this browser; where storage is switched off it lasts as long as the page.

const here = new Map();

export function kept(key, usual) {
  try {
    const text = localStorage.getItem(key);
    return text === null ? (here.get(key) ?? usual) : JSON.parse(text);
  } catch {
    return here.get(key) ?? usual;
  }
}

export function keep(key, value) {
  here.set(key, value);
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // kept for this page only
  }
}
