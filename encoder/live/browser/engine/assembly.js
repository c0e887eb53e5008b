// WebAssembly written instruction by instruction: a module of a few loops needs no compiler and no file of bytes. Opcodes
// are those of the WebAssembly specification, chapter “Binary Format”; a vector has four float32.

const [I32, VECTOR] = [0x7f, 0x7b];
export const VECTOR_BYTES = 16;

// ---- Instructions ----

export const [ADD, LESS, BRANCH_IF] = [0x6a, 0x49, 0x0d];
const END = 0x0b;
const VECTOR_ALIGNMENT = 4; // 2^4 bytes
const simd = (code, ...more) => [0xfd, ...whole(code), ...more];
export const [PLUS, MINUS, TIMES, OVER] = [0xe4, 0xe5, 0xe6, 0xe7].map((code) => simd(code));
export const ROOT = simd(0xe3);
// Rounds to a whole number; makes an integer of one, adds integers, shifts them by a number of bits.
export const [NEAREST, INTEGER, PLUS_INTEGER, SHIFT] = [0x6a, 0xf8, 0xae, 0xab].map((code) => simd(code));
export const [ABSOLUTE, LARGER, IS_LARGER, AND] = [0xe0, 0xe9, 0x44, 0x4e].map((code) => simd(code));
export const STORE = simd(0x0b, VECTOR_ALIGNMENT, 0);
export const FUSED = simd(0x105); // the product of two vectors plus a third (“Relaxed SIMD”)
export const get = (local) => [0x20, local];
export const set = (local) => [0x21, local];
export const constant = (value) => [0x41, ...whole(value, 64)];
// A number in all four places of a vector.
export const four = (value) => simd(0x0c, ...new Uint8Array(Float32Array.of(value, value, value, value).buffer));
export const fourIntegers = (value) => simd(0x0c, ...new Uint8Array(Int32Array.of(value, value, value, value).buffer));
export const load = (pointer, offset) => [...get(pointer), ...simd(0, VECTOR_ALIGNMENT, ...whole(offset))];
export const advance = (local, by) => [...get(local), ...by, ADD, ...set(local)];
// Four of the numbers of two vectors, those of the first being 0 to 3.
export const mixed = (v, w, places) => [
  ...[...get(v), ...get(w)],
  ...simd(0x0d, ...places.flatMap((place) => numbers(4, 4 * place))),
];
// Runs the body, and again while an address is before its end.
export const loopWhile = (local, end, body) => [
  ...[0x03, 0x40, ...body, ...get(local), ...get(end)],
  ...[LESS, BRANCH_IF, 0, END],
];

// ---- The binary format ----

// The bytes of a module that imports memory.it. functions: name -> {parameters, pointers, vectors, body}: how many numbers
// it is called with, its local variables of each kind, and its instructions. Locals are counted in this order.
// mostShared: pages of a memory that several threads have, 0 for a memory of one thread.
export function moduleOf(functions, mostShared) {
  const all = Object.entries(functions);
  const memory = [...text("memory"), ...text("it"), 2, ...(mostShared ? [3, 0, ...whole(mostShared)] : [0, 0])];
  const code = ({ pointers, vectors, body }) => sized([...list([[pointers, I32], [vectors, VECTOR]]), ...body, END]);
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list(all.map(([, { parameters }]) => [0x60, ...list(Array(parameters).fill([I32])), 0]))),
    ...section(2, list([memory])),
    ...section(3, list(all.map((_, at) => [at]))),
    ...section(7, list(all.map(([name], at) => [...text(name), 0, at]))),
    ...section(10, list(all.map(([, one]) => code(one)))),
  ]);
}

// A whole number in groups of 7 bits; the last group is below 64 where the number has a sign.
function whole(value, last = 128) {
  return value < last ? [value] : [value & 127 | 128, ...whole(value >>> 7, last)];
}

export function numbers(count, from = 0) {
  return Array.from({ length: count }, (_, at) => from + at);
}

const sized = (bytes) => [...whole(bytes.length), ...bytes];
const list = (items) => [...whole(items.length), ...items.flat()];
const text = (letters) => sized(Array.from(letters, (one) => one.charCodeAt(0)));
const section = (id, bytes) => [id, ...sized(bytes)];
