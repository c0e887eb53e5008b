// What the drawings need, made of a trace in the browser. encoder/views/ makes the same of a Trace in Python.
//
// Each function gives {kind, header, arrays, height}; arrays: name -> {data, shape}.
import { poolingShares, sentenceVector } from "./engine/heads.js";
import { largest } from "./engine/heads.js";
import { norm } from "./engine/linear.js";

const NEURONS = 3; // named for each token
const ROWS = [[16, 26], [30, 19], [48, 14]]; // pixels of a token's row, by the number of tokens
const AROUND = 320; // pixels above and below the rows
const MOST_CLASSES = 5;
const LINE_COLOUR = "#8877ff";

export const MOST_TOKENS = 48; // that the picture of the model draws at once

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

// The forward pass with one layer and head opened. model: a Model; place: {layer, head, query, key}.
export function modelPicture(model, trace, labels, { layer, head, query, key }, more) {
  const { encoder, about } = model;
  const { config } = encoder;
  const { nTokens: n } = trace;
  const open = trace.layers[layer];
  const shown = config.final_norm ? [trace.output] : [];
  const stream = [trace.embedding, ...trace.layers.flatMap((one) => [one.afterAttention, one.afterFfn]), ...shown];
  const names = trace.layers.flatMap((_, at) => [`layers.${at}.after_attention`, `layers.${at}.after_ffn`]);
  const scores = open.scores[head].map((score) => Math.max(score, -3.4028234663852886e38));
  const rows = Array.from({ length: n }, (_, t) => scores.subarray(t * n, (t + 1) * n));
  const tops = rows.map((row) => row.reduce((most, score) => Math.max(most, score), -Infinity));
  const neurons = Array.from({ length: n }, (_, t) => {
    const hidden = open.hidden.subarray(t * config.d_ffn, (t + 1) * config.d_ffn);
    return largest(hidden.map(Math.abs), NEURONS).map((at) => [at, hidden[at]]);
  });
  const isText = !config.patches;
  const received = new Float32Array(n);
  for (let t = 0; t < n; t++) {
    for (let j = 0; j < n; j++) {
      if (query === null || query === t) received[j] += open.pattern[head][t * n + j] / (query === null ? n : 1);
    }
  }
  const pixels = ROWS.find(([most]) => n <= most)[1];
  const norms = ["norm-attention", "norm-ffn", ...(config.final_norm ? ["final"] : [])];
  /** @type {ModelHeader} */
  const header = {
    labels,
    first: 0,
    count: n,
    asked: null,
    row: pixels,
    layers: config.n_layers,
    heads: config.n_heads,
    layer,
    head,
    query: query ?? null,
    key: key ?? null,
    special: [...new Set(trace.special.map((at) => labels[at]))],
    sublayers: ["attention", "ffn"],
    norm: trace.placement,
    norms,
    normName: "LayerNorm", // the engine refuses other norms
    takes: isText ? "text" : "image",
    sees: config.causal || trace.edits.causal ? "earlier" : "all",
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
  /** @type {Record<string, { data: any, shape: number[] }>} */
  const arrays = {
    tokens: vector(normsOf(trace.tokens, n)),
    ...(trace.positions ? { positions: vector(normsOf(trace.positions, n)) } : {}),
    stream: vector(joinedRows(stream.map((x) => normsOf(x, n))), stream.length, n),
    updates: vector(
      joinedRows(trace.layers.flatMap((one) => [normsOf(one.addedByAttention, n), normsOf(one.addedByFfn, n)])),
      config.n_layers,
      2,
      n,
    ),
    q: vector(headOf(open.q, trace, encoder, head), n, config.d_head),
    k: vector(headOf(open.k, trace, encoder, head), n, config.d_head),
    scores: vector(joinedRows(rows), n, n),
    weights: vector(open.pattern[head], n, n),
    rest: vector(new Float32Array(n)),
    largest: vector(Float32Array.from(tops)),
    total: vector(Float32Array.from(rows, (row, t) => row.reduce((sum, one) => sum + Math.exp(one - tops[t]), 0))),
    neurons: vector(Int32Array.from(neurons.flat(), ([at]) => at), n, NEURONS),
    hidden: vector(Float32Array.from(neurons.flat(), ([, value]) => value), n, NEURONS),
    maps: vector(smallMaps([open]), config.n_heads, n, n),
    received: vector(received),
  };
  if (isText) {
    arrays.shares = vector(poolingShares(about.pooling, n));
    arrays.vector = vector(sentenceVector(trace, about.pooling));
  }
  return { kind: "model_picture", header, arrays, height: AROUND + pixels * n };
}

// Weights of all heads of these layers as bytes.
const smallMaps = (layers) =>
  Uint8Array.from(
    joinedRows(layers.flatMap(({ pattern }) => pattern)),
    (weight) => Math.round(255 * Math.min(1, Math.max(0, weight))),
  );

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
  const thumbnails = { data: smallMaps(trace.layers), shape: [nLayers, nHeads, trace.nTokens, trace.nTokens] };
  return {
    kind: "head_grid",
    header,
    arrays: { thumbnails, colours: { data: colours, shape: [256, 3] } },
    height: 70 * nLayers,
  };
}

