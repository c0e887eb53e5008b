// Products of matrices, softmax and activations: by the kernel in WebAssembly, and in JavaScript where a browser does not
// compile it.
import { kernel, MULTIPLES } from "./kernel.js";
import { ACTIVATIONS, linear, softmax } from "./linear.js";

const PAGE = 65_536; // bytes
const START = 16; // the first address of a matrix
const ROWS_AT_ONCE = 64; // of x: they stay in the processor's cache while the weights come by
const LEAST = -3.4028234663852886e38; // the lowest finite float32

const upTo = (count, multiple) => Math.ceil(count / multiple) * multiple;

// Part of a matrix or of its transpose: the number of a row at a place is data[first + row x rowStep + place x step].
export const block = (data, rows, width, first = 0, rowStep = width, step = 1) => (
  { data, rows, width, first, rowStep, step }
);

export class Products {
  // isCompiled: whether to use WebAssembly, which takes a fifth of the time at any size.
  constructor(isCompiled = true) {
    this.end = START; // of the matrices that are held; what lies behind it is valid during one call
    try {
      if (!isCompiled) return;
      const memory = new WebAssembly.Memory({ initial: 1 });
      const [fused, separate] = [true, false].map(kernel);
      const module = new WebAssembly.Module(WebAssembly.validate(fused) ? fused : separate);
      /** @type {any} */
      this.compiled = new WebAssembly.Instance(module, { memory: { it: memory } }).exports;
      this.memory = memory;
    } catch {
      this.memory = null; // no vectors in this browser, or a server forbids WebAssembly
    }
  }

  // A matrix [N, D] and its bias [N] or null, for `times`. The numbers of the tensor move to the kernel's memory.
  hold(tensor, bias) {
    const rows = tensor.shape[0];
    const width = tensor.data.length / rows;
    if (!this.memory) return { tensor, bias, width };
    const held = this.packed(block(tensor.data, rows, width), bias, this.end);
    this.end = held.end;
    Object.defineProperty(tensor, "data", { get: () => this.unpacked(held) });
    return held;
  }

  // x [T, D] times a held matrix transposed, plus its bias, then an activation by its name -> [T, N].
  times(x, held, activation = "none") {
    const isIncluded = this.memory && activation === "gelu";
    const out = this.memory
      ? this.run(block(x, x.length / held.width, held.width), held, this.end, isIncluded)
      : linear(x, held.tensor.data, held.bias, held.width);
    return isIncluded ? out : ACTIVATIONS[activation](out);
  }

  // Block a [T, D] times block b [N, D] transposed -> [T, N].
  product(a, b) {
    if (!this.memory) return linear(gathered(a), gathered(b), null, a.width);
    const packed = this.packed(b, null, this.end);
    return this.run(a, packed, packed.end);
  }

  // Softmax of each row of finite scores [T, N].
  softmax(scores, width) {
    const rows = scores.length / width;
    const out = new Float32Array(scores.length);
    if (!this.memory) {
      for (let at = 0; at < scores.length; at += width) {
        softmax(scores.subarray(at, at + width), out.subarray(at, at + width));
      }
      return out;
    }
    const length = upTo(width, MULTIPLES.vector);
    this.reserve(this.end + 4 * rows * length);
    this.copy(block(scores, rows, width), this.end, rows, length, LEAST);
    this.compiled.softmax(this.end, this.end + 4 * rows * length, 4 * length);
    this.taken(this.end, rows, width, length, out, 0);
    return out;
  }

  // Copies a block and a bias to an address as the kernel reads them (`MULTIPLES`), with zeros up to what it multiplies.
  packed(b, bias, at) {
    const [rows, length] = [upTo(b.rows, MULTIPLES.b), upTo(b.width, MULTIPLES.length)];
    const biasAt = at + 4 * rows * length;
    const end = upTo(biasAt + 4 * rows, START);
    this.reserve(end);
    const to = new Float32Array(this.memory.buffer, at, rows * length);
    if (rows !== b.rows || length !== b.width) to.fill(0);
    const held = { at, biasAt, end, count: b.rows, rows, width: b.width, length };
    const { data, first, rowStep, step } = b;
    for (let row = 0; row < b.rows; row++) {
      let from = first + row * rowStep;
      let place = placeOfRow(held, row);
      for (let d = 0; d < b.width; d += 4, place += 16) {
        const most = Math.min(4, b.width - d);
        for (let one = 0; one < most; one++, from += step) to[place + one] = data[from];
      }
    }
    this.copy(block(bias ?? new Float32Array(b.rows), 1, b.rows), biasAt, 1, rows);
    return held;
  }

  // The numbers [N, D] of a held matrix.
  unpacked(held) {
    const from = new Float32Array(this.memory.buffer, held.at, held.rows * held.length);
    const out = new Float32Array(held.count * held.width);
    for (let row = 0, at = 0; row < held.count; row++) {
      const start = placeOfRow(held, row);
      for (let d = 0; d < held.width; d++) out[at++] = from[start + (d >> 2) * 16 + (d & 3)];
    }
    return out;
  }

  // free: where memory is free. isGelu: whether the activation GELU follows.
  run(a, { at, biasAt, count, rows, length }, free, isGelu = false) {
    const out = new Float32Array(a.rows * count);
    const most = Math.min(upTo(a.rows, MULTIPLES.a), ROWS_AT_ONCE);
    const outAt = free + 4 * most * length;
    this.reserve(outAt + 4 * most * rows);
    for (let first = 0; first < a.rows; first += most) {
      const some = { ...a, rows: Math.min(most, a.rows - first), first: a.first + first * a.rowStep };
      const padded = upTo(some.rows, MULTIPLES.a);
      this.copy(some, free, padded, length);
      this.compiled.multiply(free, free + 4 * padded * length, at, biasAt, biasAt, outAt, 4 * length, 4 * rows);
      if (isGelu) this.compiled.gelu(outAt, outAt + 4 * padded * rows);
      this.taken(outAt, some.rows, count, rows, out, first * count);
    }
    return out;
  }

  // Copies a block with rows of neighbours to rows of `length` at an address.
  copy({ data, rows: own, width, first, rowStep }, at, rows, length, rest = 0) {
    const to = new Float32Array(this.memory.buffer, at, rows * length);
    if (width === length && rowStep === width) to.set(data.subarray(first, first + own * width));
    else {for (let row = 0; row < own; row++) {
        const start = first + row * rowStep;
        to.set(data.subarray(start, start + width), row * length);
        if (width < length) to.fill(rest, row * length + width, (row + 1) * length);
      }}
    if (own < rows) to.fill(rest, own * length);
  }

  // Copies rows of `length` at an address to rows of `width` in `out`.
  taken(at, rows, width, length, out, first) {
    const found = new Float32Array(this.memory.buffer, at, rows * length);
    if (width === length) out.set(found, first);
    else {for (let row = 0; row < rows; row++) {
        out.set(found.subarray(row * length, row * length + width), first + row * width);
      }}
  }

  reserve(end) {
    const missing = end - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE));
  }
}

// Where the first vector of a row is in a packed matrix.
const placeOfRow = ({ length }, row) => (row - row % MULTIPLES.b) * length + row % MULTIPLES.b * MULTIPLES.vector;

// The numbers of a block, row after row.
function gathered({ data, rows, width, first, rowStep, step }) {
  const out = new Float32Array(rows * width);
  for (let row = 0, to = 0; row < rows; row++) {
    for (let place = 0, at = first + row * rowStep; place < width; place++, at += step) out[to++] = data[at];
  }
  return out;
}
