// Arithmetic over row-major Float32Array. Sums are made in float64, which is what a number is here; those of products of
// matrices are made in float32 where `products.js` has a kernel.

// x [T, D] times weight [N, D] transposed, plus bias [N] -> [T, N]. Four rows of x share each read of the weights.
export function linear(x, weight, bias, width) {
  const rows = x.length / width;
  const count = weight.length / width;
  const out = new Float32Array(rows * count);
  for (let n = 0; n < count; n++) {
    const w = weight.subarray(n * width, (n + 1) * width);
    const b = bias ? bias[n] : 0;
    let row = 0;
    for (; row + 4 <= rows; row += 4) {
      const [at0, at1, at2, at3] = [row * width, (row + 1) * width, (row + 2) * width, (row + 3) * width];
      let [sum0, sum1, sum2, sum3] = [b, b, b, b];
      for (let d = 0; d < width; d++) {
        const factor = w[d];
        sum0 += x[at0 + d] * factor;
        sum1 += x[at1 + d] * factor;
        sum2 += x[at2 + d] * factor;
        sum3 += x[at3 + d] * factor;
      }
      out[row * count + n] = sum0;
      out[(row + 1) * count + n] = sum1;
      out[(row + 2) * count + n] = sum2;
      out[(row + 3) * count + n] = sum3;
    }
    for (; row < rows; row++) {
      let sum = b;
      for (let d = 0; d < width; d++) sum += x[row * width + d] * w[d];
      out[row * count + n] = sum;
    }
  }
  return out;
}

export function added(x, y) {
  const out = new Float32Array(x.length);
  for (let at = 0; at < x.length; at++) out[at] = x[at] + y[at];
  return out;
}

// LayerNorm of each row of `width` numbers: (x - mean) / sqrt(variance + eps) x gain + bias (Ba et al. 2016).
export function layerNorm(x, { gain, bias, eps }) {
  const width = gain.length;
  const out = new Float32Array(x.length);
  for (let start = 0; start < x.length; start += width) {
    const { mean, deviation } = moments(x.subarray(start, start + width), eps);
    const scale = 1 / deviation;
    for (let d = 0; d < width; d++) {
      out[start + d] = (x[start + d] - mean) * scale * gain[d] + (bias ? bias[d] : 0);
    }
  }
  return out;
}

// The mean of a row and sqrt(variance + eps), by the population variance.
export function moments(row, eps) {
  let [total, squares] = [0, 0];
  for (let d = 0; d < row.length; d++) total += row[d];
  const mean = total / row.length;
  for (let d = 0; d < row.length; d++) squares += (row[d] - mean) ** 2;
  return { mean, deviation: Math.sqrt(squares / row.length + eps) };
}

// Softmax of a row of scores, in `out`. -Infinity gives 0.
export function softmax(scores, out = new Float32Array(scores.length)) {
  let [largest, total] = [-Infinity, 0];
  for (let at = 0; at < scores.length; at++) if (scores[at] > largest) largest = scores[at];
  for (let at = 0; at < scores.length; at++) total += out[at] = Math.exp(scores[at] - largest);
  const share = 1 / total;
  for (let at = 0; at < scores.length; at++) out[at] *= share;
  return out;
}

// The error function, by a series of positive terms (Abramowitz and Stegun 1964, 7.1.6).
export function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x); // 1 - 2e-17
  let [term, total] = [x, x];
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(total); n++) total += term *= 2 * x * x / (2 * n + 1);
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * total;
}

// Each gives the numbers of x, changed.
export const ACTIVATIONS = {
  relu: each((x) => Math.max(0, x)),
  gelu: smooth((x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2))),
  gelu_tanh: smooth((x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))),
  quick_gelu: smooth((x) => x / (1 + Math.exp(-1.702 * x))),
  silu: smooth((x) => x / (1 + Math.exp(-x))),
  none: (x) => x,
  tanh: each(Math.tanh),
  sigmoid: each((x) => 1 / (1 + Math.exp(-x))),
};

function each(of) {
  return (x) => Float32Array.from(x, of);
}

// A smooth function of each number. Between -8 and 8 it is the cubic through four neighbours in a table: less than 1e-8 off,
// and a tenth of the time.
function smooth(of) {
  const [reach, steps] = [8, 64]; // steps for each 1 of x
  /** @type {Float64Array} */
  let table = null; // four coefficients for each step
  return (x) => {
    table ??= cubics(Array.from({ length: 2 * reach * steps + 3 }, (_, at) => of((at - 1) / steps - reach)));
    const out = new Float32Array(x.length);
    for (let at = 0; at < x.length; at++) {
      const value = x[at];
      if (value > -reach && value < reach) {
        const place = (value + reach) * steps;
        const p = place - Math.floor(place);
        const c = 4 * Math.floor(place);
        out[at] = table[c] + p * (table[c + 1] + p * (table[c + 2] + p * table[c + 3]));
      } else out[at] = of(value);
    }
    return out;
  };
}

// The coefficients of the cubic between two neighbours, for all but the first and the last.
function cubics(values) {
  return Float64Array.from(
    values.slice(3).flatMap((after, at) => {
      const [before, one, next] = values.slice(at, at + 3);
      return [
        one,
        next - before / 3 - one / 2 - after / 6,
        (before + next) / 2 - one,
        (one - next) / 2 + (after - before) / 6,
      ];
    }),
  );
}

export const norm = (row) => Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));
