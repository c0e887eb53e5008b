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
    await this.words.need(ids);
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
    this.tensor = { data: new Float32Array(shape[0] * shape[1]), shape };
  }

  // The rows of these tokens; without tokens, every row.
  /** @param {number[]} [ids] */
  async need(ids) {
    const { shape: [rows] } = this.tensor;
    const starts = ids ?? Array.from({ length: Math.ceil(rows / this.block) }, (_, at) => at * this.block);
    await Promise.all(starts.map((id) => this.fill(Math.floor(id / this.block))));
  }

  fill(at) {
    this.coming[at] ??= this.read(at).then((buffer) => {
      const { data, shape: [, width] } = this.tensor;
      data.set(readWeights(buffer).tensors.rows.data, at * this.block * width);
    }).catch((error) => {
      delete this.coming[at]; // the next request tries again
      throw error;
    });
    return this.coming[at];
  }
}

// The bytes of a file, with news of how much of it has come. Raises an Error with a sentence.
/** @param {string} address @param {(share: number) => void} onProgress */
export async function fetched(address, onProgress = () => {}) {
  const response = await fetch(address).catch(() => null);
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
