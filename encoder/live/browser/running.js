// Models and their passes: each is loaded once, and the newest passes are kept.
import { fastest } from "./engine/fastest.js";
import { Products } from "./engine/products.js";
import { Threads } from "./engine/threads.js";
import { fetched, Model } from "./model.js";

const models = new Map(); // name -> promise of a Model
const open = new Map(); // name -> Model
const passes = new Map(); // what was computed last: of a text and its edits
const MOST_PASSES = 2; // with and without the changes, or both sides of a comparison

const BLOCKS_A_REPORT = 8;
const loaded = []; // addresses of files, until the page hears of them

async function file(address, onProgress, priority) {
  const buffer = await fetched(address, onProgress, priority);
  loaded.push(address);
  return buffer;
}

/** @type {Promise<Products | null>} */
let withHelpers = null; // for all models: they share its memory

export function model(name, site) {
  withHelpers ??= Threads.start().then((threads) => threads && new Products(threads));
  if (!models.has(name)) {
    const address = site.models[name].file;
    const block = (at, priority) => file(address.replace(/\.bin$/, `/${at}.bin`), undefined, priority);
    const loading = file(address, (share) => postMessage({ progress: { name, share } })).then((buffer) =>
      opened(name, new Model(buffer, block))
    );
    loading.catch(() => models.delete(name)); // the next request tries again
    models.set(name, loading);
  }
  return models.get(name);
}

// A model on the threads that compute it fastest.
async function opened(name, one) {
  const { encoder } = one;
  const helped = await withHelpers;
  if (helped) encoder.products = fastest([encoder.products, helped], encoder.config);
  open.set(name, one);
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

/** @type {Promise<void> | null} */
let resting = null;

// Loads what remains of the models while the reader looks, one block after another, so that any later sentence needs no
// network; not where the reader's browser saves data. What does not come now, the next text that needs it asks for again.
// report({loaded, shares}): the addresses of files that came since the last report, and what has come of each model.
/** @param {(report: object) => void} report */
export function loadRest(report) {
  resting ??= rest(report).catch(() => {}).finally(() => {
    resting = null;
    report(reported());
  });
  report(reported());
}

const saves = () => /** @type {any} */ (navigator).connection?.saveData === true;

async function rest(report) {
  if (saves()) return;
  for (const loading of models.values()) {
    const { words } = await loading;
    for (let at = 0; at < (words?.count ?? 0); at++) {
      if (words.isHere[at]) continue;
      await words.fill(at, "low");
      if (at % BLOCKS_A_REPORT === 0) report(reported());
    }
  }
}

const reported = () => ({
  loaded: loaded.splice(0),
  shares: Object.fromEntries(
    [...open].map(([name, { words }]) => [name, { share: words?.share() ?? 1, saves: saves() }]),
  ),
});
