// The bar of page names: a click presses Streamlit's own link of that page, which keeps the session.
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
