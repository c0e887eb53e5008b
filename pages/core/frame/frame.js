// Streamlit's text area runs on Ctrl+Enter; people press Enter.
import { PRINTING } from "../../../encoder/drawing/printing.js";
import { listenToMoves } from "./moves.js";
import { elementOf, listenToBar, listenToPresenter } from "./page_keys.js";

listenToBar();
listenToPresenter();
listenToMoves();
document.addEventListener("keydown", (event) => {
  const field = event.target;
  if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.isComposing) return;
  if (!(field instanceof HTMLTextAreaElement) || !/^(Sentence|Second sentence)$/.test(field.ariaLabel ?? "")) return;
  event.preventDefault();
  event.stopPropagation();
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true }));
}, true);
// Streamlit gives the place for a file both a name and the role "presentation", which contradict each other. The name
// of a widget is its label with the marks of Markdown that hide marks of foreign text: "Hide \[CLS\]".
new MutationObserver(() => {
  const zone = document.querySelector('[data-testid="stFileUploaderDropzone"][role="presentation"]');
  zone?.removeAttribute("role");
  for (const one of document.querySelectorAll('.stMain [aria-label*="\\\\"]')) {
    const name = one.ariaLabel.replace(/\\([\p{P}\p{S}])/gu, "$1");
    if (name !== one.ariaLabel) one.ariaLabel = name;
  }
}).observe(document.body, { childList: true, subtree: true, attributeFilter: ["aria-label"] });
// Streamlit's link leads to the beginning of the page, where the bar is.
document.addEventListener("click", (event) => {
  if (!elementOf(event).closest?.('[data-testid="stSkipToContent"]')) return;
  /** @type {HTMLElement | null} */
  const start = document.querySelector(".st-key-input, .stMain h1");
  if (!start) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  start.tabIndex = -1;
  start.focus();
}, true);
// A step of a lesson begins at the top of its page.
document.addEventListener("click", (event) => {
  const turns = ':is([class*="st-key-lesson-next"], [class*="st-key-lesson-back"], [class*="st-key-lessons-start"])';
  if (elementOf(event).closest?.(turns)) document.querySelector(".stMain")?.scrollTo(0, 0);
}, true);
// A printed page has the width of its paper: the drawings are drawn for it before the browser makes the pages.
window.addEventListener("beforeprint", () => {
  document.documentElement.classList.add(PRINTING);
  window.dispatchEvent(new Event(PRINTING));
});
window.addEventListener("afterprint", () => document.documentElement.classList.remove(PRINTING));
