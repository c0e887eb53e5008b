// Draws lines, shaded texts and the whole model in a page of their own: a report, or a notebook's frame.
import { LinesView } from "./lines_view.js";
import { ModelView } from "./model_view.js";
import { TextView } from "./text_view.js";

const VIEWS = { lines: LinesView, model_picture: ModelView, text_shade: TextView };
const darkTheme = matchMedia("(prefers-color-scheme: dark)");

for (const place of document.querySelectorAll(".drawing")) {
  const data = Uint8Array.from(atob(place.dataset.block), (letter) => letter.charCodeAt(0));
  const view = new VIEWS[place.dataset.kind](place);
  const draw = () => view.update({ data, parentElement: place });
  draw();
  darkTheme.addEventListener("change", draw);
}

// A notebook's frame is as high as its page.
const notebookFrame = globalThis.frameElement;
if (notebookFrame) {
  const fitFrame = () => void (notebookFrame.style.height = `${document.documentElement.offsetHeight}px`);
  new ResizeObserver(fitFrame).observe(document.documentElement);
}
