// What opens inside the model's picture: a weight from its scores, a score from query and key.
import { arrow, make, sum, threeDigits } from "./drawing.js";

const MOST_ROWS = 6; // keys and components with a number each

function openedHeading(view, text) {
  const close = make("button", { type: "button", "aria-label": "Back to the whole picture" }, "✕");
  close.addEventListener("click", () => view.close());
  return make("header", {}, make("h3", {}, text), close);
}

// Rows of a label, a bar and a number; the one at `chosen` is marked.
function barRows(rows, chosen) {
  const top = Math.max(...rows.map(({ value }) => Math.abs(value))) || 1;
  return make(
    "ol",
    { class: "enc-model-rows" },
    ...rows.map(({ label, value, at, more }) => {
      const bar = make("i", {
        style: `width:${(100 * Math.abs(value) / top).toFixed(1)}%`,
        class: value < 0 ? "enc-negative" : "",
      });
      return make(
        "li",
        at === chosen ? { class: "enc-now" } : {},
        make("span", { dir: "auto" }, label),
        make("u", {}, bar),
        make("b", {}, threeDigits(value)),
        make("em", {}, more),
      );
    }),
  );
}

function weightFromScores(view) {
  const { header, arrays, query, keyToken: key } = view;
  const n = header.labels.length;
  const score = (at) => arrays.scores.data[query * n + at];
  const [largest, total] = [arrays.largest.data[query], arrays.total.data[query]];
  const order = header.labels.map((_, at) => at).sort((a, b) => view.weight(query, b) - view.weight(query, a));
  const shown = [...new Set([key, ...order])].slice(0, MOST_ROWS).sort((a, b) =>
    view.weight(query, b) - view.weight(query, a)
  );
  const rows = shown.map((at) => ({
    label: header.labels[at],
    value: view.weight(query, at),
    at,
    more: `score ${threeDigits(score(at))}`,
  }));
  const exponential = Math.exp(score(key) - largest);
  const next = make(
    "button",
    { type: "button", class: "enc-model-next" },
    `How the score ${threeDigits(score(key))} is made`,
  );
  next.addEventListener("click", () => view.open(2));
  const name = arrow(header.labels[query], header.labels[key]);
  return [
    openedHeading(view, `${name} in L${header.layer} H${header.head}: weight ${threeDigits(view.weight(query, key))}`),
    make(
      "p",
      { class: "enc-model-formula" },
      `softmax: exp(${threeDigits(score(key))} − ${threeDigits(largest)}) / ${threeDigits(total)} = ` +
        `${threeDigits(exponential)} / ${threeDigits(total)} = ${threeDigits(exponential / total)}`,
    ),
    barRows(rows, key),
    next,
  ];
}

function scoreFromVectors(view) {
  const { header, arrays, query, keyToken: key } = view;
  const [n, width] = arrays.q.shape;
  const row = (name, at) => arrays[name].data.subarray(at * width, (at + 1) * width);
  const [q, k] = [row("q", query), row("k", key)];
  const products = Array.from(q, (value, at) => value * k[at]);
  const dot = sum(products);
  const score = arrays.scores.data[query * n + key];
  const order = products.map((_, at) => at).sort((a, b) => Math.abs(products[b]) - Math.abs(products[a]));
  const rows = order.slice(0, MOST_ROWS).map((at) => ({
    label: `component ${at}`,
    value: products[at],
    at,
    more: `${threeDigits(q[at])} × ${threeDigits(k[at])}`,
  }));
  const rest = sum(order.slice(MOST_ROWS).map((at) => products[at]));
  if (width > MOST_ROWS) rows.push({ label: `${width - MOST_ROWS} other components`, value: rest, at: -1, more: "" });
  const added = score - dot * header.scale;
  const bias = Math.abs(added) > 1e-3 * Math.max(1, Math.abs(score)) ? ` + ${threeDigits(added)} (bias or edit)` : "";
  return [
    openedHeading(view, `Score of ${arrow(header.labels[query], header.labels[key])}: ${threeDigits(score)}`),
    make(
      "p",
      { class: "enc-model-formula" },
      `q · k × scale = ${threeDigits(dot)} × ${threeDigits(header.scale)}${bias} = ${
        threeDigits(dot * header.scale + (bias ? added : 0))
      }`,
    ),
    barRows(rows, null),
    make(
      "p",
      {},
      `The query has ${width} numbers, the key has ${width}: the dot product is the sum of their products.`,
    ),
  ];
}

// Depth -> the elements of what is open.
export const openings = { 1: weightFromScores, 2: scoreFromVectors };
