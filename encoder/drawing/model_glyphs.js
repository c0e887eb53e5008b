// The parts of the open layer as marks that open: norms, Q, K, V, z, W_O, additions, and a button above each.
/** @import { ModelView } from "./model_view.js" */
import { make, svg, threeDigits, withNorm } from "./drawing.js";

// Where each part is, as a share of the open layer. The norms of the other placement slide to theirs.
const PART_STOPS = {
  pre: {
    "norm-attention": 0.045,
    k: 0.1,
    v: 0.15,
    softmax: 0.255,
    q: 0.375,
    mixing: 0.42,
    heads: 0.475,
    "add-attention": 0.54,
    "norm-ffn": 0.615,
    ffn: 0.76,
    added: 0.9,
    "add-ffn": 0.95,
  },
  post: {
    k: 0.03,
    v: 0.08,
    softmax: 0.19,
    q: 0.31,
    mixing: 0.355,
    heads: 0.41,
    "add-attention": 0.475,
    "norm-attention": 0.555,
    ffn: 0.72,
    added: 0.845,
    "add-ffn": 0.89,
    "norm-ffn": 0.955,
  },
};
// Of a decoder's layer: the same parts closer together, and cross-attention before the feed-forward layer.
const DECODER_STOPS = {
  pre: {
    "norm-attention": 0.035,
    k: 0.085,
    v: 0.13,
    softmax: 0.18,
    q: 0.25,
    mixing: 0.285,
    heads: 0.325,
    "add-attention": 0.375,
    "norm-cross": 0.435,
    cross: 0.52,
    "cross-mixing": 0.57,
    "cross-added": 0.61,
    "add-cross": 0.65,
    "norm-ffn": 0.71,
    ffn: 0.83,
    added: 0.92,
    "add-ffn": 0.965,
  },
  post: {
    k: 0.03,
    v: 0.06,
    softmax: 0.135,
    q: 0.205,
    mixing: 0.24,
    heads: 0.28,
    "add-attention": 0.33,
    "norm-attention": 0.385,
    cross: 0.475,
    "cross-mixing": 0.525,
    "cross-added": 0.565,
    "add-cross": 0.605,
    "norm-cross": 0.66,
    ffn: 0.79,
    added: 0.87,
    "add-ffn": 0.915,
    "norm-ffn": 0.97,
  },
};
// With adapters: the same parts closer together, and the adapter after the feed-forward layer.
const withAdapter = (stops, adapter) => ({
  ...Object.fromEntries(Object.entries(stops).map(([key, stop]) => [key, stop * 0.77])),
  ...adapter,
});
const ADAPTER_STOPS = {
  pre: withAdapter(PART_STOPS.pre, {
    "norm-adapter": 0.785,
    adapter: 0.865,
    "adapter-added": 0.925,
    "add-adapter": 0.97,
  }),
  post: withAdapter(PART_STOPS.post, {
    adapter: 0.82,
    "adapter-added": 0.875,
    "add-adapter": 0.92,
    "norm-adapter": 0.975,
  }),
};
// Of a Conformer's layer: a feed-forward layer before attention, a convolution after it, and a norm at the end.
const CONFORMER_STOPS = {
  pre: {
    "norm-first_ffn": 0.02,
    first_ffn: 0.085,
    "first_ffn-added": 0.135,
    "add-first_ffn": 0.165,
    "norm-attention": 0.2,
    k: 0.235,
    v: 0.27,
    softmax: 0.345,
    q: 0.425,
    mixing: 0.455,
    heads: 0.495,
    "add-attention": 0.54,
    "norm-convolution": 0.58,
    convolution: 0.645,
    "convolution-added": 0.695,
    "add-convolution": 0.725,
    "norm-ffn": 0.76,
    ffn: 0.845,
    added: 0.9,
    "add-ffn": 0.93,
    "norm-end": 0.965,
  },
  post: {
    first_ffn: 0.06,
    "first_ffn-added": 0.105,
    "add-first_ffn": 0.135,
    "norm-first_ffn": 0.17,
    k: 0.2,
    v: 0.235,
    softmax: 0.31,
    q: 0.39,
    mixing: 0.42,
    heads: 0.46,
    "add-attention": 0.505,
    "norm-attention": 0.545,
    convolution: 0.61,
    "convolution-added": 0.66,
    "add-convolution": 0.69,
    "norm-convolution": 0.725,
    ffn: 0.81,
    added: 0.865,
    "add-ffn": 0.895,
    "norm-ffn": 0.93,
    "norm-end": 0.97,
  },
};
const RESCALES = "LayerNorm rescales the numbers of each token’s vector to a common size.";
// Part -> the text of its button, what opens, and what it is.
const CHIPS = {
  ids: ["Tokens", "How the text becomes tokens", "The tokenizer splits the text into tokens. Each has a number."],
  embedding: ["Embedding", "How a token becomes a vector", "The number of a token selects a row of a learned table."],
  "norm-first_ffn": ["LayerNorm", "LayerNorm of the first feed-forward layer", RESCALES],
  first_ffn: [
    "First FFN",
    "The first feed-forward layer",
    "A feed-forward layer before attention processes each token by itself; half of its result is added.",
  ],
  "add-first_ffn": [
    "+",
    "Addition to the residual stream after the first feed-forward layer",
    "The residual stream keeps its numbers and gets those of the first feed-forward layer added.",
  ],
  "norm-attention": ["LayerNorm", "LayerNorm of attention", RESCALES],
  k: ["K", "Keys", "A key is a vector that queries are compared with."],
  v: ["V", "Values", "A value is the vector that a token passes on to tokens that attend to it."],
  softmax: [
    "Weights",
    "How scores become weights",
    "The weights of a token say how much it takes from each token; they sum to 1.",
  ],
  q: ["Q", "Queries", "A query is a vector that is compared with the key of each token."],
  mixing: ["z", "Weighted sum of values", "z is the output of one head: values times their weights, summed."],
  heads: [
    "W_O",
    "All heads through W_O",
    "W_O is a learned matrix that combines the outputs of all heads into one vector.",
  ],
  "add-attention": [
    "+",
    "Addition to the residual stream after attention",
    "The residual stream keeps its numbers and gets those of attention added.",
  ],
  "norm-cross": ["LayerNorm", "LayerNorm of cross-attention", RESCALES],
  cross: [
    "Cross",
    "Weights of cross-attention to the input",
    "Cross-attention: a token of the output takes vectors from the end of the encoder.",
  ],
  "cross-mixing": [
    "z",
    "Weighted sum of the input’s values",
    "z is the output of one head: values of the input times their weights, summed.",
  ],
  "add-cross": [
    "+",
    "Addition to the residual stream after cross-attention",
    "The residual stream keeps its numbers and gets those of cross-attention added.",
  ],
  "norm-convolution": ["LayerNorm", "LayerNorm of the convolution", RESCALES],
  convolution: [
    "Convolution",
    "The convolution module",
    "The convolution mixes near tokens: each channel has a weight for each distance, the same at every token.",
  ],
  "add-convolution": [
    "+",
    "Addition to the residual stream after the convolution",
    "The residual stream keeps its numbers and gets those of the convolution added.",
  ],
  "norm-ffn": ["LayerNorm", "LayerNorm of the feed-forward layer", RESCALES],
  ffn: [
    "Feed-forward",
    "The feed-forward layer",
    "The feed-forward layer processes each token by itself: matrices with an activation between them.",
  ],
  "add-ffn": [
    "+",
    "Addition to the residual stream after the feed-forward layer",
    "The residual stream keeps its numbers and gets those of the feed-forward layer added.",
  ],
  "norm-end": ["LayerNorm", "LayerNorm at the end of the layer", RESCALES],
  "norm-adapter": ["LayerNorm", "LayerNorm of the adapter", RESCALES],
  adapter: [
    "Adapter",
    "The adapter of one language",
    "The adapter is a small feed-forward layer that was trained on texts of one language.",
  ],
  "add-adapter": [
    "+",
    "Addition to the residual stream after the adapter",
    "The residual stream keeps its numbers and gets those of the adapter added.",
  ],
  final: ["LayerNorm", "The last LayerNorm", RESCALES],
  output: [
    "Vector",
    "How the tokens become one vector",
    "One vector for the whole input, to compare it or to classify it.",
  ],
  class: ["Class", "The class of the input", "The model turns the vector into a probability for each class."],
  next: [
    "Next",
    "The probability of the next token",
    "The decoder turns its last vector into a probability for each next token.",
  ],
};

