// The inner loops of the forward pass, as WebAssembly: a product of matrices, softmax, LayerNorm and GELU.
import {
  ABSOLUTE,
  ADD,
  advance,
  AND,
  constant,
  four,
  fourIntegers,
  FUSED,
  get,
  INTEGER,
  IS_LARGER,
  LARGER,
  load,
  loopWhile,
  MINUS,
  mixed,
  moduleOf,
  NEAREST,
  numbers,
  OVER,
  PLUS,
  PLUS_INTEGER,
  ROOT,
  set,
  SHIFT,
  STORE,
  TIMES,
  VECTOR_BYTES,
} from "./assembly.js";

// A block: rows of a, rows of b, and the vectors of each that a turn of the innermost loop multiplies. 2 x 4 sums, their
// factors and a product fit into the 16 registers of x86.
const [A_ROWS, B_ROWS, UNROLLED] = [2, 4, 4];
const LEAST_EXPONENT = -87; // e to this is the smallest normal float32

// The rows of a and b, and the numbers of each row, are multiples of these. b is packed: of each four rows, the first
// vector of each, then the second of each, so that a processor reads it from one end to the other.
export const MULTIPLES = { a: A_ROWS, b: B_ROWS, length: 4 * UNROLLED, vector: 4 };

// The bytes of a module with four functions of addresses and bytes:
// multiply(a, aEnd, b, bEnd, bias, out, rowBytes, outBytes): out[i, j] = bias[j] + the sum over d of a[i, d] x b[j, d];
// softmax(x, end, rowBytes): of each row, in its place; gelu(x, end): of each number, in its place;
// layerNorm(x, end, rowBytes, gain, bias, given): of each row, in its place; given: four times 1 / width, four times eps.
// isFused: whether one instruction multiplies and adds; not every browser has it. mostShared: as `moduleOf` has it.
export function kernel(isFused, mostShared) {
  // The vector on the stack times another, plus a third.
  const timesPlus = (factor, term) =>
    isFused ? [...factor, ...term, ...FUSED] : [...factor, ...TIMES, ...term, ...PLUS];
  return moduleOf({
    multiply: { parameters: 8, pointers: 6, vectors: 14, body: multiply(timesPlus) },
    softmax: { parameters: 3, pointers: 2, vectors: 7, body: softmaxOfRows(timesPlus) },
    layerNorm: { parameters: 6, pointers: 4, vectors: 5, body: layerNormOfRows(timesPlus) },
    gelu: { parameters: 2, pointers: 0, vectors: 5, body: gelu(timesPlus) },
  }, mostShared);
}

function multiply(timesPlus) {
  const [a, aEnd, b, bEnd, bias, out, rowBytes, outBytes, row, to, end, a0, a1, packed] = numbers(14);
  const as = [a0, a1];
  const vectors = numbers(14, 14);
  const sums = as.map((_, i) => vectors.slice(i * B_ROWS, (i + 1) * B_ROWS));
  const [x0, x1, y, one, other, total] = vectors.slice(A_ROWS * B_ROWS);
  const xs = [x0, x1];
  const turn = numbers(UNROLLED).flatMap((step) => [
    ...xs.flatMap((x, i) => [...load(as[i], step * VECTOR_BYTES), ...set(x)]),
    ...numbers(B_ROWS).flatMap((j) => [
      ...[...load(packed, (step * B_ROWS + j) * VECTOR_BYTES), ...set(y)],
      ...xs.flatMap((x, i) => [...get(x), ...timesPlus(get(y), get(sums[i][j])), ...set(sums[i][j])]),
    ]),
  ]);
  return loopWhile(b, bEnd, [
    ...[...get(a), ...set(row), ...get(out), ...set(to)],
    ...loopWhile(row, aEnd, [
      ...[...get(row), ...get(rowBytes), ADD, ...set(end), ...get(b), ...set(packed)],
      ...[...get(row), ...set(a0), ...get(row), ...get(rowBytes), ADD, ...set(a1)],
      ...sums.flat().flatMap((sum) => [...four(0), ...set(sum)]),
      ...loopWhile(a0, end, [
        ...turn,
        ...as.flatMap((pointer) => advance(pointer, constant(UNROLLED * VECTOR_BYTES))),
        ...advance(packed, constant(UNROLLED * B_ROWS * VECTOR_BYTES)),
      ]),
      ...sums.flatMap(([v0, v1, v2, v3]) => [
        // The sum of each vector's four numbers, as one vector.
        ...[...mixed(v0, v1, [0, 4, 1, 5]), ...mixed(v0, v1, [2, 6, 3, 7]), ...PLUS, ...set(one)],
        ...[...mixed(v2, v3, [0, 4, 1, 5]), ...mixed(v2, v3, [2, 6, 3, 7]), ...PLUS, ...set(other)],
        ...[...mixed(one, other, [0, 1, 4, 5]), ...mixed(one, other, [2, 3, 6, 7]), ...PLUS, ...set(total)],
        ...[...get(to), ...load(bias, 0), ...get(total), ...PLUS, ...STORE],
        ...[...advance(to, get(outBytes)), ...advance(row, get(rowBytes))],
      ]),
    ]),
    ...numbers(B_ROWS).flatMap(() => advance(b, get(rowBytes))),
    ...[...advance(bias, constant(VECTOR_BYTES)), ...advance(out, constant(VECTOR_BYTES))],
  ]);
}

