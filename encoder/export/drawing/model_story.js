// The story of a forward pass in twelve steps, with the reader's own tokens and numbers.
import { threeDigits, withNorm } from "./drawing.js";

export function story(header, arrays) {
  const { labels, layers, heads, layer, head } = header;
  const n = labels.length;
  const query = header.query ?? Math.min(1, n - 1);
  const row = arrays.weights.data.subarray(query * n, (query + 1) * n);
  const key = row.indexOf(Math.max(...row));
  const [one, other] = [short(labels[query]), short(labels[key])];
  const embedded = threeDigits(arrays.stream.data[query]);
  const ended = threeDigits(arrays.stream.data[(header.stages.length - 1) * n + query]);
  const update = (part) => threeDigits(arrays.updates.data[(layer * 2 + part) * n + query]);
  const neuron = arrays.neurons.data[query * arrays.neurons.shape[1]];
  const steps = [
    ["names", `The ${INPUTS[header.takes] ?? "input"} becomes ${header.count} tokens.`],
    [
      "embed",
      arrays.positions ? "Each token has a vector; its position adds another one." : "Each token becomes a vector.",
    ],
    ["river", `The vector of ${one} starts with norm ${embedded}; its band is the residual stream.`],
    ["slices", `It passes ${layers} ${layers === 1 ? "layer" : "layers"}; layer ${layer} is open.`],
    [
      "heads",
      `Each layer has ${heads} ${heads === 1 ? "head" : "heads"}; each head has its own queries, keys and values.`,
    ],
    ["lines", `In head ${head}, the query of ${one} is compared with ${KEYS[header.sees] ?? KEYS.all}.`],
    ["lines", `It attends most to ${other}, with weight ${threeDigits(row[key])}.`],
    ["update", `The weighted values of all heads add a vector of norm ${update(0)} to ${one}.`],
    ["norms", normStep(header)],
    ["ffn", `The feed-forward layer processes each token by itself; neuron ${neuron} is strongest for ${one}.`],
    ["river", `It adds a vector of norm ${update(1)}; after all layers, ${one} has norm ${ended}.`],
    ["end", lastStep(header)],
  ];
  return steps.map(([part, text]) => ({ part, text }));
}

const INPUTS = { text: "text", image: "image", sound: "sound" };
const KEYS = {
  all: "every key",
  earlier: "its own key and earlier ones",
  near: "the keys near it",
};
const MEANS = { mean: "their mean", cls: "that of the first token", attention: "a mean weighted by attention" };

// A long word would make a sentence that nobody reads.
const short = (label) => `“${[...label].length > 16 ? `${[...label].slice(0, 15).join("")}…` : label}”`;

function normStep(header) {
  const { norm, norms } = header;
  if (!norms.length) return withNorm("This layer has no LayerNorm.", header);
  const said = norm === "pre"
    ? "Pre-norm: LayerNorm normalises the input of each sublayer; the residual stream itself is not normalised."
    : "Post-norm: LayerNorm normalises the sum after each sublayer, so the residual stream keeps its size.";
  return withNorm(said, header);
}

function lastStep({ classes, pair, pooling, width }) {
  if (pair) return `The input becomes one vector; its cosine to the other input is ${threeDigits(pair.cosine)}.`;
  if (classes.length) return `The class “${classes[0][0]}” has probability ${threeDigits(classes[0][1])}.`;
  return pooling
    ? `The token vectors become one vector of ${width} numbers: ${MEANS[pooling]}.`
    : "The output vectors go to the task.";
}
