// Products of matrices, softmax, LayerNorm and activations: by the kernel in WebAssembly, on one thread or several, and in
// JavaScript where a browser does not compile it.
import { MULTIPLES } from "./kernel.js";
import { ACTIVATIONS, layerNorm, linear, softmax } from "./linear.js";
import { OneThread } from "./threads.js";

const PAGE = 65_536; // bytes
const START = 16; // the first address of a matrix
const ROWS_AT_ONCE = 64; // of x: they stay in the processor's cache while the weights come by
const PARTS = 4; // of a product for each thread: one that is slow for a while then makes fewer
const [EXPONENTIAL, NORMAL] = [64, 16]; // what a number of softmax or GELU, and of LayerNorm, costs in multiplications
const LEAST = -3.4028234663852886e38; // the lowest finite float32

const upTo = (count, multiple) => Math.ceil(count / multiple) * multiple;

// Part of a matrix or of its transpose: the number of a row at a place is data[first + row x rowStep + place x step].
export const block = (data, rows, width, first = 0, rowStep = width, step = 1) => (
  { data, rows, width, first, rowStep, step }
);

export class Products {
  // threads: those of the kernel, or null for JavaScript, which takes five times as long at any size.
  constructor(threads = new OneThread()) {
    this.end = START; // of the matrices that are held; what lies behind it is valid during one call
    this.threads = threads;
    this.memory = threads?.memory ?? null;
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

  // Each block a [T, D] times its block b [N, D] transposed -> [T, N]. All pairs have the same sizes.
  products(pairs) {
    if (!this.memory) return pairs.map(([a, b]) => linear(gathered(a), gathered(b), null, a.width));
    let free = this.end;
    const placed = pairs.map(([a, b]) => {
      const packed = this.packed(b, null, free);
      const one = this.placed(a, packed, packed.end);
      free = one.end;
      return one;
    });
    const work = placed.reduce((sum, { work }) => sum + work, 0);
    this.threads.run(placed.map(({ call, held }) => call(0, held.rows)), work);
    return placed.map(({ a, held, outAt }) => {
      const out = new Float32Array(a.rows * held.count);
      this.taken(outAt, a.rows, held.count, held.rows, out, 0);
      return out;
    });
  }

  // Softmax of each row of finite scores: arrays of one size, with rows of `width` numbers.
  softmax(scores, width) {
    const size = scores[0].length;
    const rows = size / width;
    const out = scores.map(() => new Float32Array(size));
    if (!this.memory) {
      scores.forEach((own, which) => {
        for (let at = 0; at < size; at += width) {
          softmax(own.subarray(at, at + width), out[which].subarray(at, at + width));
        }
      });
      return out;
    }
    const length = upTo(width, MULTIPLES.vector);
    const place = (which) => this.end + 4 * which * rows * length;
    this.reserve(place(scores.length));
    scores.forEach((own, which) => this.copy(block(own, rows, width), place(which), rows, length, LEAST));
    const call = (from, to) => ["softmax", this.end + 4 * from * length, this.end + 4 * to * length, 4 * length];
    this.inParts(scores.length * rows, 1, EXPONENTIAL * size * scores.length, call);
    out.forEach((own, which) => this.taken(place(which), rows, width, length, own, 0));
    return out;
  }

  // LayerNorm of each row of x, as `linear.js` has it.
  layerNorm(x, norm) {
    const width = norm.gain.length;
    if (!this.memory || width % MULTIPLES.vector) return layerNorm(x, norm);
    const given = [norm.gain, norm.bias ?? new Float32Array(width), fourTimes(1 / width), fourTimes(norm.eps), x];
    let end = this.end;
    const places = given.map(({ length }) => (end += 4 * length) - 4 * length);
    this.reserve(end);
    given.forEach((one, at) => this.copy(block(one, 1, one.length), places[at], 1, one.length));
    const [gain, bias, constants, , from] = places;
    const rowBytes = 4 * width;
    const call = (row, to) => [
      ...["layerNorm", from + row * rowBytes, from + to * rowBytes, rowBytes],
      ...[gain, bias, constants],
    ];
    this.inParts(x.length / width, 1, NORMAL * x.length, call);
    const out = new Float32Array(x.length);
    this.taken(from, 1, x.length, x.length, out, 0);
    return out;
  }

  // Runs the calls for all parts, from one number to another, of `count` things of which a call makes a multiple.
  // work: for all of them, in multiplications.
  inParts(count, multiple, work, call) {
    const most = this.threads.count > 1 ? PARTS * this.threads.count : 1;
    const size = upTo(Math.ceil(count / most), multiple);
    const part = (_, at) => call(at * size, Math.min(count, (at + 1) * size));
    this.threads.run(Array.from({ length: Math.ceil(count / size) }, part), work);
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

  // Block a times a packed matrix. free: where memory is free. isGelu: whether the activation GELU follows.
  run(a, held, free, isGelu) {
    const out = new Float32Array(a.rows * held.count);
    for (let first = 0; first < a.rows; first += ROWS_AT_ONCE) {
      const rows = Math.min(ROWS_AT_ONCE, a.rows - first);
      const { call, work, outAt, end } = this.placed({ ...a, rows, first: a.first + first * a.rowStep }, held, free);
      this.inParts(held.rows, MULTIPLES.b, work, call);
      const gelu = (from, to) => ["gelu", outAt + from, outAt + to];
      if (isGelu) this.inParts(end - outAt, 4 * MULTIPLES.vector, EXPONENTIAL * rows * held.rows, gelu);
      this.taken(outAt, rows, held.count, held.rows, out, first * held.count);
    }
    return out;
  }

  // Copies block a to an address; its product with a packed matrix then comes behind it, by calls for columns of it.
  placed(a, held, at) {
    const [rows, rowBytes, outBytes] = [upTo(a.rows, MULTIPLES.a), 4 * held.length, 4 * held.rows];
    const outAt = at + rows * rowBytes;
    const end = outAt + rows * outBytes;
    this.reserve(end);
    this.copy(a, at, rows, held.length);
    const call = (from, to) => [
      ...["multiply", at, outAt, held.at + from * rowBytes, held.at + to * rowBytes],
      ...[held.biasAt + 4 * from, outAt + 4 * from, rowBytes, outBytes],
    ];
    return { a, held, outAt, end, call, work: rows * held.rows * held.length };
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

const fourTimes = (value) => Float32Array.of(value, value, value, value);

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
