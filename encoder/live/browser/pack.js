// A header and its arrays as one block of bytes, as `encoder/drawing/wire.py` describes.

const ALIGNMENT = 8;
const DTYPES = { Float32Array: "float32", Float64Array: "float64", Uint8Array: "uint8", Int32Array: "int32" };
const padded = (length) => Math.ceil(length / ALIGNMENT) * ALIGNMENT;

export function pack(header, arrays) {
  const table = {};
  let end = 0;
  for (const [name, { data, shape }] of Object.entries(arrays)) {
    table[name] = { dtype: DTYPES[data.constructor.name], shape, offset: end };
    end += padded(data.byteLength);
  }
  const text = new TextEncoder().encode(JSON.stringify({ ...header, arrays: table }));
  const start = padded(4 + text.length);
  const block = new Uint8Array(start + end).fill(32, 0, start);
  new DataView(block.buffer).setUint32(0, start - 4, true);
  block.set(text, 4);
  for (const [name, { data }] of Object.entries(arrays)) {
    block.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), start + table[name].offset);
  }
  return block;
}
