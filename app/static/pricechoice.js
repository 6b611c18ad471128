// The price table in use, which Live's composer and Tools & prices remember in one place.

function kept() {
  try {
    return JSON.parse(localStorage.getItem("wb-order")) ?? {};
  } catch {
    return {};
  }
}

export const remembered = () => kept().prices ?? null;

/** The composer of Live takes its price table from here. */
export function remember(name) {
  try {
    localStorage.setItem("wb-order", JSON.stringify({ ...kept(), prices: name }));
  } catch {
    // storage is switched off: the choice holds for this page
  }
}
