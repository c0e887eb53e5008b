// The residual stream of every token as a curve over the model: the length of its vector after each sublayer.
/** @import { ModelView } from "./model_view.js" */
import { svg, threeDigits } from "./drawing.js";

const TICKS = 4;

/** @param {ModelView} view */
export function curves(view) {
  const { header, place, widest } = view;
  // Longer vectors are higher, and further to the right where the layers run down.
  const [zero, full] = place.turned ? [place.top, place.bottom] : [place.bottom, place.top];
  const across = (value) => zero + (full - zero) * value / widest;
  const group = svg("g", { class: "enc-model-curves", "data-part": "river" });
  const at = (x, y) => place.point(x, y).map((pixel) => Math.round(pixel * 10) / 10).join(" ");
  const [start, end] = [place.stages[0], place.stages.at(-1)];
  for (let tick = 0; tick <= TICKS; tick++) {
    const value = widest * tick / TICKS;
    const [x, y] = place.point(start - 4, across(value));
    group.append(svg("path", { d: `M${at(start, across(value))}L${at(end, across(value))}`, class: "enc-model-tick" }));
    group.append(svg("text", { x, y: y + 4, "text-anchor": place.turned ? "middle" : "end" }, threeDigits(value)));
  }
  header.labels.forEach((label, token) => {
    const points = place.stages.map((x, stage) => at(x, across(view.stream(stage, token))));
    group.append(
      svg(
        "path",
        { d: `M${points.join("L")}`, class: "enc-model-curve", "data-token": token },
        svg("title", {}, `Length of the vector of ${label}`),
      ),
    );
  });
  return group;
}