// exp(x) of a vector of numbers up to 0, as 2^n exp(r) with the whole number n nearest to x / ln 2: exp(r) is its Taylor
// series, less than 1e-8 off. What float32 has no normal number for is 0.
function exponential(x, n, r, timesPlus) {
  const [high, low] = [0.693359375, -2.12194440e-4]; // ln 2: n x high is exact
  const series = numbers(7).map((at) => 1 / numbers(7 - at, 1).reduce((product, factor) => product * factor, 1));
  return [
    ...[...get(x), ...four(LEAST_EXPONENT), ...LARGER, ...four(Math.LOG2E), ...TIMES, ...NEAREST, ...set(n)],
    ...[...get(x), ...four(LEAST_EXPONENT), ...LARGER, ...get(n), ...four(high), ...TIMES, ...MINUS],
    ...[...get(n), ...four(low), ...TIMES, ...MINUS, ...set(r)],
    ...[...four(series[0]), ...[...series.slice(1), 1].flatMap((term) => timesPlus(get(r), four(term)))],
    ...[...get(n), ...INTEGER, ...fourIntegers(127), ...PLUS_INTEGER, ...constant(23), ...SHIFT, ...TIMES],
    ...[...get(x), ...four(LEAST_EXPONENT), ...IS_LARGER, ...AND],
  ];
}

// The four numbers of a vector become their largest, or their sum. other: a vector that is free.
const joined = (vector, other, by) =>
  [[2, 3, 0, 1], [1, 0, 3, 2]].flatMap((places) => [
    ...[...mixed(vector, vector, places), ...set(other)],
    ...[...get(vector), ...get(other), ...by, ...set(vector)],
  ]);

function softmaxOfRows(timesPlus) {
  const [row, end, rowBytes, at, rowEnd, largest, total, x, other, n, r, value] = numbers(12);
  const next = advance(at, constant(VECTOR_BYTES));
  const start = [...get(row), ...set(at)];
  return loopWhile(row, end, [
    ...[...get(row), ...get(rowBytes), ADD, ...set(rowEnd), ...start, ...load(row, 0), ...set(largest)],
    ...loopWhile(at, rowEnd, [...get(largest), ...load(at, 0), ...LARGER, ...set(largest), ...next]),
    ...[...joined(largest, other, LARGER), ...four(0), ...set(total), ...start],
    ...loopWhile(at, rowEnd, [
      ...[...load(at, 0), ...get(largest), ...MINUS, ...set(x), ...exponential(x, n, r, timesPlus), ...set(value)],
      ...[...get(total), ...get(value), ...PLUS, ...set(total), ...get(at), ...get(value), ...STORE, ...next],
    ]),
    ...[...joined(total, other, PLUS), ...four(1), ...get(total), ...OVER, ...set(total), ...start],
    ...loopWhile(at, rowEnd, [...get(at), ...load(at, 0), ...get(total), ...TIMES, ...STORE, ...next]),
    ...[...get(rowEnd), ...set(row)],
  ]);
}

// (x - mean) / sqrt(variance + eps) x gain + bias.
function layerNormOfRows(timesPlus) {
  const [row, end, rowBytes, gain, bias, given, at, rowEnd, gainAt, biasAt, mean, scale, x, total, other] = numbers(15);
  const start = [...get(row), ...set(at), ...four(0), ...set(total)];
  const next = advance(at, constant(VECTOR_BYTES));
  const distance = [...load(at, 0), ...get(mean), ...MINUS];
  const share = load(given, 0); // 1 / width
  return loopWhile(row, end, [
    ...[...get(row), ...get(rowBytes), ADD, ...set(rowEnd), ...start],
    ...loopWhile(at, rowEnd, [...get(total), ...load(at, 0), ...PLUS, ...set(total), ...next]),
    ...[...joined(total, other, PLUS), ...get(total), ...share, ...TIMES, ...set(mean), ...start],
    ...loopWhile(at, rowEnd, [
      ...[...distance, ...set(x), ...get(x), ...timesPlus(get(x), get(total)), ...set(total), ...next],
    ]),
    ...[...joined(total, other, PLUS), ...four(1), ...get(total), ...timesPlus(share, load(given, VECTOR_BYTES))],
    ...[...ROOT, ...OVER, ...set(scale), ...start, ...get(gain), ...set(gainAt), ...get(bias), ...set(biasAt)],
    ...loopWhile(at, rowEnd, [
      ...[...get(at), ...distance, ...get(scale), ...TIMES, ...timesPlus(load(gainAt, 0), load(biasAt, 0)), ...STORE],
      ...[gainAt, biasAt].flatMap((pointer) => advance(pointer, constant(VECTOR_BYTES))),
      ...next,
    ]),
    ...[...get(rowEnd), ...set(row)],
  ]);
}

// max(x, 0) - |x| / 2 x erfc(|x| / sqrt(2)), by the rational approximation of Abramowitz and Stegun (1964), 7.1.26: erf is
// less than 1.5e-7 off.
function gelu(timesPlus) {
  const [at, end, x, size, share, n, r] = numbers(7);
  const series = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  return loopWhile(at, end, [
    ...[...load(at, 0), ...set(x), ...get(x), ...ABSOLUTE, ...set(size)],
    ...[...four(1), ...get(size), ...four(0.3275911 * Math.SQRT1_2), ...TIMES, ...four(1), ...PLUS, ...OVER],
    ...set(share),
    ...[...get(at), ...get(x), ...four(0), ...LARGER],
    ...[...four(series[0]), ...series.slice(1).flatMap((term) => timesPlus(get(share), four(term)))],
    ...[...get(share), ...TIMES, ...get(size), ...TIMES, ...four(0.5), ...TIMES],
    ...[...get(x), ...get(x), ...TIMES, ...four(-0.5), ...TIMES, ...set(x), ...exponential(x, n, r, timesPlus)],
    ...[...TIMES, ...MINUS, ...STORE, ...advance(at, constant(VECTOR_BYTES))],
  ]);
}
