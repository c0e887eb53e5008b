// Values on their way: a dot runs along each line of the selected token, from the key to the query, and arrives there. A
// dot is as large as its weight.
/** @import { ModelView } from "./model_view.js" */
import { svg } from "./drawing.js";

const FLOW_MS = 1600; // from a key to the query
const LEAST_FLOW = 0.02; // a weight; smaller dots cannot be seen
const FLOW_RADIUS = 7; // pixels, of weight 1

// Start the dots, or remove them. Each runs three times and stays at its end.
/** @param {ModelView} view @param {boolean | undefined} flows */
export function flowTo(view, flows) {
  view.drawing.querySelector(".enc-model-flow")?.remove();
  const query = view.token ?? view.header.query ?? Math.min(1, view.header.labels.length - 1);
  const lines = flows ? view.marked(`.enc-model-lines path[data-token="${query}"]`) : [];
  if (!lines.length) return;
  const group = svg("g", { class: "enc-model-flow", "aria-hidden": "true" });
  for (const line of lines) {
    const weight = view.weight(query, Number(line.dataset.key));
    if (weight < LEAST_FLOW) continue;
    const dot = svg("circle", { r: (FLOW_RADIUS * Math.sqrt(weight)).toFixed(1) });
    dot.style.offsetPath = `path("${line.getAttribute("d")}")`;
    dot.animate([{ offsetDistance: "0%" }, { offsetDistance: "100%" }], {
      duration: FLOW_MS,
      iterations: 3,
      easing: "ease-in-out",
      fill: "forwards",
    });
    group.append(dot);
  }
  view.drawing.firstElementChild.append(group);
}
