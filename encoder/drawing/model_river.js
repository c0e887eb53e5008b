// What the model's picture draws of a forward pass: layers, bands, embeddings, the lines of the open head, the tokens.
/** @import { ModelView } from "./model_view.js" */
import { svg, threeDigits } from "./drawing.js";
import { drawnHeader } from "./model_decoder.js";
import { isFar, updateBars } from "./model_glyphs.js";
import { bandPath, FAINTEST_LINE, linkPath, namePlace } from "./model_layout.js";

const WIDER = 2.5; // how much wider lines are that a class sees from afar
const MOST_OF_NAME = 14; // characters: of a patch of a sound, its seconds and its band

// The other layers: thin, with their number; a click opens one.
/** @param {ModelView} view */
export function drawSlices(view) {
  const { place } = view;
  const header = drawnHeader(view);
  const group = svg("g", { class: "enc-model-slices", "data-part": "slices" });
  const numbered = everyNumbered(view);
  place.layers.forEach((span, layer) => {
    const isOpen = layer === header.layer;
    const slice = svg("g", { class: isOpen ? "enc-model-slice enc-open" : "enc-model-slice" });
    slice.append(
      svg("rect", {
        ...place.box(
          span.start + 1,
          place.top - 8,
          Math.max(2, span.end - span.start - 2),
          place.bottom - place.top + 14,
        ),
        rx: Math.min(5, (span.end - span.start) / 5),
      }),
      svg("title", {}, isOpen ? `Layer ${layer}` : `Open layer ${layer}`),
    );
    if (!isOpen) {
      if (layer % numbered === 0) slice.append(layerNumber(view, span, layer));
      slice.dataset.layer = String(layer);
    }
    group.append(slice);
  });
  return group;
}

// The number of a thin layer; where they are too thin, not each has one.
/** @param {ModelView} view @param {LayerSpan} span @param {number} layer */
function layerNumber({ place }, { start, end }, layer) {
  const [x, y] = place.point((start + end) / 2, place.turned ? place.top - 20 : place.bottom + 18);
  return svg("text", { x, y: place.turned ? y + 4 : y, "text-anchor": "middle" }, String(layer));
}

/** @param {ModelView} view */
function everyNumbered({ place, theme }) {
  const thin = place.layers.reduce((least, { start, end }) => Math.min(least, end - start), Infinity);
  return Math.ceil((place.turned ? 14 : 18) * theme.scale / thin);
}

/** @param {ModelView} view */
export function drawBands(view) {
  const group = svg("g", { class: "enc-model-bands", "data-part": "river" });
  view.header.labels.forEach((_, token) => {
    if (view.place.shows(token)) group.append(svg("path", { d: bandOf(view, token), "data-token": token }));
  });
  return group;
}

/** @param {ModelView} view @param {number} token */
export function bandOf(view, token) {
  const { place, scale } = view;
  const half = place.stages.map((_, stage) => Math.max(0.4, (view.stream(stage, token) / scale) * place.row * 0.44));
  return bandPath(place, token, half);
}

// The lengths of the token's and of its position's vector.
/** @param {ModelView} view */
export function drawEmbeddings({ header, place, arrays }) {
  const group = svg("g", { "data-part": "embed" });
  const parts = ["tokens", "positions"].filter((name) => arrays[name]);
  const opened = header.takes === "text" ? { "data-open": "embedding" } : {}; // only a text has this part
  const most = Math.max(...parts.map((name) => arrays[name].data.reduce((size, one) => Math.max(size, one), 0)));
  parts.forEach((name, index) =>
    header.labels.forEach((_, token) => {
      const value = arrays[name].data[token];
      if (!place.shows(token)) return;
      const breadth = Math.max(1, (value / most) * place.row * 0.7);
      const along = place.embed + (place.turned ? 18 : 4) + 18 * index;
      const bar = place.box(along, place.y(token) - breadth / 2, 9, breadth);
      group.append(svg(
        "rect",
        { ...bar, class: `enc-model-${name}`, "data-token": token, ...opened },
        svg("title", {}, `length ${threeDigits(value)}`),
      ));
    })
  );
  return group;
}

// The open head: a line from each key to each query, as strong as its weight.
/** @param {ModelView} view */
export function drawWeights(view) {
  const { header, place } = view;
  const group = svg("g", { class: "enc-model-lines", "data-part": "lines" });
  const wider = isFar(view) ? WIDER : 1;
  header.labels.forEach((_, query) =>
    header.labels.forEach((_, key) => {
      const weight = view.weight(query, key);
      if (weight < FAINTEST_LINE || !place.shows(query) || !place.shows(key)) return;
      const line = svg("path", {
        d: linkPath(place, place.parts.v + 6, place.y(key), place.parts.q - 6, place.y(query)),
        "data-token": query,
        "data-key": key,
        "stroke-width": (wider * (0.6 + 3 * weight)).toFixed(2),
        "stroke-opacity": Math.min(1, 0.08 + weight).toFixed(3),
      });
      group.append(line);
    })
  );
  if (view.isHeadOff(header.head)) group.append(offWords(view));
  return group;
}

/** @param {ModelView} view */
function offWords({ header, place }) {
  const [x, y] = place.point(place.parts.softmax, place.middle);
  return svg("text", { x, y, class: "enc-model-off", "text-anchor": "middle" }, `head ${header.head} is off`);
}

// What the sublayers of the open layer add, and the strongest neurons of the selected token.
/** @param {ModelView} view */
export function drawParts(view) {
  return svg("g", { class: "enc-model-parts" }, updateBars(view), ...strongestNeurons(view));
}

/** @param {ModelView} view */
export function strongestNeurons({ place, arrays, token, theme }) {
  if (token === null || !place.shows(token)) return [];
  const count = arrays.neurons.shape[1];
  const pitch = 15 * theme.scale;
  const [width, height] = [112 * theme.scale, count * pitch + 4];
  const edge = place.turned ? width / 2 : 1.5 * pitch;
  const across = Math.max(place.top + edge, Math.min(place.bottom - edge, place.y(token)));
  const [x, middle] = place.point(place.parts.ffn, across);
  const box = svg("g", { class: "enc-model-neuron", "data-stop": "ffn", "data-part": "ffn", "data-open": "ffn" });
  box.append(svg("rect", { x: x - width / 2, y: middle - height / 2, width, height, rx: 4 }));
  for (let row = 0; row < count; row++) {
    const at = token * count + row;
    const y = middle + (row - (count - 1) / 2) * pitch + 4;
    const said = `neuron ${arrays.neurons.data[at]}: ${threeDigits(arrays.hidden.data[at])}`;
    box.append(svg("text", { x, y, "text-anchor": "middle" }, said));
  }
  return [box];
}

/** @param {ModelView} view */
export function drawNames({ header, place }) {
  const group = svg("g", { class: "enc-model-names", "data-part": "names" });
  header.labels.forEach((label, token) => {
    if (!place.shows(token)) return;
    const text = svg("text", {
      ...namePlace(place, token),
      "data-token": token,
      style: `font-size:${place.type}px`,
    });
    if (token < header.starts && !header.first) text.append("start "); // the decoder begins with it
    text.append([...label].length > MOST_OF_NAME ? `${[...label].slice(0, MOST_OF_NAME - 1).join("")}…` : label);
    text.append(svg("title", {}, label));
    text.dataset.name = String(token);
    group.append(text);
  });
  return group;
}
