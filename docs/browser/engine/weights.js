// The weights of a model: a safetensors file with float32, float16 or int8. An int8 matrix has a scale for each row.

const HALF = new Float32Array(65_536); // every float16 as a number

function fillHalf() {
  for (let bits = 0; bits < 65_536; bits++) {
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    const size = exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
      ? (fraction ? NaN : Infinity)
      : (1 + fraction / 1024) * 2 ** (exponent - 15);
    HALF[bits] = bits & 0x8000 ? -size : size;
  }
}

const READERS = {
  F32: (bytes) => new Float32Array(bytes),
  F16: (bytes) => Float32Array.from(new Uint16Array(bytes), (bits) => HALF[bits]),
  I8: (bytes) => Float32Array.from(new Int8Array(bytes)),
};

// {name: {data: Float32Array, shape}} of a file's bytes (ArrayBuffer), and its metadata.
export function readWeights(buffer) {
  if (!HALF[1]) fillHalf();
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const tensors = {};
  const { __metadata__: metadata = {}, ...stored } = header;
  for (const [name, { dtype, shape, data_offsets: [start, end] }] of Object.entries(stored)) {
    tensors[name] = { data: READERS[dtype](buffer.slice(8 + length + start, 8 + length + end)), shape };
  }
  for (const [name, { data: scales }] of Object.entries(tensors)) {
    if (!name.endsWith(".scale")) continue;
    const { data } = tensors[name.slice(0, -".scale".length)];
    const width = data.length / scales.length;
    for (let at = 0; at < data.length; at++) data[at] *= scales[Math.floor(at / width)];
    delete tensors[name];
  }
  return { tensors, metadata };
}
