// MiniLM in one page by two engines: that of a published page, and onnxruntime-web with attentions as outputs.
import { Model } from "./browser/model.js";
import { Products } from "./browser/engine/products.js";
import { OneThread } from "./browser/engine/threads.js";

// A model of a published folder.
async function opened(file, isCompiled) {
  const unpacked = async (address) => {
    const { body } = await fetch(address);
    return new Response(body.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  };
  const model = new Model(await unpacked(file), (at) => unpacked(file.replace(/\.bin$/, `/${at}.bin`)));
  model.encoder.products = new Products(isCompiled ? new OneThread() : null);
  return model;
}

// Each side is a function of ids that gives {output, attention: one array [H x T x T] for each layer}.
export async function ours(file, isCompiled = true) {
  const model = await opened(file, isCompiled);
  return async (ids) => {
    await model.words.need(ids);
    const { output, layers } = model.encoder.trace(ids);
    return { output, attention: layers.map(({ pattern }) => pattern) };
  };
}

export async function theirs(file, library) {
  const { InferenceSession, Tensor, env } = await import(library);
  env.wasm.wasmPaths = new URL(".", library).href;
  env.wasm.numThreads = 1;
  const session = await InferenceSession.create(file, { executionProviders: ["wasm"] });
  return async (ids) => {
    const numbers = (values) => new Tensor("int64", BigInt64Array.from(values, BigInt), [1, ids.length]);
    const found = await session.run({ input_ids: numbers(ids), attention_mask: numbers(ids.map(() => 1)) });
    const { output, ...attention } = Object.fromEntries(Object.entries(found).map(([name, { data }]) => [name, data]));
    return { output, attention: Object.values(attention) };
  };
}

export async function repeated(side, ids, passes) {
  for (let at = 0; at < passes; at++) await side(ids);
}

// The largest difference of two results.
export function difference(one, other) {
  const apart = (a, b) => a.reduce((most, value, at) => Math.max(most, Math.abs(value - b[at])), 0);
  const weights = one.attention.map((heads, layer) => {
    const size = heads[0].length;
    return Math.max(
      ...heads.map((head, at) => apart(head, other.attention[layer].subarray(at * size, (at + 1) * size))),
    );
  });
  return Math.max(apart(one.output, other.output), ...weights);
}
