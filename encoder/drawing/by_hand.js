// One encoder layer for "The cat sat", as encoder/explain/by_hand.py computes it, and its steps as formulas.
// A test compares the numbers of both.
import { sum } from "./drawing.js";

// ---- What a reader changes ----

export const LARGEST_INPUT = 10_000; // products of products stay readable
export const CHOICES = {
  positions: ["Positional encoding", [["formula", "formula"], ["notes", "from the notes"], ["own", "your own"]]],
  norm_placement: ["Norm placement", [["post", "Post-norm"], ["pre", "Pre-norm"]]],
  scaled: ["Scores", [[true, "divided by √d_k"], [false, "not divided"]]],
};

// The inputs of a link, where no host checks it: its numbers that have the form of the example's, `usual`.
export function inputsByHand(text, usual) {
  const alike = (value, like) =>
    Array.isArray(like)
      ? Array.isArray(value) && value.length === like.length && value.every((one, at) => alike(one, like[at]))
      : typeof value === typeof like && (typeof value !== "number" || Math.abs(value) <= LARGEST_INPUT);
  const isOption = (name, value) => !CHOICES[name] || CHOICES[name][1].some(([one]) => one === value);
  let changes = {};
  try {
    changes = JSON.parse(text || "{}") ?? {};
  } catch {
    // A link that is not JSON shows the example.
  }
  const good = Object.entries(changes).filter(([name, value]) =>
    name in usual && name !== "words" && alike(value, usual[name]) && isOption(name, value) &&
    (name !== "eps" || value >= 0)
  );
  return { ...usual, ...Object.fromEntries(good) };
}

// ---- The numbers ----

const product = (x, weights) =>
  x.map((row) => weights[0].map((_, column) => sum(row.map((value, at) => value * weights[at][column]))));
const together = (x, y) => x.map((row, t) => row.map((value, d) => value + y[t][d]));
const withBias = (x, bias) => x.map((row) => row.map((value, d) => value + bias[d]));
const flipped = (x) => x[0].map((_, d) => x.map((row) => row[d]));

// Sine and cosine of position / 10000^(2i / D) (Vaswani et al. 2017).
const sinusoids = (x) =>
  x.map((row, position) =>
    row.map((_, d) => {
      const angle = position / 10000 ** ((d - (d % 2)) / row.length);
      return d % 2 ? Math.cos(angle) : Math.sin(angle);
    })
  );

// LayerNorm with the population variance, eps inside the root.
function normedByHand(x, gain, shift, eps) {
  const mean = x.map((row) => sum(row) / row.length);
  const variance = x.map((row, t) => sum(row.map((value) => (value - mean[t]) ** 2)) / row.length);
  const output = x.map((row, t) =>
    row.map((value, d) => ((value - mean[t]) / Math.sqrt(variance[t] + eps)) * gain[d] + shift[d])
  );
  return { mean, variance, output };
}

// Every intermediate result. inputs: as `Inputs` of by_hand.py; notes: the positional encodings of the notes.
export function layerByHand(inputs, notes) {
  const pre = inputs.norm_placement === "pre";
  const firstNorm = (x) => normedByHand(x, inputs.attention_gain, inputs.attention_shift, inputs.eps);
  const secondNorm = (x) => normedByHand(x, inputs.ffn_gain, inputs.ffn_shift, inputs.eps);
  const encodings = { notes, own: inputs.position_rows, formula: sinusoids(inputs.embeddings) };
  const position = encodings[inputs.positions];
  const stream = together(inputs.embeddings, position);
  const attentionInput = pre ? firstNorm(stream).output : stream;
  const [q, k, v] = [inputs.w_q, inputs.w_k, inputs.w_v].map((weights) => product(attentionInput, weights));
  const dots = product(q, flipped(k));
  const scores = dots.map((row) => row.map((value) => inputs.scaled ? value / Math.sqrt(k[0].length) : value));
  const exponentials = scores.map((row) => row.map((value) => Math.exp(value - Math.max(...row))));
  const attention = exponentials.map((row) => row.map((value) => value / sum(row)));
  const z = product(attention, v);
  const attentionOutput = product(z, inputs.w_o);
  const attentionSum = together(stream, attentionOutput);
  const attentionNorm = firstNorm(pre ? stream : attentionSum);
  const afterAttention = pre ? attentionSum : attentionNorm.output;
  const ffnInput = pre ? secondNorm(afterAttention).output : afterAttention;
  const hidden = withBias(product(ffnInput, inputs.w_in), inputs.b_in).map((row) =>
    row.map((value) => Math.max(0, value))
  );
  const ffnOutput = withBias(product(hidden, inputs.w_out), inputs.b_out);
  const ffnSum = together(afterAttention, ffnOutput);
  const ffnNorm = secondNorm(pre ? afterAttention : ffnSum);
  const output = pre ? ffnSum : ffnNorm.output;
  return {
    pre,
    position,
    stream,
    attentionInput,
    q,
    k,
    v,
    dots,
    scores,
    exponentials,
    attention,
    z,
    attentionOutput,
    attentionSum,
    attentionNorm,
    afterAttention,
    ffnInput,
    hidden,
    ffnOutput,
    ffnSum,
    ffnNorm,
    output,
  }; // deno-fmt-ignore
}

