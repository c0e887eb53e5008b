// A drawn digit as the model's data were made: cut out, scaled to 32 x 32, strokes thickened, ink counted in blocks of
// 4 x 4. encoder/inputs/digits.py does the same.

const [SIDE, BITMAP, INK] = [8, 32, 16];
const NUMBERS = "0123456789abcdefg"; // a pixel as a character: units of ink
const INKED = 0.22; // the share of ink below which strokes are thickened

// 64 characters -> numbers from 0 to 1; null for another text.
export function digitOf(text) {
  if (!new RegExp(`^[${NUMBERS}]{64}$`).test(text ?? "")) return null;
  return Array.from(text, (character) => NUMBERS.indexOf(character) / INK);
}

// 256 hexadecimal digits of 4 pixels each -> 64 characters; null without ink.
export function digitOfBitmap(hex) {
  const bits = Array.from(hex, (one) => Number.parseInt(one, 16).toString(2).padStart(4, "0")).join("");
  const ink = Uint8Array.from(bits, Number);
  const inked = Array.from(ink.keys()).filter((at) => ink[at]);
  if (!inked.length) return null;
  const [rows, columns] = [inked.map((at) => Math.floor(at / BITMAP)), inked.map((at) => at % BITMAP)];
  const [top, left] = [Math.min(...rows), Math.min(...columns)];
  const [height, width] = [Math.max(...rows) - top + 1, Math.max(...columns) - left + 1];
  let bitmap = scaled((row, column) => ink[(top + row) * BITMAP + left + column], height, width);
  while (bitmap.reduce((sum, one) => sum + one, 0) / bitmap.length < INKED) bitmap = thickened(bitmap);
  const counted = Array.from({ length: SIDE * SIDE }, (_, at) => {
    const [row, column] = [Math.floor(at / SIDE) * 4, (at % SIDE) * 4];
    let sum = 0;
    for (let inside = 0; inside < 16; inside++) {
      sum += bitmap[(row + Math.floor(inside / 4)) * BITMAP + column + inside % 4];
    }
    return Math.round(sum);
  });
  return counted.map((number) => NUMBERS[number]).join("");
}

// A cut of height x width as the largest that fits into the bitmap, in its middle.
function scaled(at, height, width) {
  const scale = BITMAP / Math.max(height, width);
  const [h, w] = [height, width].map((side) => Math.max(1, Math.round(side * scale)));
  const [above, before] = [Math.floor((BITMAP - h) / 2), Math.floor((BITMAP - w) / 2)];
  const out = new Float32Array(BITMAP * BITMAP);
  for (let row = 0; row < h; row++) {
    for (let column = 0; column < w; column++) {
      const nearest = at(Math.floor((row + 0.5) * height / h), Math.floor((column + 0.5) * width / w));
      out[(above + row) * BITMAP + before + column] = nearest;
    }
  }
  return out;
}

// Each pixel is the largest of its 3 x 3 neighbours.
function thickened(bitmap) {
  return bitmap.map((_, at) => {
    const [row, column] = [Math.floor(at / BITMAP), at % BITMAP];
    let most = 0;
    for (let r = Math.max(0, row - 1); r <= Math.min(BITMAP - 1, row + 1); r++) {
      for (let c = Math.max(0, column - 1); c <= Math.min(BITMAP - 1, column + 1); c++) {
        most = Math.max(most, bitmap[r * BITMAP + c]);
      }
    }
    return most;
  });
}
