// Models and their passes: each is loaded once, and the newest passes are kept.
import { fastest } from "./engine/fastest.js";
import { Products } from "./engine/products.js";
import { Threads } from "./engine/threads.js";
import { fetched, Model } from "./model.js";

const models = new Map(); // name -> promise of a Model
const passes = new Map(); // what was computed last: of a text and its edits
const MOST_PASSES = 2; // with and without the changes, or both sides of a comparison

const WHOLE_TABLE = 2 ** 21; // numbers; a larger table of word vectors comes in the blocks that texts need
const loaded = []; // addresses of files, until the page hears of them

async function file(address, onProgress) {
  const buffer = await fetched(address, onProgress);
  loaded.push(address);
  return buffer;
}

/** @type {Promise<Products | null>} */
let withHelpers = null; // for all models: they share its memory

export function model(name, site) {
  withHelpers ??= Threads.start().then((threads) => threads && new Products(threads));
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
export const editsOf = ({ norm, causal, positions, off }) => ({
  placement: norm || undefined,
  causal,
  noPositions: positions === false,
  heads: off.filter(([, part]) => typeof part === "number"),
  sublayers: off.filter(([, part]) => typeof part === "string"),
});

// A forward pass; the same is computed once while a reader clicks.
/** @param {Model} used @param {{ model: string, text: string, pixels?: number[] }} input @param {any} edits */
export async function pass(used, { model: name, text, pixels }, edits) {
  const key = JSON.stringify([name, pixels ?? text, edits]);
  if (!passes.has(key)) {
    passes.set(key, pixels ? used.look(Float32Array.from(pixels), edits) : await used.read(text, edits));
    for (const old of [...passes.keys()].slice(0, -MOST_PASSES)) passes.delete(old);
  }
  return passes.get(key);
}

// Loads what remains of the models while the reader looks, so that any later sentence needs no network. What does not come
// now, the next text that needs it asks for again.
export async function loadRest() {
  for (const { words } of await Promise.all(models.values())) {
    if (!words || words.tensor.data.length > WHOLE_TABLE) continue;
    for (let row = 0; row < words.tensor.shape[0]; row += words.block) await words.need([row]).catch(() => {});
  }
}

// The addresses of the files that came since the last call.
export const newFiles = () => loaded.splice(0);