// ---- Their formulas, as encoder/explain/latex.py writes them ----

const coloured = (role, body) => role ? `\\textcolor{${role}}{${body}}` : body;
const over = (above, below) => `\\frac{${above}}{${below}}`;

function decimals(value, digits = 4) {
  if (value && (Math.abs(value) < 0.5 * 10 ** -digits || Math.abs(value) >= 1e6)) {
    const [mantissa, exponent] = value.toExponential(2).split("e");
    return `${mantissa}\\cdot 10^{${Number(exponent)}}`;
  }
  return value.toFixed(digits).replace(/^-(?=[0.]*$)/, "");
}

// A number of a calculation, without zeros at its end: with enough decimals to lead to a result of four.
const exactly = (value) => decimals(value, 6).replace(/^(-?\d+(?:\.\d*?[1-9])?)\.?0+$/, "$1");
const factor = (value) => value < 0 ? `(${exactly(value)})` : exactly(value);

// A divisor with enough decimals to show four significant digits.
const divisorOf = (value) =>
  decimals(value, Math.min(Math.max(4, (value ? -Math.floor(Math.log10(Math.abs(value))) : 0) + 3), 8));

// Calculations below each other, aligned at the equals signs: [left side, its values].
const lined = (...parts) =>
  `\\begin{aligned} ${
    parts.map(([left, values]) => `${left} ${values.map((value) => `&= ${value}`).join(" \\\\[6pt] ")}`)
      .join(" \\\\[10pt] ")
  } \\end{aligned}`;

const shownMatrix = (name, rows, role = "", digits = 3) => ({
  formula: coloured(
    role,
    `${name} = \\begin{bmatrix} ${
      rows.map((row) => row.map((value) => decimals(value, digits)).join(" & ")).join(" \\\\ ")
    } \\end{bmatrix}`,
  ),
});

// One number as the sum of all its products.
function sumInFull(left, pairs, [first, second] = ["", ""]) {
  const products = pairs.map(([a, b]) => `${coloured(first, factor(a))} \\cdot ${coloured(second, factor(b))}`);
  const total = sum(pairs.map(([a, b]) => a * b));
  return { formula: lined([left, [products.join(" \\\\ &\\quad + "), decimals(total)]]) };
}

const pairsOf = (left, right) => left.map((value, at) => [value, right[at]]);
const rule = (formula) => ({ formula });
const say = (words) => ({ words });
const [Q_NAME, K_NAME, V_NAME] = ["q", "k", "v"].map((role) => coloured(role, role.toUpperCase()));

// The cells of the maps above the steps whose numbers are written in full: [row, column].
/** @type {Record<string, [number, number]>} */
export const CELLS = { stream: [1, 0], weight: [1, 2], output: [1, 0] };

const text = (word) => `\\text{${word}}`;
const ordinal = (at) => ["first", "second", "third", "fourth"][at];

function positionInFull({ position, stream }, inputs, notes, word) {
  if (inputs.positions !== "formula") return [say("This encoding is given. Select “formula” above to compute it.")];
  const waves = [["\\sin", "0/4"], ["\\cos", "0/4"], ["\\sin", "2/4"], ["\\cos", "2/4"]];
  const steps = waves.slice(0, stream[0].length).map(([wave, power], c) => [
    `P_{${word},${c}}`,
    [`${wave}${over(word, `10000^{${power}}`)} = ${decimals(position[word][c], 5)}`],
  ]);
  return [
    say(`The encoding of “${inputs.words[word]}”, position ${word}:`),
    rule(lined(...steps)),
    say(
      `This example is from teaching notes, which give ${notes[word].join(", ")} here. ` +
        "Select “from the notes” above to use their encoding.",
    ),
  ];
}

