// The inner loops of a product of matrices, as WebAssembly with vectors of four float32.
//
// The module is written here, instruction by instruction: it has one function, so it needs no compiler and no file of
// bytes. Opcodes are those of the WebAssembly specification, chapter “Binary Format”.

const [I32, VECTOR] = [0x7f, 0x7b];
// A block: rows of a, rows of b, and the vectors of each that a turn of the innermost loop multiplies. 2 x 4 sums, their
// factors and a product fit into the 16 registers of x86.
const [A_ROWS, B_ROWS, UNROLLED] = [2, 4, 4];
const VECTOR_BYTES = 16;

// The rows of a and b, and the numbers of each row, are multiples of these.
export const MULTIPLES = { a: A_ROWS, b: B_ROWS, length: 4 * UNROLLED };

// The bytes of a module that imports memory.it and exports multiply(a, aEnd, b, bEnd, bias, out, rowBytes, outBytes):
// out[i, j] = bias[j] + the sum over d of a[i, d] x b[j, d]. All are addresses, or bytes of a row of a and b, and of out.
export function kernel() {
  const signature = [0x60, ...list(Array(8).fill([I32])), 0];
  const memory = [...text("memory"), ...text("it"), 2, 0, 0];
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list([signature])),
    ...section(2, list([memory])),
    ...section(3, list([[0]])),
    ...section(7, list([[...text("multiply"), 0, 0]])),
    ...section(10, list([sized([...list([[9, I32], [14, VECTOR]]), ...multiply(), END])])),
  ]);
}

function multiply() {
  const [a, aEnd, b, bEnd, bias, out, rowBytes, outBytes, row, to, end, ...pointers] = numbers(17);
  const [as, bs] = [pointers.slice(0, A_ROWS), pointers.slice(A_ROWS)];
  const vectors = numbers(14, 17);
  const sums = as.map((_, i) => vectors.slice(i * B_ROWS, (i + 1) * B_ROWS));
  const [x0, x1, y, one, other, total] = vectors.slice(A_ROWS * B_ROWS);
  const xs = [x0, x1];
  const turn = numbers(UNROLLED).flatMap((step) => [
    ...xs.flatMap((x, i) => [...load(as[i], step * VECTOR_BYTES), ...set(x)]),
    ...bs.flatMap((from, j) => [
      ...[...load(from, step * VECTOR_BYTES), ...set(y)],
      ...xs.flatMap((x, i) => [...get(sums[i][j]), ...get(x), ...get(y), ...TIMES, ...PLUS, ...set(sums[i][j])]),
    ]),
  ]);
  return loopWhile(b, bEnd, [
    ...[...get(a), ...set(row), ...get(out), ...set(to)],
    ...loopWhile(row, aEnd, [
      ...[...get(row), ...get(rowBytes), ADD, ...set(end)],
      ...[...following(row, rowBytes, as), ...following(b, rowBytes, bs)],
      ...sums.flat().flatMap((sum) => [...ZERO, ...set(sum)]),
      ...loopWhile(as[0], end, [
        ...turn,
        ...pointers.flatMap((pointer) => advance(pointer, constant(UNROLLED * VECTOR_BYTES))),
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
    ...bs.flatMap(() => advance(b, get(rowBytes))),
    ...[...advance(bias, constant(VECTOR_BYTES)), ...advance(out, constant(VECTOR_BYTES))],
  ]);
}

// ---- Instructions ----

const [ADD, LESS, BRANCH_IF, END] = [0x6a, 0x49, 0x0d, 0x0b];
const VECTOR_ALIGNMENT = 4; // 2^4 bytes
const simd = (code, ...more) => [0xfd, ...whole(code), ...more];
const [PLUS, TIMES, STORE] = [simd(0xe4), simd(0xe6), simd(0x0b, VECTOR_ALIGNMENT, 0)];
const ZERO = simd(0x0c, ...Array(VECTOR_BYTES).fill(0));
const get = (local) => [0x20, local];
const set = (local) => [0x21, local];
const constant = (value) => [0x41, ...whole(value, 64)];
const load = (pointer, offset) => [...get(pointer), ...simd(0, VECTOR_ALIGNMENT, ...whole(offset))];
const advance = (local, by) => [...get(local), ...by, ADD, ...set(local)];
// Four of the numbers of two vectors, those of the first being 0 to 3.
const mixed = (v, w, places) => [
  ...[...get(v), ...get(w)],
  ...simd(0x0d, ...places.flatMap((place) => numbers(4, 4 * place))),
];
// Runs the body, and again while an address is before its end.
const loopWhile = (local, end, body) => [0x03, 0x40, ...body, ...get(local), ...get(end), LESS, BRANCH_IF, 0, END];
// Each of the pointers to a row of its own, from `first` on.
const following = (first, rowBytes, pointers) =>
  pointers.flatMap((pointer, at) => [
    ...(at ? [...get(pointers[at - 1]), ...get(rowBytes), ADD] : get(first)),
    ...set(pointer),
  ]);

// ---- The binary format ----

// A whole number in groups of 7 bits; the last group is below 64 where the number has a sign.
function whole(value, last = 128) {
  return value < last ? [value] : [value & 127 | 128, ...whole(value >>> 7, last)];
}

function numbers(count, from = 0) {
  return Array.from({ length: count }, (_, at) => from + at);
}

const sized = (bytes) => [...whole(bytes.length), ...bytes];
const list = (items) => [...whole(items.length), ...items.flat()];
const text = (letters) => sized(Array.from(letters, (one) => one.charCodeAt(0)));
const section = (id, bytes) => [id, ...sized(bytes)];
