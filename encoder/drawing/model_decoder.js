// The second river of the model's picture: a decoder, drawn by the same view as the encoder, cross-attention between the
// two, and the output token by token.
/** @import { ModelView } from "./model_view.js" */
import { make, svg, threeDigits } from "./drawing.js";
import { linkPath } from "./model_layout.js";
import { legendItem } from "./model_legend.js";

const DECODER_PREFIX = "decoder "; // of the names of its arrays
const FAINTEST_CROSSING = 0.02; // lighter lines would only blur the picture
const OUTPUT_MS = 2500; // a step of the output has few words
const LEAST_PAIR = 960; // pixels of two rivers next to each other; in less, one is below the other
const [LEAST_ON_STAGE, LEAST_PAIR_ON_STAGE] = [560, 800]; // on a stage the picture must fit the window's height
const PAIR_LANES = 3; // rows of buttons above two rivers on a stage
const SHARE_BAR = 84; // pixels of a probability of 1

// Gives the decoder's numbers to its view, which is made when a picture first has them.
/** @param {ModelView} view @param {ModelHeader} header @param {Arrays} arrays */
export function readDecoder(view, { decoder }, arrays) {
  if (!decoder) {
    view.decoder?.destroy();
    view.decoder = null;
    return;
  }
  const names = Object.keys(arrays).filter((name) => name.startsWith(DECODER_PREFIX));
  const own = Object.fromEntries(names.map((name) => [name.slice(DECODER_PREFIX.length), arrays[name]]));
  view.decoder ??= new /** @type {typeof ModelView} */ (view.constructor)(view.row, view);
  view.decoder.component = view.component;
  view.decoder.read({ header: decoder, arrays: own });
}

// What is drawn of a picture with two rivers: one is open, the other has thin layers only.
/** @param {ModelView} view @returns {DrawnHeader} */
export function drawnHeader(view) {
  const { header, isClosed, main } = view;
  const { row } = main ?? view;
  const { isStage, scale } = view.theme;
  const total = row.clientWidth / scale;
  if (!header.decoder && !main) return isStage ? { ...header, turned: total < LEAST_ON_STAGE } : header;
  const turned = total < (isStage ? LEAST_PAIR_ON_STAGE : LEAST_PAIR);
  const lanes = isStage && scale === 1 ? PAIR_LANES : 2;
  return { ...header, lanes, layer: isClosed ? -1 : header.layer, turned, inPair: true };
}

// Cross-attention of the open head: a line from each of the encoder's output vectors to each token of the output.
/** @param {ModelView} view */
export function crossLines(view) {
  const { header, place, main, arrays } = view;
  const group = svg("g", { class: "enc-model-lines enc-model-crossing" });
  const width = header.inputLabels.length;
  header.labels.forEach((_, row) =>
    header.inputLabels.forEach((_, key) => {
      const weight = arrays.cross.data[row * width + key];
      if (weight < FAINTEST_CROSSING || !place.shows(row) || !main.place.shows(key)) return;
      const line = svg("path", {
        d: linkPath(place, ...sourcePoint(view, key), crossAt(view) - 6, place.y(row)),
        "data-token": row,
        "data-source": key,
        "stroke-width": (0.6 + 3 * weight).toFixed(2),
        "stroke-opacity": Math.min(1, 0.08 + weight).toFixed(3),
      }, svg("title", {}, `${header.labels[row]} → ${header.inputLabels[key]}: ${threeDigits(weight)}`));
      group.append(line);
    })
  );
  return group;
}

// Along and across: the end of the first river for a token of the input, in the coordinates of the second.
/** @param {ModelView} view @param {number} key @returns {[number, number]} */
function sourcePoint({ main, drawing, place }, key) {
  const [own, other] = [drawing.getBoundingClientRect(), main.drawing.getBoundingClientRect()];
  const [x, y] = main.place.point(main.place.stages.at(-1) + 4, main.place.y(key));
  return place.point(x + other.left - own.left, y + other.top - own.top);
}

const crossAt = ({ place, header, isClosed }) =>
  isClosed ? (place.layers[header.layer].start + place.layers[header.layer].end) / 2 : place.parts.cross;