// x of every part of the open layer. share: 0 to 1, from the stops of the other norm placement to those of this one.
/** @param {ModelHeader} header @param {LayerSpan} span @param {number} share @returns {Record<string, number>} */
export function partPlaces({ norm, isDecoder, sublayers }, span, share = 1) {
  const more = has(sublayers, "convolution") ? CONFORMER_STOPS : has(sublayers, "adapter") ? ADAPTER_STOPS : PART_STOPS;
  const stops = isDecoder ? DECODER_STOPS : more;
  const other = stops[norm === "pre" ? "post" : "pre"];
  const size = span.end - span.start;
  const at = ([key, stop]) => [key, span.start + size * (other[key] + (stop - other[key]) * share)];
  return Object.fromEntries(Object.entries(stops[norm]).map(at));
}

// The sublayers of a layer, in order.
export const sublayersOf = ({ sublayers }) => sublayers ?? ["attention", "ffn"];
const has = (sublayers, one) => Boolean(sublayers?.includes(one));

// Which parts this model and input have.
/** @param {ModelHeader} header */
export function partsOf({ norms, takes, classes, pooling, decoder, isDecoder, sublayers, outputs = [] }) {
  return Object.keys(CHIPS).filter((key) => {
    if (key.startsWith("norm") || key === "final") return norms.includes(key);
    if (key === "ids") return takes === "text" && !isDecoder;
    if (key === "embedding") return takes === "text";
    if (key === "output") return Boolean(pooling) && !decoder;
    if (key.includes("cross")) return Boolean(isDecoder);
    for (const part of ["adapter", "first_ffn", "convolution"]) if (key.includes(part)) return has(sublayers, part);
    if (key === "next") return outputs.length > 0;
    return key !== "class" || classes.length > 0;
  });
}

