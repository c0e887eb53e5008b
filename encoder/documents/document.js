// Draws every figure of a report in the reader's colours, and again when those change.
import { drawFigure } from "../drawing/figure_view.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".figure"))) {
  const source = document.getElementById(place.dataset.source).textContent;
  const draw = () => {
    const style = getComputedStyle(document.documentElement);
    const names = ["text", "muted", "ground", "line"];
    const colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    return drawFigure(place, JSON.parse(source), colours, place.getAttribute("aria-label"));
  };
  draw();
  dark.addEventListener("change", draw);
}