// The token of the input that the selected token of the output attends to most, by its name and its weight.
/** @param {ModelView} view */
export function nameStrongest(view) {
  const { main, header, place, token, drawing } = view;
  const group = drawing.querySelector(".enc-model-strongest");
  const [at, label, weight] = token === null ? [-1] : header.strongest[token];
  const key = at - header.inputFirst;
  const isShown = token !== null && key >= 0 && key < header.inputLabels.length && main.place.shows(key);
  for (const name of main.marked("[data-name]")) {
    name.classList.toggle("enc-model-source", isShown && Number(name.dataset.name) === key);
  }
  if (!group || !isShown) return group?.replaceChildren();
  const [x, y] = place.point(...sourcePoint(view, key));
  const where = place.turned ? { x: x + 6, y: y - 5 } : { x: x - 4, y: y - 4, "text-anchor": "end" }; // not on the names
  group.replaceChildren(svg("text", where, `${label} ${threeDigits(weight)}`));
}

// The end of the decoder: the token that follows each one, with its probability.
/** @param {ModelView} view */
export function outputs({ header, place }) {
  return header.outputs.flatMap(([label, share], token) => {
    if (!place.shows(token)) return [];
    const [x, y] = [place.ending + 4, place.y(token)];
    const words = svg("text", { "data-token": token, "data-name": token, style: `font-size:${place.type}px` });
    words.textContent = `${shortToken(label)} ${threeDigits(100 * share)}%`;
    words.append(svg("title", {}, `Output: ${label}, probability ${threeDigits(share)}`));
    const at = place.turned
      ? { x: y, y: x + 4, transform: `rotate(60 ${y} ${x + 4})` }
      : { x: place.ending, y: y + place.type * 0.36 };
    for (const [name, value] of Object.entries(at)) words.setAttribute(name, String(value));
    if (place.turned) return [words];
    const bar = { x: place.ending, y: y + place.row / 2 - 4, width: Math.max(1, SHARE_BAR * share), height: 3 };
    return [words, svg("rect", { ...bar, class: "enc-model-positive", "data-token": token })];
  });
}

const shortToken = (label) => [...label].length > 9 ? `${[...label].slice(0, 8).join("")}…` : label;

// What is said of the selected token of the output.
/** @param {ModelView} view */
export function outputWords({ header, token }) {
  const [output, best] = [header.outputs[token], header.strongest[token]];
  const next = output ? `“${output[0]}” follows with probability ${threeDigits(output[1])}. ` : "";
  return `${header.labels[token]}: ${next}Cross-attention of L${header.layer} H${header.head} is strongest on ` +
    `“${best[1]}”: ${threeDigits(best[2])}.`;
}

// The most probable next tokens after the selected one.
/** @param {ModelView} view */
export function nextTokens({ header, token }) {
  const found = token === null ? [] : header.next[token] ?? [];
  const title = found.length ? `Next after “${header.labels[token]}”:` : "Select a token of the output.";
  const items = found.map(([label, share]) =>
    make(
      "li",
      {},
      make("bdi", {}, label),
      make("i", { style: `width:${Math.max(1, 48 * share)}px` }),
      shareWords(share),
    )
  );
  return [make("li", {}, title), ...items];
}

const shareWords = (share) => share > 0 && share < 0.001 ? "< 0.001" : threeDigits(share);

// The steps of the story that follow those of the encoder: the output appears token by token.
export function outputStory(header) {
  const first = Math.max(0, header.starts - 1); // the row after which the output begins
  const count = header.outputs.length - first;
  return header.outputs.slice(first).map(([label, share], at) => {
    const [, source, weight] = header.strongest[first + at];
    const text = `Output, ${at + 1} of ${count}: “${shortToken(label)}”, probability ${threeDigits(share)}. ` +
      `L${header.layer} H${header.head} attends most to “${shortToken(source)}”: ${threeDigits(weight)}.`;
    return { part: "", text, output: first + at, ms: OUTPUT_MS };
  });
}

// Shows the output up to a step of the story; null: all of it.
export function showOutput(view, told) {
  if (!view?.header) return;
  view.told = told?.output ?? null;
  for (const element of view.stage.querySelectorAll("[data-token]")) {
    element.classList.toggle("enc-model-later", view.told !== null && Number(element.dataset.token) > view.told);
  }
  view.emphasise();
}

export const decoderLegend = ({ header: { layer, head }, widest }) => [
  legendItem(
    ["enc-model-band"],
    `decoder: length of a token’s vector (residual stream), at most ${threeDigits(widest)}`,
  ),
  legendItem(["enc-model-line"], "in the layer: attention to earlier tokens of the output"),
  legendItem(
    ["enc-model-line"],
    `from the encoder: cross-attention of L${layer} H${head}, from ${FAINTEST_CROSSING} on`,
  ),
  legendItem([], "at the end: the next token and its probability; click one to see what it attends to"),
];
