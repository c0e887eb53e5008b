// The drawings as functions for a page of another project; `docs/npm.py` writes their package.
import { GridView } from "../../drawing/grid_view.js";
import { LinesView } from "../../drawing/lines_view.js";
import { make } from "../../drawing/drawing.js";
import { TextView } from "../../drawing/text_view.js";
import { choicesOf } from "./choices.js";
import { pack } from "./pack.js";
import { gridPicture, linesPicture, textPicture } from "./pictures.js";

const THEME = Uint8Array.from(COLOURS); // [256 x 3] bytes: the colour of each weight, from `encoder/figures/colours.py`
const HEAD_PICTURES = { lines: [LinesView, linesPicture], text: [TextView, textPicture] };
const MOST_DRAWN = 512; // tokens
const NOTHING = { layer: 0, head: 0, query: null, key: null };

// Draws all heads as small maps and one head as lines or as shaded text. components.d.ts describes the arguments.
export function drawHeads(element, trace, { view = "lines", onSelect = (_) => {}, ...start } = {}) {
  const read = readTrace(trace);
  if (!Object.hasOwn(HEAD_PICTURES, view)) throw new Error(`view: “${view}” is unknown: choose lines or text.`);
  const [View, picture] = HEAD_PICTURES[view];
  let place = checkedPlace({ ...NOTHING, ...start }, read);
  const places = ["grid", "head"].map(() => make("div", { class: "drawing" }));
  element.append(...places);
  const [grid, head] = [new GridView(places[0]), new View(places[1])];

  const setStateValue = (name, events) => {
    const { i, j, layer = place.layer, head = place.head } = choicesOf(name, events.at(-1));
    draw({ layer, head, query: i === undefined ? place.query : i, key: j === undefined ? place.key : j });
    onSelect({ ...place });
  };
  const show = (one, parentElement, { header, arrays }) =>
    one.update({ data: pack(header, arrays), parentElement, setStateValue });
  const draw = (next) => {
    place = next;
    show(grid, places[0], gridPicture(read.model, read.trace, place, THEME));
    show(head, places[1], picture(read.trace, read.labels, place));
  };
  const restyle = () => [grid, head].forEach((one) => one.restyle());
  const darkScheme = matchMedia("(prefers-color-scheme: dark)");
  darkScheme.addEventListener("change", restyle);
  draw(place);
  return {
    select: (values) => draw(checkedPlace({ ...place, ...values }, read)),
    destroy() {
      darkScheme.removeEventListener("change", restyle);
      for (const one of [grid, head]) one.destroy();
      for (const one of places) one.remove();
    },
  };
}

// What the pictures need of {tokens, attention, special}. Raises an Error that says what does not fit.
function readTrace({ tokens, attention, special = [] }) {
  const [nTokens, nLayers, nHeads] = [tokens.length, attention.length, attention[0]?.length ?? 0];
  if (!nTokens || !nLayers || !nHeads) throw new Error("A trace needs tokens, and attention[layer][head].");
  if (nTokens > MOST_DRAWN) {
    throw new Error(`${nTokens} tokens are too many: pass up to ${MOST_DRAWN}, with their weights.`);
  }
  const layers = attention.map((heads, layer) => {
    if (heads.length !== nHeads) throw new Error(`Layer ${layer} has ${heads.length} heads, and layer 0 ${nHeads}.`);
    return { pattern: heads.map((weights, head) => readWeights(weights, nTokens, `L${layer} H${head}`)) };
  });
  return {
    labels: Array.from(tokens, String),
    trace: { layers, nTokens, special },
    model: { encoder: { config: { n_layers: nLayers, n_heads: nHeads } } },
  };
}

// The weights of a head as one array [T x T], from rows or from one array.
function readWeights(weights, nTokens, name) {
  const isRows = typeof weights[0] !== "number";
  if (isRows && Array.from(weights).some((row) => row.length !== nTokens)) {
    throw new Error(`${name} needs rows of ${nTokens} weights, one for each token.`);
  }
  const flat = Float32Array.from(isRows ? Array.from(weights).flatMap((row) => Array.from(row)) : weights);
  if (flat.length !== nTokens ** 2) {
    throw new Error(`${name} has ${flat.length} weights: ${nTokens} tokens need ${nTokens ** 2}.`);
  }
  if (flat.some((weight) => !(weight >= 0 && weight <= 1.001))) {
    throw new Error(`${name} has weights outside 0 to 1: pass attention after the softmax.`);
  }
  return flat;
}

function checkedPlace({ layer, head, query, key }, { trace: { layers, nTokens } }) {
  const counts = { layer: layers.length, head: layers[0].pattern.length, query: nTokens, key: nTokens };
  const place = { layer, head, query, key };
  for (const [name, value] of Object.entries(place)) {
    const isNone = value === null && (name === "query" || name === "key");
    if (isNone || Number.isInteger(value) && value >= 0 && value < counts[name]) continue;
    throw new Error(`${name}: ${value} does not exist: choose 0 to ${counts[name] - 1}.`);
  }
  return place;
}
