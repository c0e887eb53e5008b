// The engine's thread: it answers each request with the pictures of a page.
import { threeDigits } from "../../drawing/drawing.js";
import { classes, cosine, hiddenWord, largest, textVector } from "./engine/heads.js";
import { similarity } from "./engine/similarity.js";
import { OF_HEAD } from "./head_views.js";
import { pack } from "./pack.js";
import { partsOf } from "./parts.js";
import { gridPicture, modelPicture } from "./pictures.js";
import { editsOf, loadRest, model, pass } from "./running.js";

const MOST_WORDS = 8;

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
  let head = null;
  if (page === "heads" || page === "predict") {
    made.grid = gridPicture(used, trace, place, Uint8Array.from(site.colours));
    head = await OF_HEAD[state.view]({ used, tokens, trace, labels, place, state, site });
    made.head = head.picture;
  } else if (page === "pre_post") {
    made.pre = await curvesOf("twin-pre", state, site);
    made.post = await curvesOf("twin-post", state, site);
  } else made.model = await wholePicture(used, trace, tokens, place, state, found, run);
  const words = page === "predict" && used.about.mlm_head ? await hiddenWords(used, trace, tokens) : [];
  const uses = isCut ? tokens.length : head?.cutTo;
  return {
    made,
    words,
    classes: found,
    said: head?.said ?? [],
    terms: head?.terms ?? null,
    other: head?.other ?? null,
    drawn: drawnOf(used, trace, labels, place),
    lacksPart: made.model?.lacks ?? "",
    note: uses ? `This page uses ${uses} tokens of a text, which has more.` : "",
  };
}

// The similarity of two texts and what each word does to it; this page has no picture.
async function pairOf(used, state) {
  const pair = await similarity(used, [state.text, state.similar_to], editsOf(state));
  const long = pair.sides.some(({ isLong }) => isLong)
    ? "Words are left out one by one in texts of up to 64 words."
    : "";
  const cut = pair.isCut ? "This page uses the first 256 tokens of a text." : "";
  const drawn = { cosine: pair.cosine };
  return { made: {}, words: [], classes: [], pair, drawn, note: [long, cut].filter(Boolean).join(" ") };
}

// What the host of a frame hears: the tokens, the model's size, the weight of the selected pair, and the key that the
// selected query attends to most.
function drawnOf({ encoder: { config } }, { layers, nTokens }, tokens, { layer, head, query, key }) {
  const weights = query === null ? null : layers[layer].pattern[head].subarray(query * nTokens, (query + 1) * nTokens);
  return {
    tokens,
    layers: config.n_layers,
    heads: config.n_heads,
    layer,
    head,
    i: query,
    j: key,
    weight: weights && key !== null ? weights[key] : null,
    strongest: weights && largest(weights, 1)[0],
  };
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
    part: Object.hasOwn(parts, state.part) ? state.part : "",
    parts,
    partsOf: { query: chosen.query, key: chosen.key, source: null },
    options: [],
  });
  Object.assign(picture.arrays, arrays);
  return Object.hasOwn(parts, state.part) ? picture : { ...picture, lacks: state.part };
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
  if (hidden.length) await used.words.needAll(); // any word may be the answer
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
    loadRest(postMessage);
  } catch (error) {
    postMessage({ id, error: /** @type {Error} */ (error).message });
  }
});
