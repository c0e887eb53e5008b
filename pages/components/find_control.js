// Opens the control that an entry of the search names, as soon as its page shows it.
import { asking } from "./find_asking.js";

// Milliseconds between two looks, how many looks there are, and for how long the control has a frame.
const LOOK = 150, LOOKS = 100, FRAMED = 2500;
// The page that has every control of an input.
const WITH_INPUT = "heads";
// What takes the keys, rather than a label's help.
const INSIDE = ["textarea, input, select", "button, summary", "[tabindex]"];
// Parts that a press opens. Pressing any other control would change something, so it is focused only.
const OPENS = /^(lazy-|adjust-|menu$)/;

// The element of a control by its key; Streamlit's own menu has none.
function find(key) {
  if (key === "menu") return document.querySelector("[data-testid=stMainMenu]");
  return document.querySelector(`.st-key-${CSS.escape(key)}`);
}

function isReady(box) {
  return box?.getClientRects().length && !box.closest("[data-stale=true]");
}

function open(key, box) {
  const control = INSIDE.map((kind) => box.querySelector(kind)).find(Boolean) ?? box;
  box.scrollIntoView({ block: "center" });
  control.focus();
  const isOpen = control.getAttribute("aria-expanded") === "true" || control.closest("details")?.open;
  if (OPENS.test(key) && !isOpen) control.click();
  box.classList.add("enc-found");
  setTimeout(() => box.classList.remove("enc-found"), FRAMED);
}

function look(wanted, left) {
  if (wanted !== globalThis.__encoderscopeWanted || !left) return;
  const isThere = !wanted.page || wanted.page === asking().page;
  const box = isThere ? find(wanted.key) : null;
  if (!isReady(box)) {
    setTimeout(look, LOOK, wanted, left - 1);
    return;
  }
  globalThis.__encoderscopeWanted = null;
  open(wanted.key, box);
}

// Open an entry's control when its page shows it, and return that page: "" for the open one. The last one that was
// chosen counts. A control that needs the entry's values appears with them, next to those of the input.
export function openLater({ control, page, values }) {
  globalThis.__encoderscopeWanted = null;
  if (!control) return page;
  const isHere = find(control) || (Object.keys(values).length && find("input"));
  const there = page || (isHere ? "" : WITH_INPUT);
  const wanted = globalThis.__encoderscopeWanted = { key: control, page: there };
  setTimeout(look, LOOK, wanted, LOOKS);
  return there;
}
