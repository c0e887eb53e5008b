// What opens inside the model's picture: the arithmetic of one part, with the numbers of the selected tokens.
/** @import { ModelView } from "./model_view.js" */
import { inWords, make, sum, threeDigits, withNorm } from "./drawing.js";
import { formula } from "./formula.js";

const MOST_ROWS = 6; // keys and components with a number each
const NAMES = {
  ids: "Token",
  embedding: "Embedding",
  q: "Query",
  k: "Key",
  v: "Value",
  scores: "Score",
  softmax: "Weight",
  mixing: "Sum of values",
  heads: "W_O",
  "norm-first_ffn": "LayerNorm",
  first_ffn: "First feed-forward",
  "add-first_ffn": "Add first feed-forward",
  "add-attention": "Add attention",
  "norm-attention": "LayerNorm",
  ffn: "Feed-forward",
  "add-ffn": "Add feed-forward",
  "norm-ffn": "LayerNorm",
  "norm-convolution": "LayerNorm",
  convolution: "Convolution",
  "add-convolution": "Add the convolution",
  "norm-end": "LayerNorm",
  "norm-cross": "LayerNorm",
  "cross-scores": "Cross score",
  cross: "Cross weight",
  "cross-mixing": "Sum of the input’s values",
  "add-cross": "Add cross-attention",
  "norm-adapter": "LayerNorm",
  adapter: "Adapter",
  "add-adapter": "Add the adapter",
  next: "Next token",
  final: "Last LayerNorm",
  output: "Vector",
  class: "Class",
};

// The open part of a view, as elements. Its numbers come with the picture; until they do, those that the picture has.
/** @param {ModelView} view */
export function partPanel(view) {
  const { header, choice } = view;
  const { part } = choice;
  const known = choice.hasParts ? header.parts?.[part] ?? null : null;
  const found = known ?? quick[part]?.(view);
  const title = make("h2", { tabindex: "-1" }, found?.title ?? withNorm(NAMES[part], header));
  const close = button("✕ Back to the whole picture", null, () => choice.close());
  const head = make("header", {}, title, close);
  if (!found) {
    const names = header.partsOf && view.isAlone
      ? `This file has the numbers of “${header.labels[header.partsOf.query - header.first]}” only.`
      : "The numbers are on their way.";
    return [head, make("p", {}, names)];
  }
  return [
    head,
    make("p", {}, found.said),
    ...formulas(found),
    ...(found.text ? [make("p", { class: "enc-model-formula" }, found.text)] : []),
    ...(found.notation ? [make("p", { class: "enc-model-notation" }, ...withSymbols(found.notation))] : []),
    ...strips(view, found),
    ...(found.rows.length ? [make("h3", {}, found.heading, make("em", {}, fullBar(found))), barRows(view, found)] : []),
    ...options(view),
    ...checked(view, known),
    neighbours(view),
  ];
}

// A text whose symbols are printed as in the formula above it: d_k with a low k.
function withSymbols(text) {
  const parts = text.split(/\bd_(k|model|ffn)\b/);
  return parts.flatMap((part, at) => at % 2 ? ["d", make("sub", {}, part)] : [part]);
}

function button(text, label, action, attributes = {}) {
  const element = make("button", { type: "button", ...(label ? { "aria-label": label } : {}), ...attributes }, text);
  element.addEventListener("click", action);
  return element;
}

// Each rule with its numbers next to it, where both fit: they come in turn.
function formulas({ formulas: found = [] }) {
  return found.filter((_, at) => at % 2 === 0).map((rule, at) =>
    make("div", { class: "enc-model-math" }, formula(rule), formula(found[2 * at + 1]))
  );
}

// The parts before and after this one: a reader follows a number from the text to the vector.
/** @param {ModelView} view */
function neighbours(view) {
  const order = Object.keys(view.header.parts ?? {});
  const at = order.indexOf(view.choice.part);
  const nav = make("nav", { "aria-label": "Parts of the forward pass" });
  const name = (place) => withNorm(NAMES[order[place]], view.header);
  const step = (key, text) => key && nav.append(button(text, null, () => view.choice.open(key)));
  if (at > 0) step(order[at - 1], `← ${name(at - 1)}`);
  if (at >= 0 && at < order.length - 1) step(order[at + 1], `${name(at + 1)} →`);
  if (at < 0 && view.choice.part === "softmax") step("scores", "How the score is made →");
  return nav;
}

// The part that this one is a detail of; undefined: the whole picture.
export const levelAbove = (part) => ({ scores: "softmax" })[part];

export function neighbour(view, offset) {
  const order = Object.keys(view.header.parts ?? {});
  return order[order.indexOf(view.choice.part) + offset];
}

