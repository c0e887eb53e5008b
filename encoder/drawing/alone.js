// Draws the pictures of a page of its own: a report, a saved file, or a notebook's frame.
import { VIEWS } from "./views.js";

const darkTheme = matchMedia("(prefers-color-scheme: dark)");
const bytesOf = (/** @type {HTMLElement} */ element) =>
  Uint8Array.from(atob(element.dataset.block), (letter) => letter.charCodeAt(0));

for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".drawing"))) {
  const view = new VIEWS[place.dataset.kind](place);
  let data = bytesOf(place);

  // Another layer or head, where the file has it. What is selected stays.
  const answer = async (name, { layer, head }) => {
    if (name !== "open") return;
    const other = /** @type {HTMLElement | null} */ (place.querySelector(`[data-place="${layer} ${head}"]`));
    if (!other) return void (view.note.textContent = `This file does not hold layer ${layer}, head ${head}.`);
    data = bytesOf(other);
    const chooseAgain = [view, view.decoder].map((river) => river?.choice?.kept());
    await view.update({ data, parentElement: place, answer });
    for (const choose of chooseAgain) choose?.();
    view.draw();
  };

  view.update({ data, parentElement: place, answer });
  darkTheme.addEventListener("change", () => view.restyle());
}

// A notebook's frame is as high as its page.
const notebookFrame = /** @type {HTMLElement | null} */ (globalThis.frameElement);
if (notebookFrame) {
  const fitFrame = () => void (notebookFrame.style.height = `${document.documentElement.offsetHeight}px`);
  new ResizeObserver(fitFrame).observe(document.documentElement);
}