const named = (labels) =>
  labels.map((label, at) => labels.indexOf(label) === labels.lastIndexOf(label) ? label : `${label} (${at})`);

const otherNames = (labels) => Object.fromEntries(named(labels).entries().filter(([at, name]) => name !== labels[at]));

export function linesPicture(trace, labels, { layer, head, query, key }) {
  const n = trace.nTokens;
  /** @type {LinesHeader} */
  const header = {
    tokens: labels,
    keyTokens: labels,
    names: [otherNames(labels), otherNames(labels)],
    labels: [`L${layer} H${head}`],
    colours: [LINE_COLOUR],
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

// The map of a head, for Plotly. colours: [256 x 3] bytes.
export function mapPicture(trace, labels, { layer, head, query, key }, colours) {
  const n = trace.nTokens;
  const weights = trace.layers[layer].pattern[head];
  const places = Array.from({ length: n }, (_, at) => at);
  const scale = Array.from({ length: 256 }, (_, at) => [at / 255, `rgb(${colours.slice(3 * at, 3 * at + 3).join()})`]);
  const axis = (title, more) => ({
    type: "category",
    tickvals: places,
    ticktext: labels,
    labelalias: Object.fromEntries(named(labels).entries()),
    showgrid: false,
    zeroline: false,
    ticks: "",
    automargin: true,
    constrain: "domain",
    title: { text: title, standoff: 10 },
    ...more,
  });
  const frames = [
    ...(query === null ? [] : [{ type: "rect", x0: -0.5, x1: n - 0.5, y0: query - 0.5, y1: query + 0.5 }]),
    ...(key === null ? [] : [{ type: "rect", x0: key - 0.5, x1: key + 0.5, y0: -0.5, y1: n - 0.5 }]),
  ].map((shape) => ({ ...shape, line: { color: LINE_COLOUR, width: 2 } }));
  const figure = {
    data: [{
      type: "heatmap",
      x: places,
      y: places,
      zmin: 0,
      zmax: 1,
      colorscale: scale,
      z: places.map((t) => Array.from(weights.subarray(t * n, (t + 1) * n))),
      hovertemplate: "%{y} attends to %{x}: %{z:.3g}<extra></extra>",
      colorbar: { thickness: 10, title: { text: "weight" } },
    }],
    layout: {
      margin: { l: 8, r: 8, t: 16, b: 8 },
      shapes: frames,
      xaxis: axis("attends to (key)", { tickangle: -90 }),
      yaxis: axis("token (query)", { autorange: "reversed", scaleanchor: "x" }),
    },
  };
  const name = `L${layer} H${head}`;
  return {
    kind: "figure",
    header: { figure, name, alt: `${name} as a map.`, places: [places, places], height: 560 },
    arrays: {},
    height: 560,
  };
}
