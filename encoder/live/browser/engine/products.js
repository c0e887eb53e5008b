// Products of matrices: by the kernel in WebAssembly, and in JavaScript where a browser does not compile it.
import { kernel, MULTIPLES } from "./kernel.js";
import { linear } from "./linear.js";

const PAGE = 65_536; // bytes
const START = 16; // the first address of a matrix
const ROWS_AT_ONCE = 64; // of x: they stay in the processor's cache while the weights come by

const upTo = (count, multiple) => Math.ceil(count / multiple) * multiple;

export class Products {
  // isCompiled: whether to use WebAssembly, which takes a fifth of the time at any size.
  constructor(isCompiled = true) {
    this.end = START; // of the matrices that are held; what lies behind it is valid during one product
    try {
      if (!isCompiled) return;
      const memory = new WebAssembly.Memory({ initial: 1 });
      const instance = new WebAssembly.Instance(new WebAssembly.Module(kernel()), { memory: { it: memory } });
      /** @type {any} */
      this.multiply = instance.exports.multiply;
      this.memory = memory;
    } catch {
      this.memory = null; // no vectors in this browser, or a server forbids WebAssembly
    }
  }

  // A matrix [N, D] and its bias [N] or null, for `times`. The numbers of the tensor move to the kernel's memory.
  hold(tensor, bias) {
    const width = tensor.data.length / tensor.shape[0];
    if (!this.memory) return { tensor, bias, width };
    const held = this.placed(tensor.data, bias, width, this.end);
    this.end = held.end;
    const { memory } = this;
    if (width === held.length) {
      const count = tensor.data.length;
      Object.defineProperty(tensor, "data", { get: () => new Float32Array(memory.buffer, held.at, count) });
    }
    return held;
  }

  // x [T, D] times a held matrix transposed, plus its bias -> [T, N].
  times(x, held) {
    if (!this.memory) return linear(x, held.tensor.data, held.bias, held.width);
    return this.run(x, held, this.end);
  }

  // a [T, D] times b [N, D] transposed -> [T, N].
  product(a, b, width) {
    if (!this.memory) return linear(a, b, null, width);
    const held = this.placed(b, null, width, this.end);
    return this.run(a, held, held.end);
  }

  // Copies a matrix and its bias to an address, with zeros up to what the kernel multiplies.
  placed(data, bias, width, at) {
    const count = data.length / width;
    const [rows, length] = [upTo(count, MULTIPLES.b), upTo(width, MULTIPLES.length)];
    const biasAt = at + 4 * rows * length;
    const end = upTo(biasAt + 4 * rows, START);
    this.reserve(end);
    this.copy(data, width, at, rows, length);
    this.copy(bias ?? new Float32Array(count), count, biasAt, 1, rows);
    return { at, biasAt, end, count, rows, width, length };
  }

  // free: where memory is free.
  run(x, { at, biasAt, count, rows, width, length }, free) {
    const total = x.length / width;
    const out = new Float32Array(total * count);
    const most = Math.min(upTo(total, MULTIPLES.a), ROWS_AT_ONCE);
    const outAt = free + 4 * most * length;
    this.reserve(outAt + 4 * most * rows);
    for (let first = 0; first < total; first += most) {
      const some = x.subarray(first * width, (first + most) * width);
      const padded = upTo(some.length / width, MULTIPLES.a);
      this.copy(some, width, free, padded, length);
      this.multiply(free, free + 4 * padded * length, at, biasAt, biasAt, outAt, 4 * length, 4 * rows);
      const found = new Float32Array(this.memory.buffer, outAt, padded * rows);
      if (rows === count) out.set(found.subarray(0, some.length / width * count), first * count);
      else {
        for (let row = 0; row < some.length / width; row++) {
          out.set(found.subarray(row * rows, row * rows + count), (first + row) * count);
        }
      }
    }
    return out;
  }

  copy(data, width, at, rows, length) {
    const to = new Float32Array(this.memory.buffer, at, rows * length);
    if (width === length) to.set(data);
    else {for (let row = 0; row * width < data.length; row++) {
        to.set(data.subarray(row * width, (row + 1) * width), row * length);
        to.fill(0, row * length + width, (row + 1) * length);
      }}
    to.fill(0, data.length / width * length);
  }

  reserve(end) {
    const missing = end - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE));
  }
}
