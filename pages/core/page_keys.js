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

// F opens and leaves presentation mode, Esc leaves it; there, PageUp and PageDown open the other pages, as the remote of
// a presenter does.
export function listenToPresenter() {
  document.addEventListener("keydown", (event) => {
    const at = event.composedPath()[0];
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || at.closest?.(FIELDS)) return;
    const presenting = new URL(location.href).searchParams.get("present") === "1";
    if (event.key === "f" || event.key === "F" || (event.key === "Escape" && presenting)) {
      if (!event.repeat) document.querySelector(".st-key-present button, .st-key-leave-presentation button")?.click();
    } else if (presenting && ["PageUp", "PageDown"].includes(event.key)) {
      const names = [...document.querySelectorAll(".enc-pages a")];
      const here = names.findIndex((name) => name.ariaCurrent === "page");
      names[here + (event.key === "PageUp" ? -1 : 1)]?.click();
    } else return;
    event.preventDefault();
  });
}