// One number after a norm, of a word. gain, shift: of its components.
function normInFull({ mean, variance, output }, x, gain, shift, words, [word, component] = CELLS.output) {
  const root = `\\sqrt{${divisorOf(variance[word])} + \\varepsilon}`;
  const divided = over(`${exactly(x[word][component])} - ${factor(mean[word])}`, root);
  const scaled = `${divided} \\cdot ${factor(gain[component])} + ${factor(shift[component])}`;
  return [
    say(`The ${ordinal(component)} number of “${words[word]}” after the norm:`),
    rule(lined([`y_{${text(words[word])},${component}}`, [scaled, decimals(output[word][component])]])),
  ];
}

// One number of the output in pre-norm: a sum, whose second part comes after a norm.
function sumOfOutput({ afterAttention, ffnOutput, output }, words, [word, component]) {
  const added = `${exactly(afterAttention[word][component])} + ${factor(ffnOutput[word][component])}`;
  return [
    say(`The ${ordinal(component)} number of “${words[word]}”:`),
    rule(lined([`Y_{${text(words[word])},${component}}`, [added, decimals(output[word][component])]])),
  ];
}

const normStatistics = ({ mean, variance }) => [
  shownMatrix("\\mu^T", [mean], "", 4),
  shownMatrix("(\\sigma^2)^T", [variance], "", 4),
];