const NAMED_FROM_AFAR = new Set(["ids", "embedding", "softmax", "norm", "ffn", "cross", "output", "class", "next"]);
const TURNED_HALF = 12.5; // half of a button's height, which counts where tokens are columns

// x of the part's button, for every part that the model has.
/** @param {ModelHeader} header @param {ModelPlace} place @returns {[string, number][]} */
function chipPlaces(header, place) {
  const parts = partsOf(header);
  const last = place.stages.at(-1);
  let [final, end] = [last - (header.decoder && !place.turned ? 30 : 12), place.ending + 24]; // a decoder may be next to it
  if (place.turned) { // one below the other: next to each other they would cover the first column
    const pitch = 2 * TURNED_HALF * place.scale + 1;
    final = Math.max(last - 12, (place.parts["add-ffn"] ?? 0) + pitch);
    end = parts.includes("final") ? Math.max(place.ending + 6, final + pitch) : place.ending + 6;
  }
  const after = { ids: place.turned ? 12 : place.embed * 0.42, embedding: place.embed + 34, final };
  const all = { ...after, output: end, class: end, next: end, ...place.parts };
  const found = parts.map((key) => /** @type {[string, number]} */ ([key, all[key]]));
  return found.filter(([, x]) => x !== undefined);
}

// Whether a class reads the picture from afar: then it has what has room in large type.
/** @param {ModelView} view */
export const isFar = ({ theme }) => theme.isStage && theme.scale > 1;

