// The bar of groups and their pages, and the keys of presentation mode. A click on a page presses Streamlit's own link
// of that page, which keeps the session.
const ownLink = (path) =>
  /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll('[data-testid="stSidebarNavLink"]')]).find((link) =>
    new URL(link.href).pathname === path
  );

// What an event is about; the document itself has no `closest`.
export const elementOf = (event) => /** @type {Element} */ (event.target);

/** @type {(selector: string, inside?: ParentNode) => NodeListOf<HTMLElement>} */
const all = (selector, inside = document) => inside.querySelectorAll(selector);

const openers = () => [...all('.enc-pages button[aria-expanded="true"]')];
const isList = (button) => button.classList.contains("enc-list");

// Opens a group, or on narrow screens the list of groups; other groups close.
function show(button, open = button.ariaExpanded !== "true") {
  for (const other of openers()) {
    if (other !== button && (isList(button) || !isList(other))) other.ariaExpanded = "false";
  }
  button.ariaExpanded = String(open);
}

function closeAll() {
  for (const button of openers()) button.ariaExpanded = "false";
}

export function listenToBar() {
  // The group that the pointer opened on its way to a click, which must not close it.
  let reached = null;
  document.addEventListener("click", (event) => {
    const button = elementOf(event).closest?.(".enc-pages button[aria-controls]");
    const isReached = button && button === reached;
    reached = null;
    if (button) return show(button, isReached || undefined);
    /** @type {HTMLAnchorElement | null} */
    const link = elementOf(event).closest?.(".enc-pages a, .enc-tools a");
    if (!link) return closeAll();
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    closeAll();
    const own = ownLink(new URL(link.href).pathname);
    if (!own) return;
    event.preventDefault();
    own.click();
  });
  // With one group open, the pointer opens the next one.
  document.addEventListener("pointerover", (event) => {
    const button = event.pointerType === "mouse" && elementOf(event).closest?.("#enc-groups > li > button");
    const opened = openers().filter((one) => !isList(one));
    if (button && opened.length && opened.every((one) => one !== button && !isNarrow())) {
      reached = button;
      show(button, true);
    }
  });
  document.addEventListener("focusin", (event) => {
    if (!elementOf(event).closest?.(".enc-pages")) closeAll();
  });
  document.addEventListener("keydown", onKey);
}

const isNarrow = () => openers().some(isList);

// Escape closes the open group; the arrows up and down move in it, those to the sides between groups.
function onKey(event) {
  const at = elementOf(event).closest?.(".enc-pages :is(a, button)");
  const opened = openers().at(-1);
  if (event.key === "Escape" && opened) {
    opened.ariaExpanded = "false";
    opened.focus();
    event.preventDefault();
    return;
  }
  const ways = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 };
  if (!at || !(event.key in ways)) return;
  const item = at.closest("#enc-groups > li");
  if (!item) return;
  const inGroup = event.key === "ArrowDown" || event.key === "ArrowUp";
  const [button] = all(":scope > button", item);
  if (inGroup && button && event.key === "ArrowDown") show(button, true);
  const others = inGroup ? [...all("a, button", item)] : [...all("#enc-groups > li > :first-child")];
  const from = others.findIndex((one) => one === (inGroup ? at : item.firstElementChild));
  others[(from + ways[event.key] + others.length) % others.length]?.focus();
  event.preventDefault();
}

const FIELDS = 'input, textarea, select, [contenteditable="true"], [role="textbox"], [role="combobox"]';

/** @type {(inside: ParentNode, selector: string) => void} */
const press = (inside, selector) => /** @type {HTMLElement | null} */ (inside.querySelector(selector))?.click();

// F opens and leaves presentation mode, Esc leaves it; there, PageUp and PageDown, which the remote of a presenter sends,
// turn the steps of an open lesson, and otherwise open the other pages.
export function listenToPresenter() {
  document.addEventListener("keydown", (event) => {
    const at = /** @type {Element} */ (event.composedPath()[0]);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || at.closest?.(FIELDS)) return;
    const presenting = new URL(location.href).searchParams.get("present") === "1";
    if (event.key === "f" || event.key === "F" || (event.key === "Escape" && presenting)) {
      if (!event.repeat) press(document, ".st-key-present button, .st-key-leave-presentation button");
    } else if (presenting && ["PageUp", "PageDown"].includes(event.key)) {
      const lesson = document.querySelector(".st-key-lesson-panel, .st-key-lesson-card");
      const names = [...all("#enc-groups a")];
      const here = names.findIndex((name) => name.ariaCurrent === "page");
      if (lesson) press(lesson, `.st-key-lesson-${event.key === "PageUp" ? "back" : "next"} button`);
      else names[here + (event.key === "PageUp" ? -1 : 1)]?.click();
    } else return;
    event.preventDefault();
  });
}