// The steps: {title, text, rules: what the step computes, tables: columns of names of editable inputs, results, inFull:
// one number of each}. An item of the last two is a formula or words. cells: as CELLS.
export function stepsByHand(inputs, notes, cells = CELLS) {
  const all = layerByHand(inputs, notes);
  const { pre, q, k, v, dots, scores, exponentials, attention } = all;
  const width = k[0].length;
  const x = pre ? "\\mathrm{Norm}(X')" : "X'";
  const toFfn = pre ? "\\mathrm{Norm}(X_1)" : "X_1";
  const cat = "\\text{cat}";
  const sat = `${cat},\\text{sat}`;
  const { words } = inputs;
  const [query, key] = cells.weight;
  const zeros = sum(all.hidden.flat().map((value) => Number(value === 0)));
  return [
    {
      title: "1. Embeddings and positions",
      text: "One row per word. The positional encoding is added component by component.",
      rules: ["X' = X + P"],
      tables: [["embeddings"], ...(inputs.positions === "own" ? [["position_rows"]] : [])],
      results: [shownMatrix("P", all.position, "", 4), shownMatrix("X'", all.stream, "", 4)],
      inFull: positionInFull(all, inputs, notes, cells.stream[0]),
    },
    {
      title: "2. Queries, keys, values",
      text: "Three matrix products with the same input.",
      rules: ["Q", "K", "V"].map((name) => {
        const role = name.toLowerCase();
        return `${coloured(role, name)} = ${x}\\, ${coloured(role, `W_${name}`)}`;
      }),
      tables: [["w_q"], ["w_k"], ["w_v"]],
      results: [
        ...(pre ? [shownMatrix(x, all.attentionInput)] : []),
        ...[["Q", q, "q"], ["K", k, "k"], ["V", v, "v"]].map(([name, rows, role]) => shownMatrix(name, rows, role)),
      ],
      inFull: [
        say("The first number of “cat” in Q:"),
        sumInFull(coloured("q", `Q_{${cat},0}`), pairsOf(all.attentionInput[1], inputs.w_q.map(([first]) => first))),
      ],
    },
    {
      title: "3. Scores",
      text: "The dot product of every query with every key.",
      rules: inputs.scaled
        ? [`S = ${Q_NAME} ${K_NAME}^T / \\sqrt{d_k}`, `d_k = ${width}`]
        : [`S = ${Q_NAME} ${K_NAME}^T`],
      tables: [],
      results: [...(inputs.scaled ? [shownMatrix(`${Q_NAME} ${K_NAME}^T`, dots)] : []), shownMatrix("S", scores)],
      inFull: [
        say("The score of the query “cat” and the key “sat”:"),
        sumInFull(`q_{${cat}} \\cdot k_{\\text{sat}}`, pairsOf(q[1], k[2]), ["q", "k"]),
        ...(inputs.scaled
          ? [rule(lined([`S_{${sat}}`, [over(exactly(dots[1][2]), `\\sqrt{${width}}`), decimals(scores[1][2])]]))]
          : []),
      ],
    },
    {
      title: "4. Softmax",
      text: "Each row of scores becomes weights that sum to 1.",
      rules: ["A = \\mathrm{softmax}(S)"],
      tables: [],
      results: [
        rule("A_{i,j} = \\frac{e^{S_{i,j} - \\max S_i}}{\\sum_l e^{S_{i,l} - \\max S_i}}"),
        shownMatrix("e^{S - \\max}", exponentials),
        shownMatrix("A", attention, "", 4),
        say("Rows: the queries The, cat, sat. Columns: the keys The, cat, sat. Each row sums to 1."),
      ],
      inFull: [
        say(`The weight of “${words[key]}” for “${words[query]}”:`),
        rule(lined([`A_{${text(words[query])},${text(words[key])}}`, [
          over(exactly(exponentials[query][key]), exponentials[query].map(exactly).join(" + ")),
          decimals(attention[query][key]),
        ]])),
      ],
    },
    {
      title: "5. Weighted sum of values, output projection W_O",
      text: "The weights multiply the values. W_O maps the sum back to the residual stream.",
      rules: [`Z = A\\, ${V_NAME}`, "O = Z\\, W_O"],
      tables: [["w_o"]],
      results: [
        shownMatrix("Z", all.z),
        shownMatrix("O", all.attentionOutput),
      ],
      inFull: [
        say("The first number of “cat” in Z:"),
        sumInFull(`Z_{${cat},0}`, pairsOf(attention[1], v.map(([first]) => first)), ["", "v"]),
      ],
    },
    {
      title: "6. Add & norm",
      text: "The output of attention is added to its input.",
      rules: [pre ? "X_1 = X' + O" : "X_1 = \\mathrm{Norm}(X' + O)"],
      tables: [["attention_gain", "attention_shift", "eps"]],
      results: pre
        ? [
          shownMatrix("X_1", all.afterAttention),
          say("Pre-norm: the norm is before Q, K and V. The sum is not normalised."),
        ]
        : [
          shownMatrix("X' + O", all.attentionSum),
          ...normStatistics(all.attentionNorm),
          shownMatrix("X_1", all.afterAttention),
        ],
      inFull: normInFull(
        all.attentionNorm,
        pre ? all.stream : all.attentionSum,
        inputs.attention_gain,
        inputs.attention_shift,
        words,
      ),
    },
    {
      title: "7. Feed-forward",
      text:
        "The up-projection makes six numbers of four, ReLU sets negative ones to 0, the down-projection makes four " +
        "again.",
      rules: [`H = \\mathrm{ReLU}(${toFfn}\\, W_{in} + b_{in})`, "G = H\\, W_{out} + b_{out}"],
      tables: [["w_in", "b_in"], ["w_out", "b_out"]],
      results: [
        ...(pre ? [shownMatrix(toFfn, all.ffnInput)] : []),
        shownMatrix("H", all.hidden, "", 2),
        shownMatrix("G", all.ffnOutput),
        say(`Activations that are 0: ${zeros} of ${all.hidden.flat().length}.`),
      ],
      inFull: [
        say("Neuron 1 of “cat”; the factor 1 belongs to the bias:"),
        sumInFull("a", [...pairsOf(all.ffnInput[1], inputs.w_in.map((row) => row[1])), [1, inputs.b_in[1]]]),
        rule(`\\max(0, a) = ${decimals(all.hidden[1][1])}`),
      ],
    },
    {
      title: "8. Add & norm again",
      text: "The output of the feed-forward layer is added to its input.",
      rules: [pre ? "Y = X_1 + G" : "Y = \\mathrm{Norm}(X_1 + G)"],
      tables: [["ffn_gain", "ffn_shift"]],
      results: [
        ...(pre ? [] : [
          shownMatrix("X_1 + G", all.ffnSum),
          ...normStatistics(all.ffnNorm),
        ]),
        shownMatrix("Y", all.output, "", 4),
        say("One vector of four numbers per word: the input of a next layer."),
      ],
      inFull: pre
        ? [
          ...sumOfOutput(all, words, cells.output),
          ...normInFull(all.ffnNorm, all.afterAttention, inputs.ffn_gain, inputs.ffn_shift, words, cells.output),
        ]
        : normInFull(all.ffnNorm, all.ffnSum, inputs.ffn_gain, inputs.ffn_shift, words, cells.output),
    },
  ];
}
