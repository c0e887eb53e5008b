// What the drawings need, made of a trace in the browser. encoder/views/ makes the same of a Trace in Python.
//
// Each function gives {kind, header, arrays, height}; arrays: name -> {data, shape}.
import { ATTENTION } from "../../drawing/drawing.js";
import { largest, poolingShares, sentenceVector } from "./engine/heads.js";
import { norm } from "./engine/linear.js";
import { named } from "./labels.js";

const NEURONS = 3; // named for each token
const ROWS = [[16, 26], [30, 19], [48, 14]]; // pixels of a token's row, by the number of tokens
const AROUND = 320; // pixels above and below the rows
const MOST_CLASSES = 5;

const MOST_TOKENS = 48; // that the picture of the model draws at once

const normsOf = (x, nTokens) => {
  const width = x.length / nTokens;
  return Float32Array.from({ length: nTokens }, (_, t) => norm(x.subarray(t * width, (t + 1) * width)));
};

const joinedRows = (rows) => {
  const out = new Float32Array(rows.reduce((sum, row) => sum + row.length, 0));
  let at = 0;
  for (const row of rows) {
    out.set(row, at);
    at += row.length;
  }
  return out;
};

// One head's part of q, k, v or z: [T, K] of [T, H x K].
export function headOf(x, trace, encoder, head) {
  const { d_head: width, n_heads: count } = encoder.config;
  return joinedRows(Array.from({ length: trace.nTokens }, (_, t) => {
    const start = t * width * count + head * width;
    return x.subarray(start, start + width);
  }));
}

// The tokens that the picture of the model draws, as {start, count}: all, or MOST_TOKENS of them from `first` on, or around
// the query.
function windowAround(nTokens, query, first) {
  if (nTokens <= MOST_TOKENS) return { start: 0, count: nTokens };
  const wanted = first ?? (query ?? 0) - MOST_TOKENS / 2;
  return { start: Math.min(Math.max(0, wanted), nTokens - MOST_TOKENS), count: MOST_TOKENS };
}

// The weights of the query in a head [T], or without one, their mean over the tokens that are drawn.
function receivedOf(weights, n, query, { start, count }) {
  if (query !== null) return weights.slice(query * n, (query + 1) * n);
  const received = new Float32Array(n);
  for (let t = start; t < start + count; t++) {
    for (let j = 0; j < n; j++) received[j] += weights[t * n + j] / count;
  }
  return received;
}

// The forward pass with one layer and head opened. model: a Model; place: {layer, head, query, key, first}.
export function modelPicture(model, trace, labels, { layer, head, query, key, first = null }, more) {
  const { encoder, about } = model;
  const { config } = encoder;
  const { nTokens: n } = trace;
  const open = trace.layers[layer];
  const shown = config.final_norm ? [trace.output] : [];
  const stream = [trace.embedding, ...trace.layers.flatMap((one) => [one.afterAttention, one.afterFfn]), ...shown];
  const names = trace.layers.flatMap((_, at) => [`layers.${at}.after_attention`, `layers.${at}.after_ffn`]);
  const drawn = windowAround(n, query, first);
  const { start, count: w } = drawn;
  const inside = (at) => at === null || at < start || at >= start + w ? null : at - start;
  const rowsOf = (x) => x.subarray(start * x.length / n, (start + w) * x.length / n); // of the tokens that are drawn
  const square = (x) =>
    joinedRows(Array.from({ length: w }, (_, t) => {
      const at = (start + t) * n + start;
      return x.subarray(at, at + w);
    }));
  const scores = open.scores[head];
  const rows = Array.from({ length: w }, (_, t) => scores.subarray((start + t) * n, (start + t + 1) * n));
  const tops = rows.map((row) => row.reduce((most, score) => Math.max(most, score), -Infinity));
  const neurons = Array.from({ length: w }, (_, t) => {
    const hidden = open.hidden.subarray((start + t) * config.d_ffn, (start + t + 1) * config.d_ffn);
    return largest(hidden.map(Math.abs), NEURONS).map((at) => [at, hidden[at]]);
  });
  const isText = !config.patches;
  const pixels = ROWS.find(([most]) => w <= most)[1];
  const norms = [
    ...(encoder.hasAttentionNorm(layer) ? ["norm-attention"] : []),
    "norm-ffn",
    ...(config.final_norm ? ["final"] : []),
  ];
  /** @type {ModelHeader} */
  const header = {
    labels: labels.slice(start, start + w),
    first: start,
    count: n,
    asked: first,
    row: pixels,
    layers: config.n_layers,
    heads: config.n_heads,
    layer,
    head,
    query: inside(query ?? null),
    key: inside(key ?? null),
    special: [...new Set(trace.special.filter((at) => inside(at) !== null).map((at) => labels[at]))],
    sublayers: ["attention", "ffn"],
    norm: trace.placement,
    norms,
    normName: "LayerNorm", // the engine refuses other norms
    takes: isText ? "text" : "image",
    sees: config.causal || trace.edits.causal ? "earlier" : encoder.reach(layer) === Infinity ? "all" : "near",
    stages: ["embedding", ...names, ...(config.final_norm ? ["output"] : [])],
    width: config.d_model,
    neuronCount: config.d_ffn,
    scale: encoder.scale,
    pooling: isText ? about.pooling : null,
    model: about.title,
    name: `${about.name} L${layer} H${head}`,
    alt:
      `The forward pass of ${n} tokens through ${config.n_layers} layers; layer ${layer} is open, with head ${head}.`,
    input: { kind: isText ? "text" : "image", of: query ?? null, ...(isText ? { labels } : more.image) },
    classes: (more.classes ?? []).slice(0, MOST_CLASSES),
    pair: null,
    ...more.header,
  };
  const vector = (data, ...shape) => ({ data, shape: shape.length ? shape : [data.length] });
  const lengths = (x) => rowsOf(normsOf(x, n));
  const weights = square(open.pattern[head]);
  const rest = Float32Array.from({ length: w }, (_, t) => {
    const row = weights.subarray(t * w, (t + 1) * w);
    return w === n ? 0 : 1 - row.reduce((sum, weight) => sum + weight, 0);
  });
  /** @type {Record<string, { data: any, shape: number[] }>} */
  const arrays = {
    tokens: vector(lengths(trace.tokens)),
    ...(trace.positions ? { positions: vector(lengths(trace.positions)) } : {}),
    stream: vector(joinedRows(stream.map(lengths)), stream.length, w),
    updates: vector(
      joinedRows(trace.layers.flatMap((one) => [lengths(one.addedByAttention), lengths(one.addedByFfn)])),
      config.n_layers,
      2,
      w,
    ),
    q: vector(rowsOf(headOf(open.q, trace, encoder, head)), w, config.d_head),
    k: vector(rowsOf(headOf(open.k, trace, encoder, head)), w, config.d_head),
    scores: vector(square(scores), w, w),
    weights: vector(weights, w, w),
    rest: vector(rest),
    largest: vector(Float32Array.from(tops)),
    total: vector(Float32Array.from(rows, (row, t) => row.reduce((sum, one) => sum + Math.exp(one - tops[t]), 0))),
    neurons: vector(Int32Array.from(neurons.flat(), ([at]) => at), w, NEURONS),
    hidden: vector(Float32Array.from(neurons.flat(), ([, value]) => value), w, NEURONS),
    maps: vector(asBytes(joinedRows(open.pattern.map(square))), config.n_heads, w, w),
    received: vector(receivedOf(open.pattern[head], n, query, drawn)),
  };
  if (isText) {
    arrays.shares = vector(rowsOf(poolingShares(about.pooling, n)));
    arrays.vector = vector(sentenceVector(trace, about.pooling));
  }
  return { kind: "model_picture", header, arrays, height: AROUND + pixels * w };
}

