// The story of a forward pass in twelve steps, with the reader's own tokens and numbers.
import { threeDigits } from "./drawing.js";

export function story(header, arrays) {
  const { labels, layers, heads, layer, head, width, pooling } = header;
  const n = labels.length;
  const query = header.query ?? Math.min(1, n - 1);
  const row = arrays.weights.data.subarray(query * n, (query + 1) * n);
  const key = row.indexOf(Math.max(...row));
  const [one, other] = [`“${labels[query]}”`, `“${labels[key]}”`];
  const embedded = threeDigits(arrays.stream.data[query]);
  const ended = threeDigits(arrays.stream.data[(header.stages.length - 1) * n + query]);
  const update = (part) => threeDigits(arrays.updates.data[(layer * 2 + part) * n + query]);
  const neuron = arrays.neurons.data[query * arrays.neurons.shape[1]];
  const steps = [
    ["names", `The input becomes ${header.count} tokens.`],
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
    ["lines", `In head ${head}, the query of ${one} is compared with every key.`],
    ["lines", `It attends most to ${other}, with weight ${threeDigits(row[key])}.`],
    ["update", `The weighted values of all heads add a vector of norm ${update(0)} to ${one}.`],
    ["ffn", `The feed-forward layer processes each token by itself; neuron ${neuron} is strongest for ${one}.`],
    ["ffn", `It adds a vector of norm ${update(1)} to ${one}.`],
    ["river", `After all layers, the vector of ${one} has norm ${ended}.`],
    [
      "end",
      pooling
        ? `The token vectors become one vector of ${width} numbers: ${MEANS[pooling]}.`
        : "The output vectors go to the task.",
    ],
  ];
  return steps.map(([part, text]) => ({ part, text }));
}

const MEANS = { mean: "their mean", cls: "that of the first token", attention: "a mean weighted by attention" };
