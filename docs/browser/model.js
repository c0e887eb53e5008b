// A model of the site: its weights, its engine, its tokenizer.
import { Encoder } from "./engine/encoder.js";
import { readWeights } from "./engine/weights.js";
import { WordPiece } from "./engine/wordpiece.js";

export class Model {
  // buffer: of a file that `docs/browser_model.py` made, unpacked.
  constructor(buffer) {
    const { tensors, metadata } = readWeights(buffer);
    this.about = JSON.parse(metadata.about);
    this.encoder = new Encoder(this.about.config, tensors);
    this.tokenizer = this.about.tokenizer && new WordPiece(this.about.tokenizer);
    this.longest = this.about.config.max_positions;
  }

  // {tokens, trace} of a text.
  read(text, edits) {
    const tokens = this.tokenizer.tokens(text, this.longest);
    return { tokens, trace: this.encoder.trace(tokens.map(({ id }) => id), edits) };
  }

  // The same of an image: pixels [S, S] from 0 to 1.
  look(pixels, edits) {
    const { mean: [mean], std: [std] } = this.about.preparation;
    const trace = this.encoder.trace(pixels.map((value) => (value - mean) / std), edits);
    const side = this.about.config.patches.image_size / this.about.config.patches.patch_size;
    const patches = Array.from({ length: side * side }, (_, at) => `r${Math.floor(at / side)} c${at % side}`);
    const special = trace.nTokens > patches.length ? ["[CLS]"] : [];
    return { tokens: [...special, ...patches].map((label) => ({ label, id: 0 })), trace };
  }
}

// The bytes of a file, with news of how much of it has come. Raises an Error with a sentence.
export async function fetched(address, onProgress) {
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
