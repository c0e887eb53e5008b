// The engine's thread: it loads models, runs them, and answers each request with the pictures of a page.
import { threeDigits } from "../../drawing/drawing.js";
import { fastest } from "./engine/fastest.js";
import { classes, cosine, hiddenWord, largest, textVector } from "./engine/heads.js";
import { Products } from "./engine/products.js";
import { similarity } from "./engine/similarity.js";
import { Threads } from "./engine/threads.js";
import { fetched, Model } from "./model.js";
import { pack } from "./pack.js";
import { partsOf } from "./parts.js";
import { gridPicture, linesPicture, mapPicture, modelPicture, textPicture } from "./pictures.js";

const models = new Map(); // name -> promise of a Model
const passes = new Map(); // what was computed last: of a text and its edits
const MOST_PASSES = 2; // with and without the changes
const MOST_WORDS = 8;
const WHOLE_TABLE = 2 ** 21; // numbers; a larger table of word vectors comes in the blocks that texts need

const loaded = []; // addresses of files, until the page hears of them

async function file(address, onProgress) {
  const buffer = await fetched(address, onProgress);
  loaded.push(address);
  return buffer;
}

/** @type {Promise<Products | null>} */
let withHelpers = null; // for all models: they share its memory

function model(name, site) {
  withHelpers ??= Threads.start(site.helper).then((threads) => threads && new Products(threads));
  if (!models.has(name)) {
    const address = site.models[name].file;
    const block = (at) => file(address.replace(/\.bin$/, `/${at}.bin`));
    const loading = file(address, (share) => postMessage({ progress: { name, share } })).then((buffer) =>
      opened(new Model(buffer, block))
    );
    loading.catch(() => models.delete(name)); // the next request tries again
    models.set(name, loading);
  }
  return models.get(name);
}

// A model on the threads that compute it fastest.
async function opened(one) {
  const { encoder } = one;
  const helped = await withHelpers;
  if (helped) encoder.products = fastest([encoder.products, helped], encoder.config);
  return one;
}

// What the switches say, as edits of the engine.
const editsOf = ({ norm, causal, positions, off }) => ({
  placement: norm || undefined,
  causal,
  noPositions: positions === false,
  heads: off.filter(([, part]) => typeof part === "number"),
  sublayers: off.filter(([, part]) => typeof part === "string"),
});

// A forward pass; the same is computed once while a reader clicks.
async function pass(used, { model: name, text, pixels }, edits) {
  const key = JSON.stringify([name, pixels ?? text, edits]);
  if (!passes.has(key)) {
    passes.set(key, pixels ? used.look(Float32Array.from(pixels), edits) : await used.read(text, edits));
    for (const old of [...passes.keys()].slice(0, -MOST_PASSES)) passes.delete(old);
  }
  return passes.get(key);
}

async function pictures({ page, state, site }) {
  const used = await model(state.model, site);
  used.about.title = site.models[state.model].title;
  if (page === "similarity") return await pairOf(used, state);
  const run = (edits) => pass(used, state, edits);
  const { tokens, trace, isCut } = await run(editsOf(state));
  const labels = tokens.map(({ label }) => label);
  const place = placeOf(state, used.encoder.config, trace.nTokens);
  const found = used.about.classifier ? namedClasses(used, trace) : [];
  const made = {};
  if (page === "heads" || page === "predict") {
    made.grid = gridPicture(used, trace, place, Uint8Array.from(site.colours));
    made.head = { map: mapPicture, lines: linesPicture, text: textPicture }[state.view](
      trace,
      labels,
      place,
      site.colours,
    );
  } else if (page === "pre_post") {
    made.pre = await curvesOf("twin-pre", state, site);
    made.post = await curvesOf("twin-post", state, site);
  } else made.model = await wholePicture(used, trace, tokens, place, state, found, run);
  const words = page === "predict" && used.about.mlm_head ? await hiddenWords(used, trace, tokens) : [];
  return {
    made,
    words,
    classes: found,
    place,
    labels,
    drawn: drawnOf(used, trace, labels, place),
    note: isCut ? `This page uses ${tokens.length} tokens of this text, which has more.` : "",
  };
}

// The similarity of two texts and what each word does to it; this page has no picture.
async function pairOf(used, state) {
  const pair = await similarity(used, [state.text, state.similar_to], {});
  const long = pair.sides.some(({ isLong }) => isLong)
    ? "Words are left out one by one in texts of up to 64 words."
    : "";
  const cut = pair.isCut ? "This page uses the first 256 tokens of a text." : "";
  const drawn = { cosine: pair.cosine };
  return { made: {}, words: [], classes: [], pair, drawn, note: [long, cut].filter(Boolean).join(" ") };
}

// What the host of a frame hears: the tokens, the model's size, and the weight of the selected pair.
function drawnOf({ encoder: { config } }, { layers, nTokens }, tokens, { layer, head, query, key }) {
  const weight = query === null || key === null ? null : layers[layer].pattern[head][query * nTokens + key];
  return { tokens, layers: config.n_layers, heads: config.n_heads, layer, head, i: query, j: key, weight };
}

