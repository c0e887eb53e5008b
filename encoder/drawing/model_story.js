// The story of a forward pass in twelve steps, with the reader's own tokens and numbers.
import { inWords, threeDigits, withNorm } from "./drawing.js";
import { sublayersOf } from "./model_glyphs.js";

export function story(header, arrays) {
  const { labels, layers, heads, layer, head } = header;
  const n = labels.length;
  const query = header.query ?? Math.min(1, n - 1);
  const row = arrays.weights.data.subarray(query * n, (query + 1) * n);
  const key = row.indexOf(Math.max(...row));
  const [one, other] = [short(labels[query]), short(labels[key])];
  const embedded = threeDigits(arrays.stream.data[query]);
  const ended = threeDigits(arrays.stream.data[(header.stages.length - 1) * n + query]);
  const sublayers = sublayersOf(header);
  const update = (part) =>
    threeDigits(arrays.updates.data[(layer * sublayers.length + sublayers.indexOf(part)) * n + query]);
  const mixes =
    /** @type {[string, string][]} */ (sublayers.includes("convolution")
      ? [["ffn", `A convolution mixes near tokens and adds a vector of length ${update("convolution")} to ${one}.`]]
      : []);
  const neuron = arrays.neurons.data[query * arrays.neurons.shape[1]];
  const steps = [
    ["names", `The ${INPUTS[header.takes] ?? "input"} becomes ${header.count} tokens.`],
    [
      "embed",
      arrays.positions
        ? "Each token has a vector, a list of numbers; its position adds another one."
        : "Each token becomes a vector, a list of numbers.",
    ],
    [
      "river",
      `The violet band, the residual stream, is the vector of ${one} through all layers; its length starts at ${embedded}.`,
    ],
    ["slices", `It passes ${layers} ${layers === 1 ? "layer" : "layers"}; layer ${layer} is open.`],
    [
      "heads",
      `A head lets each token take information from other tokens. Each layer has ${heads} ${
        heads === 1 ? "head" : "heads"
      }.`,
    ],
    ["lines", `Head ${head} compares the query of ${one} (blue) with ${KEYS[header.sees] ?? KEYS.all} (red).`],
    [
      "lines",
      `The best match gets the largest weight: ${one} attends to ${other} with weight ${inWords(row[key])}.`,
    ],
    [
      "update",
      `Values (green), times their weights, are summed; all heads add a vector of length ${
        update("attention")
      } to ${one}.`,
    ],
    ["norms", normStep(header)],
    ...mixes,
    ["ffn", `The feed-forward layer processes each token by itself; neuron ${neuron} is strongest for ${one}.`],
    [
      "river",
      `It adds a vector of length ${update("ffn")}; after all layers, the vector of ${one} has length ${ended}.`,
    ],
    ["end", lastStep(header)],
  ];
  return steps.map(([part, text], at) => ({ part, text, flows: at === VALUES }));
}

const VALUES = 7; // the step in which values move along the lines of the token
const INPUTS = { text: "text", image: "image", video: "video", sound: "sound" };
const KEYS = {
  all: "every key",
  earlier: "its own key and earlier ones",
  near: "the keys near it",
};
const MEANS = {
  mean: "their mean",
  cls: "that of the first token",
  last: "that of the last token",
  weighted_mean: "a mean in which later tokens weigh more",
  mean_sqrt_len: "their sum, divided by the root of their number",
  first_two: "the mean of the first two",
  after_first: "the mean of all but the first",
};

// A long word would make a sentence that nobody reads.
const short = (label) => `“${[...label].length > 16 ? `${[...label].slice(0, 15).join("")}…` : label}”`;

function normStep(header) {
  const { norm, norms } = header;
  if (!norms.length) return withNorm("This layer has no LayerNorm.", header);
  const said = norm === "pre"
    ? "Pre-norm: LayerNorm rescales only what a sublayer receives, so the residual stream itself may grow."
    : "Post-norm: LayerNorm rescales the residual stream after each addition, so its vectors keep their size.";
  return withNorm(said, header);
}

function lastStep({ classes, pair, pooling, width, decoder }) {
  if (decoder) {
    return "The output vectors go to the decoder, whose cross-attention uses them for each token that it writes.";
  }
  if (pair) return `The input becomes one vector; its cosine to the other input is ${threeDigits(pair.cosine)}.`;
  if (classes.length) return `The class “${classes[0][0]}” has probability ${threeDigits(classes[0][1])}.`;
  return pooling
    ? `The token vectors become one vector of ${width} numbers: ${MEANS[pooling]}.`
    : "The output vectors go to the task.";
}