// Whole vectors, a cell for each number; a click chooses the component whose arithmetic is shown.
function strips(view, found) {
  if (!found.strips?.length) return [];
  const neuron = Number.isInteger(found.neuron) ? `, neuron ${found.neuron}` : "";
  const widest = Math.max(...found.strips.map(({ array }) => view.arrays[array].data.length));
  return [make(
    "div",
    { class: "enc-model-strips" },
    ...found.strips.flatMap(({ name, array, role }) => {
      const values = view.arrays[array].data;
      const [place, cell] = role === "neuron" ? ["neuron", found.neuron] : ["component", found.component];
      const own = Number.isInteger(cell) && cell < values.length;
      const map = make("canvas", { width: values.length, height: 1, role: "img" });
      map.setAttribute("aria-label", `${name}: ${values.length} numbers`);
      paintStrip(map, values, view.theme.dark);
      const strip = make("div", { class: "enc-model-vector", style: `width:${100 * values.length / widest}%` }, map);
      if (own) {
        strip.append(make("i", { style: `left:${100 * (cell + 0.5) / values.length}%` }));
        map.addEventListener("click", (event) => {
          const { left, width } = map.getBoundingClientRect();
          const at = Math.min(values.length - 1, Math.floor((event.clientX - left) / width * values.length));
          view.choice.choosePlace(place, at);
        });
      }
      const number = own ? threeDigits(values[cell]) : "";
      return [make("span", { class: role ? `enc-${role}` : "" }, name), make("div", {}, strip), make("b", {}, number)];
    }),
    make(
      "em",
      {},
      found.component === null ? "" : `Numbers: component ${found.component}${neuron}. `,
      found.component === null ? "" : make("span", { class: "enc-invites" }, "Select a strip to choose another. "),
      ...signColours(),
      " stronger: larger.",
    ),
  )];
}

function paintStrip(map, values, dark) {
  const pen = map.getContext("2d");
  const image = pen.createImageData(values.length, 1);
  const top = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
  const [plus, minus] = dark ? [[69, 196, 208], [240, 160, 75]] : [[14, 150, 163], [201, 118, 26]];
  values.forEach((value, at) =>
    image.data.set([...(value < 0 ? minus : plus), 255 * Math.sqrt(Math.abs(value) / top)], 4 * at)
  );
  pen.putImageData(image, 0, 0);
}

// Which colour a positive and a negative number has.
export const signColours = () => [
  make("i", { class: "enc-model-key enc-model-positive" }),
  "positive ",
  make("i", { class: "enc-model-key enc-model-negative" }),
  "negative;",
];

// The number of a full bar: 1 for weights and probabilities, else the largest.
const largestBar = ({ full, rows }) => full ?? (Math.max(...rows.map(([, value]) => Math.abs(value))) || 1);
const fullBar = (found) => found.full === 0 ? "" : ` Full bar: ${threeDigits(largestBar(found))}.`;

// Rows of a label, a bar and a number; the chosen one is marked, and a click on another chooses it.
function barRows(view, found) {
  const top = largestBar(found);
  return make(
    "ol",
    { class: "enc-model-rows" },
    ...found.rows.map(([label, value, more, at, place]) => {
      const bar = make("i", {
        style: `width:${top ? (100 * Math.abs(value) / top).toFixed(1) : 0}%`, // numbers without a size have no bar
        class: value < 0 ? "enc-negative" : "",
      });
      const name = place
        ? button(label, null, () => view.choice.choosePlace(place, at), { dir: "auto" })
        : make("span", { dir: "auto" }, label);
      return make(
        "li",
        at >= 0 && at === found.chosen ? { class: "enc-now" } : {},
        name,
        make("u", {}, bar),
        make("b", {}, Number.isInteger(value) ? String(value) : threeDigits(value)), // an id is not rounded
        make("em", {}, more),
      );
    }),
  );
}

// What a reader may change in scores and weights, and see at once: the scale, the mask.
/** @param {ModelView} view */
function options(view) {
  if (!["scores", "softmax"].includes(view.choice.part) || view.isAlone) return [];
  const buttons = (view.header.options ?? []).map(({ name, label, on }) =>
    button(label, label, () => view.send("switch", { name, on: !on }), { "aria-pressed": String(on) })
  );
  return [make("div", { class: "enc-model-options" }, ...buttons)];
}

// Pictures whose reader has just asked for the check: its result comes into view.
const checkAsked = new WeakSet();

