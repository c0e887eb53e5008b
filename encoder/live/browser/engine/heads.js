// What a model is for: one vector for the sentence, the hidden word, the class.
import { ACTIVATIONS, added, layerNorm, linear, norm, softmax } from "./linear.js";

/** @type {number[]} */
const NONE = [];

// Weight of each token in the sentence vector [T]: "mean" of all but the hidden ones, or "cls", the first.
export function poolingShares(pooling, nTokens, hidden = NONE) {
  const isHidden = new Set(hidden);
  const share = (at) => pooling === "mean" ? (isHidden.has(at) ? 0 : 1 / (nTokens - isHidden.size)) : Number(at === 0);
  return Float32Array.from({ length: nTokens }, (_, at) => share(at));
}

// The sentence vector [D] of a trace.
export function sentenceVector({ output, nTokens }, pooling, hidden = NONE) {
  const width = output.length / nTokens;
  const shares = poolingShares(pooling, nTokens, hidden);
  return Float32Array.from({ length: width }, (_, d) => {
    let sum = 0;
    for (let t = 0; t < nTokens; t++) sum += shares[t] * output[t * width + d];
    return sum;
  });
}

// The vector of a text as `TextEncoder.embed` gives it: pooled, then linear maps, norm 1 and a cut where the model has
// them. about: of the model's file; hidden: tokens that are not pooled.
export function textVector(encoder, about, trace, hidden = NONE) {
  let x = sentenceVector(trace, about.pooling, hidden);
  about.steps.forEach(({ activation }, at) => {
    x = ACTIVATIONS[activation](encoder.linear(`dense.${at}.linear`, x));
  });
  if (about.normalise) {
    const length = Math.max(norm(x), 1e-12);
    x = x.map((value) => value / length);
  }
  return about.truncate === null ? x : x.slice(0, about.truncate);
}

export function cosine(a, b) {
  let sum = 0;
  a.forEach((value, at) => sum += value * b[at]);
  return sum / (norm(a) * norm(b));
}

// Probabilities [vocabulary] of the word at a token, by the head of masked words: dense, activation, norm, the table.
export function hiddenWord(encoder, head, trace, token) {
  const width = encoder.config.d_model;
  const x = trace.output.subarray(token * width, (token + 1) * width);
  const dense = ACTIVATIONS[head.activation](encoder.linear("mlm_head.dense", x));
  const normed = layerNorm(dense, { ...encoder.normOf("mlm_head.norm"), eps: head.norm_eps });
  const logits = linear(normed, encoder.data("embedding.tokens.weight"), null, normed.length);
  return softmax(added(logits, encoder.data("mlm_head.bias")));
}

// Probabilities of the classes, by a linear head on [CLS] or on the mean.
export function classes(encoder, head, trace) {
  const vector = sentenceVector(trace, head.pooling);
  return softmax(encoder.linear("classifier.out", vector));
}

// Places of the largest `most` values, largest first.
export function largest(values, most) {
  return Array.from(values.keys()).sort((a, b) => values[b] - values[a]).slice(0, most);
}
