// The cards of a timeline by keyboard.

/** Move the focus among the cards; the first press takes the last card. */
export function moveCard(step) {
  drawNext(step);
  const cards = [...document.querySelectorAll(".wb-call")];
  if (cards.length === 0) return false;
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  const next = cards[at < 0 ? (step > 0 ? 0 : cards.length - 1) : Math.min(cards.length - 1, Math.max(0, at + step))];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

/** In a long run the card to go to may stand in a gap. */
function drawNext(step) {
  const item = focusedCard()?.closest("li");
  const list = document.querySelector(".wb-tl");
  const next = item
    ? step > 0
      ? item.nextElementSibling
      : item.previousElementSibling
    : step > 0
      ? list?.firstElementChild
      : [...(list?.children ?? [])].findLast((one) => one.matches(".wb-turn, .lv-gap"));
  next?.show?.();
}

const focusedCard = () => document.activeElement?.closest(".wb-call") ?? null;

/** Fold or unfold the card that has the focus. */
export function foldCard(open) {
  const button = focusedCard()?.querySelector("[data-fold]");
  if (!button) return false;
  if ((button.getAttribute("aria-expanded") === "true") !== open) button.click();
  return true;
}

/** Open or close the observation of the focused card. */
export function openObservation() {
  const card = document.activeElement;
  if (!card?.classList.contains("wb-call")) return false;
  const button = card.querySelector("[data-observation]");
  button?.click();
  return button !== null;
}