const namedClasses = (used, trace) => {
  const shares = classes(used.encoder, used.about.classifier, trace);
  return largest(shares, shares.length).map((at) => [used.about.classifier.labels[at], shares[at]]);
};

async function wholePicture(used, trace, tokens, place, state, found, run) {
  const before = isChanged(state) ? (await run({})).trace : null;
  const { layer, head } = place;
  const off = state.off.some(([l, part]) => l === layer && [head, "attention"].includes(part)) ? [head] : [];
  const header = { switches: switchesOf(used, trace, place, state), off, ...effectOf(used, trace, before) };
  const more = { classes: found, image: state.given, header };
  const labels = tokens.map(({ label }) => label);
  const picture = modelPicture(used, trace, labels, place, more);
  if (!state.part) return picture;
  const chosen = { ...place, query: place.query ?? 0, key: place.key ?? 0 };
  const { parts, arrays } = partsOf(used, trace, tokens, chosen, { ...state, classes: found });
  Object.assign(picture.header, {
    part: state.part in parts ? state.part : "",
    parts,
    partsOf: { query: chosen.query, key: chosen.key, source: null },
    options: [],
  });
  Object.assign(picture.arrays, arrays);
  return picture;
}

const isChanged = ({ norm, causal, positions, off }) => norm || causal || positions === false || off.length;

// What the changes do to the end of the picture.
function effectOf(used, trace, before) {
  if (!before || !used.tokenizer) return {};
  const [now, then] = [trace, before].map((one) => textVector(used.encoder, used.about, one));
  const similarity = cosine(now, then);
  const [after, difference] = [similarity, similarity - 1].map(threeDigits);
  return {
    effect: `Similarity to the vector of the unchanged model: 1 → ${after} (difference ${difference}).`,
    ending: ["similarity", "before: 1", `after: ${after}`, "difference:", difference],
  };
}

function switchesOf({ encoder: { config } }, trace, { layer, head }, { causal, positions, off }) {
  const isOff = (part) => off.some(([l, p]) => l === layer && p === part);
  const button = (name, label, title, on) => ({ name, label, title, on: Boolean(on) });
  const norm = "LayerNorm before each sublayer; off: after the addition (post-norm)";
  return {
    bar: [
      button("norm", "Pre-norm", norm, trace.placement === "pre"),
      ...(config.causal ? [] : [button("causal", "Causal mask", "Hide later tokens, as a decoder does", causal)]),
      button("positions", "Positions", "Positional encodings", positions !== false),
    ],
    power: [
      button("attention", "attention", `Attention of layer ${layer}: on or off`, !isOff("attention")),
      button("head", `head ${head}`, `Head ${head} of layer ${layer}: on or off`, !isOff(head)),
      button("ffn", "feed-forward", `Feed-forward of layer ${layer}: on or off`, !isOff("ffn")),
    ],
  };
}

async function curvesOf(name, state, site) {
  const used = await model(name, site);
  used.about.title = site.models[name].title;
  const { tokens, trace } = await used.read(state.text, {});
  const place = placeOf(state, used.encoder.config, trace.nTokens);
  return modelPicture(used, trace, tokens.map(({ label }) => label), place, { header: { curves: true } });
}

async function hiddenWords(used, trace, tokens) {
  const hidden = tokens.flatMap(({ label }, at) => label === used.about.tokenizer.mask ? [at] : []);
  if (hidden.length) await used.words.need(); // any word may be the answer
  return hidden.map((at) => {
    const shares = hiddenWord(used.encoder, used.about.mlm_head, trace, at);
    return { token: at, words: largest(shares, MOST_WORDS).map((id) => [used.tokenizer.names[id], shares[id]]) };
  });
}

// The selected layer, head and tokens, inside this model and text.
function placeOf({ layer, head, i, j, first }, { n_layers: nLayers, n_heads: nHeads }, nTokens) {
  const inside = (value, count) => value === null || value >= count ? null : value;
  return {
    layer: Math.min(layer, nLayers - 1),
    head: Math.min(head, nHeads - 1),
    query: inside(i, nTokens),
    key: inside(j, nTokens),
    first: inside(first ?? null, nTokens),
  };
}

// Loads what remains of a model while the reader looks, so that any later sentence needs no network.
async function loadRest({ words }) {
  if (!words || words.tensor.data.length > WHOLE_TABLE) return;
  for (let row = 0; row < words.tensor.shape[0]; row += words.block) await words.need([row]);
}

addEventListener("message", async ({ data: { id, ...request } }) => {
  try {
    const { made, ...rest } = await pictures(request);
    const blocks = Object.entries(made).map(([place, { kind, header, arrays, height }]) => ({
      place,
      kind,
      height,
      block: pack(header, arrays),
    }));
    postMessage({ id, ...rest, blocks }, { transfer: blocks.map(({ block }) => block.buffer) });
    // What does not come now, the next text that needs it asks for again.
    for (const one of await Promise.all(models.values())) await loadRest(one).catch(() => {});
    if (loaded.length) postMessage({ loaded: loaded.splice(0) });
  } catch (error) {
    postMessage({ id, error: /** @type {Error} */ (error).message });
  }
});
