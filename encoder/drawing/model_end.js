// The end of the model's picture: the vector of the input, the cosine of a pair, or the classes.
/** @import { ModelView } from "./model_view.js" */
import { svg, threeDigits } from "./drawing.js";
import { outputs } from "./model_decoder.js";
import { linkPath, wordPlace } from "./model_layout.js";

const MOST_CELLS = 96; // wider vectors: each cell is the largest number of its part
const [VECTOR, NARROW_VECTOR, BETWEEN] = [26, 16, 4]; // pixels of a vector's breadth, of each of two, between them
const TITLE = 14; // pixels before the vector, where the title is above it

/** @param {ModelView} view */
export function drawEnd(view) {
  const { header, arrays } = view;
  const group = svg("g", { class: "enc-model-end", "data-part": "end" });
  if (header.decoder) return group; // its vectors go there
  if (header.isDecoder) group.append(...outputs(view));
  else if (header.classes.length) group.append(...classes(view));
  else if (arrays.vector) {
    const breadth = arrays.other ? NARROW_VECTOR : VECTOR;
    if (arrays.shares) group.append(...pooled(view));
    group.append(...vector(view, arrays.vector.data, breadth, 0));
    if (arrays.other) group.append(...vector(view, arrays.other.data, breadth, breadth + BETWEEN));
    const after = arrays.other ? 2 * breadth + BETWEEN : breadth;
    const said = arrays.other ? pairWords(header.pair) : vectorWords(arrays.vector.data);
    group.append(...endWords(view, header.ending?.length ? [...said, "", ...header.ending] : said, after));
  }
  return group;
}

/** @param {ModelView} view */
function pooled({ header, place, arrays }) {
  const most = arrays.shares.data.reduce((top, value) => Math.max(top, value), 0) || 1;
  return header.labels.flatMap((_, token) => {
    const share = arrays.shares.data[token];
    return share && place.shows(token)
      ? [svg("path", {
        d: linkPath(place, place.stages.at(-1), place.y(token), place.ending + 4, place.middle),
        class: "enc-model-pool",
        "data-token": token,
        "stroke-width": 1,
        "stroke-opacity": (0.15 + 0.5 * share / most).toFixed(3),
      })]
      : [];
  });
}

function vector({ place }, data, width, aside) {
  const top = data.reduce((size, value) => Math.max(size, Math.abs(value)), 0) || 1;
  const [breadth, y, cells] = [place.bottom - place.top, place.top, Math.min(data.length, MOST_CELLS)];
  const x = place.ending + 8 + aside + (place.turned ? TITLE : 0);
  const boxes = Array.from({ length: cells }, (_, cell) => {
    const part = data.subarray(Math.floor(cell * data.length / cells), Math.floor((cell + 1) * data.length / cells));
    const value = part.reduce((most, one) => Math.abs(one) > Math.abs(most) ? one : most, 0);
    return svg("rect", {
      ...place.box(x, y + cell * breadth / cells, width, breadth / cells + 0.3),
      class: value < 0 ? "enc-model-negative" : "enc-model-positive",
      "fill-opacity": (Math.abs(value) / top).toFixed(3),
    });
  });
  return [
    ...boxes,
    svg("rect", { ...place.box(x, y, width, breadth), class: "enc-model-frame", "data-open": "output" }),
  ];
}

const vectorWords = (data) => [
  `${data.length} numbers`,
  `length ${threeDigits(Math.sqrt(data.reduce((total, value) => total + value * value, 0)))}`,
];

const pairWords = ({ name, cosine }) => [
  [...name].length > 11 ? `${[...name].slice(0, 10).join("")}…` : name,
  "cosine",
  threeDigits(cosine),
];

// Lines of words after the vectors, whose breadth is `after`; in a picture with columns, below them.
function endWords({ place }, lines, after) {
  const x = place.ending + 14 + after;
  return lines.map((text, line) =>
    svg(
      "text",
      { ...wordPlace(place, x + TITLE * Number(place.turned), place.middle, line), "data-open": "output" },
      text,
    )
  );
}

/** @param {ModelView} view */
function classes({ header, place }) {
  return header.classes.flatMap(([name, share], line) => {
    const words = wordPlace(place, place.ending + (place.turned ? 18 : 0), place.top + 14, line * 1.6);
    const bar = { x: words.x, y: words.y + 3, width: Math.max(1, 96 * share), height: 5, class: "enc-model-positive" };
    return [svg("text", words, `${name}: ${threeDigits(share)}`), svg("rect", bar)];
  });
}
