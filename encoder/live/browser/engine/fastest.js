// Whether helpers compute a model is measured when it opens: they may be late for small products, or find no core free.

const [TOKENS, MOST_COLUMNS, ROUNDS] = [16, 1024, 11];
const WORTH = 0.9; // of the first one's time

// The first of all `Products`, or another that multiplies the matrices of a model of this config in clearly less time.
export function fastest([first, ...others], { d_model: width, d_ffn: most }) {
  const columns = Math.min(most, MOST_COLUMNS);
  const x = new Float32Array(TOKENS * width).fill(1);
  const sides = [first, ...others].map((products) => {
    const { end } = products;
    const data = new Float32Array(columns * width).fill(1);
    return { products, end, held: products.hold({ data, shape: [columns, width] }, null), times: [] };
  });
  for (let round = 0; round < ROUNDS; round++) {
    for (const { products, held, times } of sides) {
      const start = performance.now();
      products.times(x, held);
      times.push(performance.now() - start);
    }
  }
  for (const { products, end } of sides) products.end = end; // the matrix was for this only
  const time = ({ times }) => times.sort((a, b) => a - b)[ROUNDS >> 1];
  const [own, ...rest] = sides;
  const best = rest.find((one) => time(one) < WORTH * time(own)) ?? own;
  return best.products;
}
