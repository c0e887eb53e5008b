// Streamlit's text area runs on Ctrl+Enter; people press Enter. When a visitor opens a page, Streamlit pushes the
// address without the view, which is added a moment later. Without this script, the first Back would lead from the
// whole address to the one without the view, and nothing would change.
import { listenToBar, listenToPresenter } from "./page_keys.js";

if (!window.__encoderscopeFrame) {
  window.__encoderscopeFrame = true;
  listenToBar();
  listenToPresenter();
  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    if (!(field instanceof HTMLTextAreaElement) || !/^(Sentence|Second sentence)$/.test(field.ariaLabel ?? "")) return;
    event.preventDefault();
    event.stopPropagation();
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true }));
  }, true);
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.(".enc-bar button")) return;
    const opener = document.querySelector('[data-testid="stExpandSidebarButton"]');
    (opener?.querySelector("button") ?? opener)?.click();
  });
  // Streamlit gives the place for a file both a name and the role "presentation", which contradict each other. Its list
  // of pages has sections between the list and its items: without these roles it is a group of links.
  const pageList = '[data-testid="stSidebarNavItems"]';
  new MutationObserver(() => {
    const zone = document.querySelector('[data-testid="stFileUploaderDropzone"][role="presentation"]');
    zone?.removeAttribute("role");
    const items = document.querySelectorAll(`${pageList}:not([role]), ${pageList} li:not([role])`);
    items.forEach((item) => item.setAttribute("role", "none"));
  }).observe(document.body, { childList: true, subtree: true });
  // Streamlit's link leads to the beginning of the page, where the bar is.
  document.addEventListener("click", (event) => {
    if (!event.target.closest?.('[data-testid="stSkipToContent"]')) return;
    const start = document.querySelector(".st-key-input, .stMain h1");
    if (!start) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    start.tabIndex = -1;
    start.focus();
  }, true);
  let bare = false; // a page was just opened, and its address does not hold the view yet
  const push = history.pushState.bind(history);
  history.pushState = (state, unused, url) => {
    const next = new URL(url ?? location.href, location.href);
    const other = next.pathname !== location.pathname;
    if (bare && !other && !location.search) history.replaceState(state, unused, url);
    else push(state, unused, url);
    bare = other && !next.search;
  };
  for (const act of ["pointerdown", "keydown", "popstate"]) {
    window.addEventListener(act, () => {
      bare = false;
    }, true);
  }
}
