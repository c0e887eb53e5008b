// Two heads over the steps of an alignment. encoder/measure/map_comparison.py has the same numbers.
import { cosine } from "./heads.js";

const PIECE_MARKS = /^(##|Ġ|▁|Ċ)+/;
const PUNCTUATION = /^\p{P}+$/u;

// {first, second, difference: rows of the steps, null where a side has no such query or key; distance: of each row, the
// share of attention that differs; largest: the pair that differs most, null where none does}.
// weights: of each head [T x T].
export function compared(weights, steps) {
  const [first, second] = [steps.first, steps.second].map((tokens, side) => spread(weights[side], tokens));
  const difference = first.map((row, query) =>
    row.map((one, key) => one === null || second[query][key] === null ? null : second[query][key] - one)
  );
  const distance = first.map((row, query) =>
    steps.first[query] === null || steps.second[query] === null ? null : totalVariation(row, second[query])
  );
  return { first, second, difference, distance, largest: largestOf(difference) };
}

function spread(weights, tokens) {
  const count = tokens.filter((token) => token !== null).length;
  return tokens.map((query) =>
    tokens.map((key) => query === null || key === null ? null : weights[query * count + key])
  );
}

// A weight on a key that the other side lacks counts in full.
const totalVariation = (one, other) =>
  one.reduce((sum, weight, key) => sum + Math.abs((other[key] ?? 0) - (weight ?? 0)), 0) / 2;

function largestOf(difference) {
  let found = null;
  let most = 0;
  for (const [query, row] of difference.entries()) {
    for (const [key, value] of row.entries()) {
      if (value === null || Math.abs(value) <= most) continue;
      [found, most] = [{ query, key }, Math.abs(value)];
    }
  }
  return found;
}

// The word of both texts whose two output vectors have the smallest cosine, as {step, value}; null where there is none.
// one, other: {trace, labels}.
export function leastAlike(one, other, steps) {
  const isSpecial = new Set(one.trace.special);
  const isWord = (token) => !isSpecial.has(token) && !PUNCTUATION.test(one.labels[token].replace(PIECE_MARKS, ""));
  const found = steps.isSame.flatMap((isSame, step) =>
    isSame && isWord(steps.first[step]) ? [{ step, value: cosineAt(one, other, steps, step) }] : []
  );
  return found.length ? found.reduce((least, next) => next.value < least.value ? next : least) : null;
}

// Of the output vectors at a step that both sides have.
export function cosineAt(one, other, steps, step) {
  return cosine(outputOf(one.trace, steps.first[step]), outputOf(other.trace, steps.second[step]));
}

function outputOf({ output, nTokens }, token) {
  const width = output.length / nTokens;
  return output.subarray(token * width, (token + 1) * width);
}
