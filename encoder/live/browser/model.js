// A model of the site: its weights, its engine, its tokenizer.
import { Encoder } from "./engine/encoder.js";
import { readWeights } from "./engine/weights.js";
import { Tokenizer } from "./engine/tokenizer.js";

export const MOST_READ = 256; // tokens of a text: the maps of all heads grow with their square

export class Model {
  // buffer: of a file that `encoder/live/packed.py` made, unpacked. block: gives the bytes of a block of word vectors.
  constructor(buffer, block) {
    const { tensors, metadata } = readWeights(buffer);
    this.about = JSON.parse(metadata.about);
    const { table } = this.about;
    if (table) {
      this.words = new WordVectors(table, block);
      tensors[table.name] = this.words.tensor;
    }
    this.encoder = new Encoder(this.about.config, tensors, this.about);
    this.tokenizer = this.about.tokenizer && new Tokenizer(this.about.tokenizer);
  }

  // {tokens, trace, isCut} of a text; isCut: whether it has more tokens than these.
  async read(text, edits) {
    const most = Math.min(this.about.longest, MOST_READ);
    const all = this.tokenizer.tokens(text, Infinity);
    const isCut = all.length > most;
    const tokens = isCut ? this.tokenizer.tokens(text, most) : all;
    const ids = tokens.map(({ id }) => id);
    const lost = await this.words.need(ids);
    if (lost.length) throw new Error(lackOf(tokens.filter(({ id }) => lost.includes(id)).map(({ label }) => label)));
    const special = tokens.flatMap((token, at) => token.special ? [at] : []);
    return { tokens, isCut, trace: { ...this.encoder.trace(ids, edits), special } };
  }

  // The same of an image: pixels [S, S] from 0 to 1.
  look(pixels, edits) {
    const { mean: [mean], std: [std] } = this.about.preparation;
    const trace = this.encoder.trace(pixels.map((value) => (value - mean) / std), edits);
    const side = this.about.config.patches.image_size / this.about.config.patches.patch_size;
    const patches = Array.from({ length: side * side }, (_, at) => `r${Math.floor(at / side)} c${at % side}`);
    const first = trace.nTokens > patches.length ? ["[CLS]"] : [];
    return { tokens: [...first, ...patches].map((label) => ({ label, id: 0 })), trace: { ...trace, special: [] } };
  }
}

// The table of word vectors, whose blocks of rows come when a text needs them.
class WordVectors {
  constructor({ shape, block }, read) {
    this.block = block;
    this.read = read;
    /** @type {Promise<void>[]} */
    this.coming = [];
    /** @type {boolean[]} */
    this.isHere = []; // of each block
    this.count = Math.ceil(shape[0] / block);
    this.tensor = { data: new Float32Array(shape[0] * shape[1]), shape };
  }

  // Loads the rows of these tokens. Gives those that need a network which is not there.
  /** @param {number[]} ids */
  async need(ids) {
    const loaded = await Promise.all(ids.map((id) => this.fill(Math.floor(id / this.block)).catch(ifLost)));
    return ids.filter((_, at) => loaded[at] === LOST);
  }

  // Loads every row.
  async needAll() {
    const blocks = Array.from({ length: this.count }, (_, at) => this.fill(at).catch(ifLost));
    if ((await Promise.all(blocks)).includes(LOST)) {
      throw new Error(
        "Any word may be the answer, and not all vectors are on this device: a visit with network loads them.",
      );
    }
  }

  fill(at, priority = "auto") {
    this.coming[at] ??= this.read(at, priority).then((buffer) => {
      const { data, shape: [, width] } = this.tensor;
      data.set(readWeights(buffer).tensors.rows.data, at * this.block * width);
      this.isHere[at] = true;
    }).catch((error) => {
      delete this.coming[at]; // the next request tries again
      throw error;
    });
    return this.coming[at];
  }

  // How much of the table is here, from 0 to 1.
  share() {
    return this.isHere.filter(Boolean).length / this.count;
  }
}

const LOST = Symbol("no network");

function ifLost(error) {
  if (error instanceof NoNetwork) return LOST;
  throw error;
}

function lackOf(labels) {
  const names = [...new Set(labels)].map((label) => `“${label}”`).join(", ");
  return names.includes(",")
    ? `The vectors of ${names} are not on this device: a visit with network loads them.`
    : `The vector of ${names} is not on this device: a visit with network loads it.`;
}

class NoNetwork extends Error {}

// The bytes of a file, with news of how much of it has come. Raises an Error with a sentence.
/** @param {string} address @param {(share: number) => void} onProgress @param {RequestPriority} priority */
export async function fetched(address, onProgress = () => {}, priority = "auto") {
  const response = await fetch(address, { priority }).catch(() => null);
  if (!response && address.startsWith("http")) {
    throw new NoNetwork("This model is not on this device: a visit with network loads it.");
  }
  if (!response?.ok) throw new Error("The model’s weights could not be loaded. Reload the page, or serve the folder.");
  const total = Number(response.headers.get("content-length"));
  let come = 0;
  const counted = new TransformStream({
    transform(chunk, controller) {
      come += chunk.length;
      onProgress(total ? come / total : 0);
      controller.enqueue(chunk);
    },
  });
  // A server may say that the file is gzipped; the browser has then unpacked it.
  const isPacked = response.headers.get("content-encoding") !== "gzip";
  const stream = response.body.pipeThrough(counted);
  return new Response(isPacked ? stream.pipeThrough(new DecompressionStream("gzip")) : stream).arrayBuffer();
}
