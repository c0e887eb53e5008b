// Which token of one text corresponds to which of another, step by step. encoder/measure/align.py has the same rules.

// {first, second: the token of each step, null for a gap; isSame: whether the step has the same token on both sides}.
// first, second: names of tokens that are equal where the tokens are.
export function aligned(first, second) {
  const isMirrored = comesBefore(second, first); // the same result whichever comes first
  const blocks = isMirrored ? blocksOf(second, first).map(([a, b, size]) => [b, a, size]) : blocksOf(first, second);
  const steps = { first: [], second: [], isSame: [] };
  const add = (one, other, isSame) => {
    steps.first.push(one);
    steps.second.push(other);
    steps.isSame.push(isSame);
  };
  let [a, b] = [0, 0];
  for (const [nextA, nextB, size] of [...blocks, [first.length, second.length, 0]]) {
    const isReplaced = nextA - a === nextB - b;
    while (a < nextA) add(a++, isReplaced ? b++ : null, false);
    while (b < nextB) add(null, b++, false);
    for (let at = 0; at < size; at++) add(a++, b++, true);
  }
  return steps;
}

// Names of tokens for `aligned`: small and capital letters are equal, and so are special tokens of one function.
export function comparableNames(labels, special) {
  const isSpecial = new Set(special);
  return labels.map((label, at) => isSpecial.has(at) ? (at ? "('parts',)" : "('opens',)") : folded(label));
}

// As Python's `casefold`.
const folded = (label) => label.toUpperCase().toLowerCase().replaceAll("ς", "σ");

function comesBefore(one, other) {
  if (one.length !== other.length) return one.length < other.length;
  const at = one.findIndex((name, place) => name !== other[place]);
  return at >= 0 && one[at] < other[at];
}

// Equal runs as [start in a, start in b, size]: a common beginning and end, and between them those of difflib.
function blocksOf(a, b) {
  const most = Math.min(a.length, b.length);
  let [head, tail] = [0, 0];
  while (head < most && a[head] === b[head]) head++;
  while (tail < most - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const [endA, endB] = [a.length - tail, b.length - tail];
  return [[0, 0, head], ...matches(a, b, head, endA, head, endB), [endA, endB, tail]];
}

// The longest run first, then those before and after it.
function matches(a, b, fromA, toA, fromB, toB) {
  const [atA, atB, size] = longest(a, b, fromA, toA, fromB, toB);
  if (!size) return [];
  return [
    ...matches(a, b, fromA, atA, fromB, atB),
    [atA, atB, size],
    ...matches(a, b, atA + size, toA, atB + size, toB),
  ];
}

// The longest equal run; of several the first one in a, then in b.
function longest(a, b, fromA, toA, fromB, toB) {
  let best = [fromA, fromB, 0];
  let before = new Map(); // place in b -> length of the run that ends there
  for (let at = fromA; at < toA; at++) {
    const lengths = new Map();
    for (let other = fromB; other < toB; other++) {
      if (a[at] !== b[other]) continue;
      const size = (before.get(other - 1) ?? 0) + 1;
      lengths.set(other, size);
      if (size > best[2]) best = [at - size + 1, other - size + 1, size];
    }
    before = lengths;
  }
  return best;
}