// The buttons above the parts. They stay the same elements, so that the keyboard's focus stays.
/** @param {ModelView} view */
export function placeChips(view) {
  const { header, place, chips } = view;
  // Curves have a point where a sublayer ends; nothing is drawn of what is inside it.
  const ends = header.norm === "pre" ? "add-" : "norm-";
  const isDrawn = (key) => !header.curves || !(key in place.parts) || key.startsWith(ends);
  const places = chipPlaces(header, place).filter(([key]) =>
    isDrawn(key) && (!isFar(view) || NAMED_FROM_AFAR.has(key.replace(/^norm-.*/, "norm")))
  );
  const wanted = new Map(places.sort(([, one], [, other]) => one - other));
  const lanes = lanesOf(wanted, place, view.theme.scale);
  const order = [...chips.children].map((chip) => /** @type {HTMLElement} */ (chip).dataset.key);
  if (order.join() !== [...wanted.keys()].join()) chips.replaceChildren();
  for (const [key, x] of wanted) {
    /** @type {HTMLButtonElement | null} */
    let chip = chips.querySelector(`[data-key="${key}"]`);
    if (!chip) {
      chip = makeChip(view, key);
      chips.append(chip);
    }
    chip.dataset.part = STORY_PART[key] ?? "";
    setLane(chip, place, x, lanes[key]);
    chip.setAttribute("aria-expanded", String(view.choice.part === key));
  }
}

// A button that opens its part; the pointer and the keyboard's focus show what the part is.
/** @param {ModelView} view @param {string} key */
function makeChip(view, key) {
  const [text, what, is] = CHIPS[key].map((words) => withNorm(words, view.header));
  const said = what.replace(/^[A-Z](?=[a-z]*\b)/, (letter) => letter.toLowerCase()); // not LayerNorm, a name
  const label = `${text}: ${said}`; // its name begins with its text
  const chip = make("button", { type: "button", "aria-label": label, "aria-description": is, "data-key": key }, text);
  chip.className = ["q", "k", "v"].includes(key) ? `enc-${key}` : "";
  const explain = () => {
    view.tip.element.textContent = `${what}. ${is}`;
    const { left, bottom } = chip.getBoundingClientRect();
    view.tip.show(left, bottom, 6);
  };
  for (const event of ["pointerenter", "focus"]) chip.addEventListener(event, explain);
  for (const event of ["pointerleave", "blur", "click"]) chip.addEventListener(event, () => view.tip.hide());
  chip.addEventListener("click", () => view.choice.part === key ? view.choice.close() : view.choice.open(key));
  return chip;
}

// Part -> lane: neighbours that are too close are in different lanes. places: [part, x] of each.
function lanesOf(places, { lanes, turned }, scale) {
  const ends = Array(lanes).fill(-Infinity);
  const found = {};
  for (const [key, x] of [...places].sort((a, b) => a[1] - b[1])) {
    const half = (turned ? TURNED_HALF : Math.max(12, CHIPS[key][0].length * 3.4 + 7)) * scale; // of the button's extent
    const free = lanes > 1 ? ends.findIndex((end) => x - half >= end) : 0;
    const lane = Math.max(0, free);
    Object.assign(found, { [key]: lane });
    ends[lane] = x + half;
  }
  return found;
}

function setLane(chip, place, x, lane) {
  chip.dataset.at = String(x);
  const [left, top] = place.turned
    ? [`${lane ? 36 : 2}px`, `${x}px`]
    : [`${x}px`, `${(27 + 24 * lane) * place.scale}px`];
  Object.assign(chip.style, { left, top });
}

// The part of the story that a button belongs to.
const STORY_PART = {
  ids: "names",
  embedding: "embed",
  "norm-attention": "norms",
  "norm-ffn": "norms",
  q: "lines",
  k: "lines",
  v: "lines",
  softmax: "lines",
  mixing: "update",
  heads: "update",
  "add-attention": "update",
  ffn: "ffn",
  "add-ffn": "ffn",
  output: "end",
  class: "end",
  next: "end",
};

