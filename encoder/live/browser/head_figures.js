// One head as figures: its map; its queries, keys and values. pages/heads has the same views.
import { LOWEST } from "./engine/encoder.js";
import { largest } from "./engine/heads.js";
import { farthest, filled } from "./figures.js";
import { partsOf } from "./parts.js";
import { headOf } from "./pictures.js";

const MAP_HEIGHT = 560;
const [ROW_PIXELS, FRAME_PIXELS, MOST_PIXELS] = [22, 130, 760];
const CAPTION_PIXELS = 30;
const ROLES = {
  q: "A query is compared with every key.",
  k: "A key is compared with every query.",
  v: "The weights average the values.",
};

const rowsOf = (x, width) =>
  Array.from({ length: x.length / width }, (_, at) => Array.from(x.subarray(at * width, (at + 1) * width)));
const tokensOf = (count, name) => Array.from({ length: count }, (_, at) => ({ [name]: at }));

export function mapPicture(trace, labels, { layer, head, query, key }, figures) {
  const places = Array.from(labels.keys());
  const figure = filled(figures, "map", {
    rows: rowsOf(trace.layers[layer].pattern[head], trace.nTokens),
    labels,
    query,
    key,
  });
  const name = `L${layer} H${head}`;
  return {
    kind: "figure",
    header: { figure, name, alt: `${name} as a map.`, places: [places, places], height: MAP_HEIGHT },
    arrays: {},
    height: MAP_HEIGHT,
  };
}

// Several figures side by side. A click sets the values of its row and of its column, by their names in the address.
export const sideBySide = (figures) => ({
  kind: "figures",
  header: { figures },
  arrays: {},
  height: CAPTION_PIXELS + Math.max(...figures.map(({ height }) => height)),
});

// The three vectors of every token, and how the score of the selected pair is made of their numbers.
export function vectorsPicture(model, trace, tokens, place, figures) {
  const { encoder } = model;
  const { layer, head } = place;
  const labels = tokens.map(({ label }) => label);
  const { query, key } = selectedPair(trace, place);
  const height = Math.min(MOST_PIXELS, FRAME_PIXELS + ROW_PIXELS * trace.nTokens);
  const isTight = height === MOST_PIXELS;
  const drawn = ["q", "k", "v"].map((kind) => {
    const rows = rowsOf(headOf(trace.layers[layer][kind], trace, encoder, head), encoder.config.d_head);
    const framed = kind === "q" ? query : key;
    const given = { rows, labels, components: encoder.config.d_head, query: framed, limit: farthest(rows), isTight };
    return {
      figure: filled(figures, kind, given),
      name: `${kind} in L${layer} H${head}`,
      alt:
        `${kind.toUpperCase()} of layer ${layer}, head ${head}: one row per token, ${encoder.config.d_head} columns.`,
      places: [tokensOf(trace.nTokens, kind === "q" ? "i" : "j"), []],
      height,
      caption: ROLES[kind],
    };
  });
  return { picture: sideBySide(drawn), ...scoreOf(model, trace, tokens, { layer, head, query, key }) };
}

// {said, terms}: the score as a sum over the head's numbers.
function scoreOf(model, trace, tokens, place) {
  const { layer, head, query, key } = place;
  const closed = { component: null, neuron: null, classes: [] };
  const { parts: { scores, softmax } } = partsOf(model, trace, tokens, place, closed);
  const isHidden = trace.layers[layer].scores[head][query * trace.nTokens + key] === LOWEST;
  const sum = isHidden
    ? [`“${tokens[query].label}” → “${tokens[key].label}”: the mask hides this pair.`]
    : [`${scores.title}. ${softmax.title}.`, scores.text];
  const rotated = model.encoder.rotates(trace.edits) ? ["Queries and keys are shown after their rotation."] : [];
  const terms = { title: scores.heading, rows: scores.rows, place: { i: query, j: key } };
  return { said: [...sum, ...rotated], terms };
}

// The selected query and key; by default the first word and its strongest key.
function selectedPair(trace, { layer, head, query, key }) {
  const n = trace.nTokens;
  const i = query ?? Math.min(1, n - 1);
  return { query: i, key: key ?? largest(trace.layers[layer].pattern[head].subarray(i * n, (i + 1) * n), 1)[0] };
}