// Weights as bytes.
const asBytes = (weights) => Uint8Array.from(weights, (weight) => Math.round(255 * Math.min(1, Math.max(0, weight))));

// All heads as small maps. colours: [256 x 3] bytes.
export function gridPicture(model, trace, { layer, head }, colours) {
  const { n_layers: nLayers, n_heads: nHeads } = model.encoder.config;
  const count = (n) => Array.from({ length: n }, (_, at) => at);
  /** @type {GridHeader} */
  const header = {
    layers: count(nLayers),
    heads: count(nHeads),
    selected: [layer, head],
    pinned: [],
    badges: {},
    divide: null,
    sharing: 0,
    order: null,
    measureLabel: "",
    measureRange: [0, 1],
    name: "heads",
    alt: `All ${nLayers} × ${nHeads} heads as small maps.`,
  };
  const thumbnails = {
    data: asBytes(joinedRows(trace.layers.flatMap(({ pattern }) => pattern))),
    shape: [nLayers, nHeads, trace.nTokens, trace.nTokens],
  };
  return {
    kind: "head_grid",
    header,
    arrays: { thumbnails, colours: { data: colours, shape: [256, 3] } },
    height: 70 * nLayers,
  };
}

const otherNames = (labels) => Object.fromEntries(named(labels).entries().filter(([at, name]) => name !== labels[at]));

export function linesPicture(trace, labels, { layer, head, query, key }) {
  const n = trace.nTokens;
  /** @type {LinesHeader} */
  const header = {
    tokens: labels,
    keyTokens: labels,
    names: [otherNames(labels), otherNames(labels)],
    labels: [`L${layer} H${head}`],
    colours: [ATTENTION],
    queries: query === null ? [] : [query],
    keys: key === null ? [] : [key],
    threshold: 0,
    name: `L${layer} H${head}, as lines`,
    alt: `Attention as lines: ${n} query tokens on the left, ${n} key tokens on the right; L${layer} H${head}.`,
  };
  const weights = { data: trace.layers[layer].pattern[head], shape: [1, n, n] };
  return { kind: "lines", header, arrays: { weights }, height: 40 + 21 * n };
}

// The text, shaded by what the query attends to, or by the mean weight that each token receives.
export function textPicture(trace, labels, { layer, head, query }) {
  const n = trace.nTokens;
  const weights = trace.layers[layer].pattern[head];
  const mean = Float32Array.from({ length: n }, (_, key) => {
    let sum = 0;
    for (let t = 0; t < n; t++) sum += weights[t * n + key] / n;
    return sum;
  });
  const title = "The text, shaded by the mean weight that its tokens receive";
  /** @type {TextHeader} */
  const header = {
    paragraphs: [labels.flatMap((label, at) => [[label, at], [" ", -1]])],
    labels: named(labels),
    selected: query === null ? [] : [query],
    special: trace.special,
    direction: "to",
    scaleToMax: false,
    log: false,
    name: `${title} in L${layer} H${head}`,
    alt: `${title} in L${layer} H${head}.`,
  };
  const places = { data: Int32Array.from({ length: n }, (_, at) => at), shape: [n] };
  const values = query === null ? mean : weights.slice(query * n, (query + 1) * n);
  return {
    kind: "text_shade",
    header,
    height: 0,
    arrays: {
      values: { data: values, shape: [n] },
      rows: places,
      columns: places,
      means: { data: mean, shape: [n] },
      weights: { data: weights, shape: [n, n] },
    },
  };
}
