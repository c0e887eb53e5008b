// The bar of page names, and the keys of presentation mode. A click on a name presses Streamlit's own link of that page,
// which keeps the session.
const ownLink = (path) =>
  [...document.querySelectorAll('[data-testid="stSidebarNavLink"]')].find((link) =>
    new URL(link.href).pathname === path
  );

export function listenToBar() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.(".enc-pages a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const own = ownLink(new URL(link.href).pathname);
    if (!own) return;
    event.preventDefault();
    own.click();
  });
}

const FIELDS = 'input, textarea, select, [contenteditable="true"], [role="textbox"], [role="combobox"]';

// F opens and leaves presentation mode, Esc leaves it; there, PageUp and PageDown, which the remote of a presenter sends,
// turn the steps of an open lesson, and otherwise open the other pages.
export function listenToPresenter() {
  document.addEventListener("keydown", (event) => {
    const at = event.composedPath()[0];
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || at.closest?.(FIELDS)) return;
    const presenting = new URL(location.href).searchParams.get("present") === "1";
    if (event.key === "f" || event.key === "F" || (event.key === "Escape" && presenting)) {
      if (!event.repeat) document.querySelector(".st-key-present button, .st-key-leave-presentation button")?.click();
    } else if (presenting && ["PageUp", "PageDown"].includes(event.key)) {
      const lesson = document.querySelector(".st-key-lesson-panel");
      const names = [...document.querySelectorAll(".enc-pages a")];
      const here = names.findIndex((name) => name.ariaCurrent === "page");
      if (lesson) lesson.querySelector(`.st-key-lesson-${event.key === "PageUp" ? "back" : "next"} button`)?.click();
      else names[here + (event.key === "PageUp" ? -1 : 1)]?.click();
    } else return;
    event.preventDefault();
  });
}
