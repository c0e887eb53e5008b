// The weights of a model: a safetensors file with vectors in float32, and matrices in 8 bits, or in 16 as the planes of
// their low and high bytes. A matrix with a scale for each row has signed whole numbers, any other float16.

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

// Numbers of 16 bits from their bytes, by planes. scales: of each row, or undefined for float16.
function matrix(planes, scales) {
  const count = planes.length / 2;
  const data = new Float32Array(count);
  if (!scales) {
    for (let at = 0; at < count; at++) data[at] = HALF[planes[at] | planes[count + at] << 8];
    return data;
  }
  return scaled(data, scales, (at) => (planes[at] | planes[count + at] << 8) << 16 >> 16);
}

// Whole numbers times the scale of their row, in `data`.
function scaled(data, scales, number) {
  const width = data.length / scales.length;
  for (let row = 0, at = 0; row < scales.length; row++) {
    const scale = scales[row];
    for (const end = at + width; at < end; at++) data[at] = number(at) * scale;
  }
  return data;
}

// Signed whole numbers of 8 bits as numbers.
const smallMatrix = (numbers, scales) => scaled(new Float32Array(numbers.length), scales, (at) => numbers[at]);

// {name: {data: Float32Array, shape}} of a file's bytes (ArrayBuffer), and its metadata.
export function readWeights(buffer) {
  if (!HALF[1]) fillHalf();
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const { __metadata__: metadata = {}, ...stored } = JSON.parse(
    new TextDecoder().decode(new Uint8Array(buffer, 8, length)),
  );
  const bytes = ({ data_offsets: [start, end] }) => buffer.slice(8 + length + start, 8 + length + end);
  const tensors = {};
  for (const [name, one] of Object.entries(stored)) {
    if (name.endsWith(".scale")) continue;
    const scale = stored[`${name}.scale`];
    const scales = scale && new Float32Array(bytes(scale));
    tensors[name] = one.dtype === "F32"
      ? { data: new Float32Array(bytes(one)), shape: one.shape }
      : one.dtype === "I8"
      ? { data: smallMatrix(new Int8Array(bytes(one)), scales), shape: one.shape }
      : { data: matrix(new Uint8Array(bytes(one)), scales), shape: one.shape.slice(1) };
  }
  return { tensors, metadata };
}