// The same numbers from a second computation, in float64, which shares no code with the model.
function checked(view, known) {
  if (view.isAlone || !known) return [];
  const { checks } = known;
  const pressed = String(Boolean(view.header.check));
  const check = () => {
    if (!view.header.check) checkAsked.add(view);
    view.choice.toggleCheck();
  };
  const toggle = button("Check this number", null, check, {
    class: "enc-model-check",
    "aria-pressed": pressed,
  });
  if (!view.header.check) return [toggle];
  const asked = checkAsked.delete(view) ? { "data-asked": "" } : {};
  if (view.header.checkSaid) return [toggle, make("p", asked, view.header.checkSaid)];
  if (!checks.length) return [toggle, make("p", asked, "This part has no second computation.")];
  const rows = checks.map(([name, shown, again, difference, agrees, count]) =>
    make(
      "tr",
      {},
      ...[name, seven(shown), seven(again), difference.toExponential(1), count, agrees ? "✓ equal" : "✗ differs"].map(
        (text) => make("td", {}, String(text)),
      ),
    )
  );
  const titles = ["compared", "shown", "in float64", "largest difference", "numbers", "result"];
  const head = make("tr", {}, ...titles.map((text) => make("th", { scope: "col" }, text)));
  return [toggle, make("table", asked, make("thead", {}, head), make("tbody", {}, ...rows))];
}

const seven = (value) => String(Number(value.toPrecision(7))).replace(/^-/, "−");

// ---- Parts that the picture itself has the numbers of, for every pair of tokens ----

// The chosen pair; of a token by itself, with the key that it attends to most, as when a part is opened.
/** @param {ModelView} view */
const shownPair = ({ choice }) => [choice.query, choice.key ?? choice.strongestKey()];

/** @param {ModelView} view */
function weightFromScores(view) {
  const { header, arrays } = view;
  const [query, key] = shownPair(view);
  const n = header.labels.length;
  const score = (at) => arrays.scores.data[query * n + at];
  const [largest, total] = [arrays.largest.data[query], arrays.total.data[query]];
  const order = header.labels.map((_, at) => at).sort((a, b) => view.weight(query, b) - view.weight(query, a));
  const shown = [...new Set([key, ...order])].slice(0, MOST_ROWS).sort((a, b) =>
    view.weight(query, b) - view.weight(query, a)
  );
  const exponential = Math.exp(score(key) - largest);
  return {
    title: questionOfPair("How much does", "attend to", view) + `Weight: ${inWords(view.weight(query, key))}`,
    full: 1,
    said: "Softmax makes scores positive numbers that sum to 1.",
    text: `exp(${threeDigits(score(key))} − ${threeDigits(largest)}) / ${threeDigits(total)} = ` +
      `${threeDigits(exponential)} / ${threeDigits(total)} = ${threeDigits(exponential / total)}`,
    heading: "Largest weights",
    rows: shown.map((
      at,
    ) => [header.labels[at], view.weight(query, at), `score ${threeDigits(score(at))}`, header.first + at, "key"]),
    chosen: header.first + key,
  };
}

/** @param {ModelView} view */
function scoreFromVectors(view) {
  const { header, arrays } = view;
  const [query, key] = shownPair(view);
  const [n, width] = arrays.q.shape;
  const row = (name, at) => arrays[name].data.subarray(at * width, (at + 1) * width);
  const [q, k] = [row("q", query), row("k", key)];
  const products = Array.from(q, (value, at) => value * k[at]);
  const dot = sum(products);
  const score = arrays.scores.data[query * n + key];
  const order = products.map((_, at) => at).sort((a, b) => Math.abs(products[b]) - Math.abs(products[a]));
  const rows = order.slice(0, MOST_ROWS).map((
    at,
  ) => [`component ${at}`, products[at], `${threeDigits(q[at])} × ${threeDigits(k[at])}`, at, "component"]);
  const rest = sum(order.slice(MOST_ROWS).map((at) => products[at]));
  if (width > MOST_ROWS) rows.push([`${width - MOST_ROWS} other components`, rest, "", -1, ""]);
  const added = score - dot * header.scale;
  const bias = Math.abs(added) > 1e-3 * Math.max(1, Math.abs(score)) ? ` + ${threeDigits(added)} (bias or edit)` : "";
  return {
    title: questionOfPair("How well does", "match", view) + `Score: ${threeDigits(score)}`,
    said: "The dot product of query and key says how well they match.",
    text: `q · k × scale = ${threeDigits(dot)} × ${threeDigits(header.scale)}${bias} = ` +
      threeDigits(dot * header.scale + (bias ? added : 0)),
    heading: `The largest of ${width} products`,
    rows,
  };
}

// The question that a number of two tokens answers, as the server writes it.
function questionOfPair(does, verb, view) {
  const [query, key] = shownPair(view).map((at) => `“${view.header.labels[at]}”`);
  return `${does} ${query} ${verb} ${key}? `;
}

const quick = { softmax: weightFromScores, scores: scoreFromVectors };