// The marks: one for each token in Q, K, V, z and the additions, one bar through all tokens for a norm.
/** @param {DrawnHeader} header @param {ModelPlace} place */
export function glyphs(header, place) {
  const group = svg("g", { class: "enc-model-glyphs" });
  const groups = {};
  const groupOf = (key) => groups[key] ??= group.appendChild(stopGroup(key, STORY_PART[key]));
  const mark = (key, token, tag, attributes) =>
    groupOf(key).append(svg(tag, {
      ...attributes,
      class: `enc-model-glyph enc-${key}`,
      "data-token": token,
      "data-open": key,
    }, svg("title", {}, `${withNorm(CHIPS[key][1], header)}: ${header.labels[token]}`)));
  const size = Math.min(Math.max(4.5, 3 * place.scale), place.row * 0.28);
  header.labels.forEach((_, token) => {
    if (!place.shows(token)) return;
    const across = place.y(token);
    for (const key of ["k", "v", "q"]) {
      const [cx, cy] = place.point(place.parts[key], across);
      mark(key, token, "circle", { cx, cy, r: size });
    }
    for (const key of header.isDecoder ? ["mixing", "cross-mixing"] : ["mixing"]) {
      const square = place.box(place.parts[key] - size, across - size, 2 * size, 2 * size);
      mark(key, token, "rect", { ...square, rx: 1.5 });
    }
    if (header.isDecoder) {
      const [cx, cy] = place.point(place.parts.cross, across);
      mark("cross", token, "circle", { cx, cy, r: size });
    }
    for (const key of sublayersOf(header).map((one) => `add-${one}`)) {
      const [x, y] = place.point(place.parts[key], across);
      const plus = `M${x - size} ${y}h${2 * size}M${x} ${y - size}v${2 * size}`;
      mark(key, token, "path", { d: plus });
    }
  });
  for (const key of header.norms.filter((one) => one !== "final")) {
    groupOf(key).append(svg("rect", {
      ...place.box(place.parts[key] - 5, place.top - 2, 10, place.bottom - place.top + 4),
      rx: header.norm === "pre" ? 5 : 1,
      class: `enc-model-norm enc-${header.norm}`,
      "data-open": key,
    }, svg("title", {}, withNorm(CHIPS[key][1], header))));
  }
  return group;
}

// What moves together when the norms slide: everything of one part.
const stopGroup = (stop, part) => svg("g", { "data-stop": stop, "data-part": part });

// Moves what was drawn at the stops `drawn` to those of `place`; the lines stretch from the values to the queries.
export function slideParts(drawing, drawn, { parts, point, turned }) {
  for (const group of drawing.querySelectorAll("[data-stop]")) {
    const { stop } = group.dataset;
    group.setAttribute("transform", `translate(${point(parts[stop] - drawn[stop], 0)})`);
  }
  const stretch = (parts.q - parts.v - 12) / (drawn.q - drawn.v - 12);
  const by = parts.v + 6 - stretch * (drawn.v + 6);
  const matrix = turned ? [1, 0, 0, stretch, 0, by] : [stretch, 0, 0, 1, by, 0];
  drawing.querySelector(".enc-model-lines").setAttribute("transform", `matrix(${matrix})`);
}

/** @type {Record<string, string>} */
export const SAID = {
  first_ffn: "the first FFN",
  attention: "attention",
  cross: "cross-attention",
  convolution: "the convolution",
  ffn: "the FFN",
  adapter: "the adapter",
};

// What a sublayer of the open layer adds: the length of W_O's and of the feed-forward layer's output.
/** @param {ModelView} view */
export function updateBars(view) {
  const { header, place, arrays } = view;
  const group = svg("g");
  const n = header.labels.length;
  const scale = place.row * 0.88 / view.scale;
  const stops = { attention: "heads", cross: "cross-added", ffn: "added" };
  const parts = { attention: "update", cross: "update" };
  const opens = { attention: "heads", cross: "add-cross" };
  const sublayers = sublayersOf(header);
  sublayers.forEach((kind, sublayer) => {
    const [stop, part] = [stops[kind] ?? `${kind}-added`, parts[kind] ?? "ffn"];
    const bars = group.appendChild(stopGroup(stop, part));
    header.labels.forEach((_, token) => {
      const value = arrays.updates.data[(header.layer * sublayers.length + sublayer) * n + token];
      if (!place.shows(token)) return;
      const breadth = Math.min(place.row, Math.max(1, value * scale));
      bars.append(svg("rect", {
        ...place.box(place.parts[stop] - 3.5, place.y(token) - breadth / 2, 7, breadth),
        class: `enc-model-update enc-model-${kind}`,
        "data-token": token,
        "data-open": opens[kind] ?? kind,
      }, svg("title", {}, `${SAID[kind]} adds a vector of length ${threeDigits(value)}`)));
    });
  });
  return group;
}
