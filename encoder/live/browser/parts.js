// The arithmetic that opens inside the picture of the model. encoder/views/model_parts.py has the same parts, with
// formulas and a check in float64.
import { inWords, threeDigits } from "../../drawing/drawing.js";
import { largest, poolingShares } from "./engine/heads.js";
import { moments, norm } from "./engine/linear.js";
import { headOf } from "./pictures.js";

const MOST_ROWS = 6;

// {parts: key -> part, arrays: the vectors that they show} for the tokens of `place`.
export function partsOf(model, trace, tokens, place, { component, neuron, classes }) {
  const { encoder, about } = model;
  const { config } = encoder;
  const { layer, head, query: i, key: j } = place;
  const open = trace.layers[layer];
  const [width, kWidth] = [config.d_model, config.d_head];
  const arrays = {};
  const parts = {};
  const row = (x, t, size = width) => x.subarray(t * size, (t + 1) * size);
  const name = (t) => `“${tokens[t].label}”`;
  const at = (values) =>
    component !== null && component < values.length ? component : largest(values.map(Math.abs), 1)[0];
  const put = (
    key,
    title,
    said,
    text,
    { strips = [], component: c = null, heading = "", rows = [], chosen = null, full = null, neuron = null },
  ) => {
    const shown = strips.map(([label, values, role = ""]) => {
      const array = `strip ${Object.keys(arrays).length}`;
      arrays[array] = { data: Float32Array.from(values), shape: [values.length] };
      return { name: label, array, role };
    });
    parts[key] = {
      title,
      said,
      text,
      formulas: [],
      strips: shown,
      component: c,
      neuron,
      full,
      heading,
      rows,
      chosen,
      checks: [],
    };
  };
  const normPart = (key, title, weights, before, after) => {
    const { gain, bias, eps } = encoder.normOf(weights);
    const { mean, deviation } = moments(before, eps);
    const normalised = before.map((value) => (value - mean) / deviation);
    const c = at(normalised);
    put(
      key,
      `${title} for ${name(i)}`,
      "The mean becomes 0 and the standard deviation 1; then each component has a gain and a bias.",
      `(${threeDigits(before[c])} − ${threeDigits(mean)}) / ${threeDigits(deviation)} × ${threeDigits(gain[c])} + ${
        threeDigits(bias?.[c] ?? 0)
      } = ` +
        threeDigits(after[c]),
      {
        strips: [["input", before], ["normalised", normalised], ["gain", gain], ["output", after]],
        component: c,
        heading: `Of the ${before.length} numbers`,
        rows: [["mean", mean], ["standard deviation", deviation], ["length before", norm(before)], [
          "length after",
          norm(after),
        ]]
          .map(([label, value]) => [label, value, "", -1, ""]),
      },
    );
  };
  const addPart = (sublayer, before, update, sum) => {
    const c = at(sum);
    const after = sublayer === "attention" ? "attention" : "the feed-forward layer";
    put(
      `add-${sublayer}`,
      `Residual addition after ${after} for ${name(i)}`,
      `The sum is ${threeDigits(norm(sum) / norm(before))} times as long as the residual stream before it.`,
      `${threeDigits(before[c])} + ${threeDigits(update[c])} = ${threeDigits(sum[c])}`,
      {
        strips: [["residual stream", before], ["added", update], ["sum", sum]],
        component: c,
        heading: "Lengths of the vectors",
        rows: [["before", norm(before)], ["added", norm(update)], ["sum", norm(sum)]].map((
          one,
        ) => [...one, "", -1, ""]),
      },
    );
  };
  const isText = !config.patches;

  if (isText) {
    put("ids", `From word to number: ${name(i)}`, `${name(i)} is entry ${tokens[i].id} of ${config.vocab_size}.`, "", {
      heading: "Token and its number",
      rows: tokens.map(({ label, id }, t) => [label, id, "", t, "query"]),
      chosen: i,
    });
    const token = row(trace.tokens, i, config.embedding_width);
    const position = trace.positions && row(trace.positions, i, config.embedding_width);
    const sum = token.map((value, d) => value + (position ? position[d] : 0));
    const c = at(sum);
    put(
      "embedding",
      `Embedding of ${name(i)}`,
      `Row ${tokens[i].id} of the token table${position ? ", added to the row of its position" : ""}.`,
      position
        ? `${threeDigits(token[c])} + ${threeDigits(position[c])} = ${threeDigits(sum[c])}`
        : threeDigits(token[c]),
      { strips: [["token", token], ...(position ? [["position", position]] : []), ["sum", sum]], component: c },
    );
  }
  const pre = trace.placement === "pre";
  const layerName = `layers.${layer}`;
  const hasAttentionNorm = encoder.hasAttentionNorm(layer);
  if (pre && hasAttentionNorm) {
    normPart(
      "norm-attention",
      "LayerNorm before attention",
      `${layerName}.attention_norm`,
      row(open.input, i),
      row(open.toAttention, i),
    );
  }
  const own = Object.fromEntries(["q", "k", "v", "z"].map((part) => [part, headOf(open[part], trace, encoder, head)]));
  const [q, k] = [row(own.q, i, kWidth), row(own.k, j, kWidth)];
  const products = q.map((value, c) => value * k[c]);
  const z = row(own.z, i, kWidth);
  for (
    const [part, word, t, values] of [["q", "Query", i, q], ["k", "Key", j, k], [
      "v",
      "Value",
      j,
      row(own.v, j, kWidth),
    ]]
  ) {
    const c = part === "v" ? at(z) : at(products);
    const { data } = encoder.tensors[`${layerName}.attention.w_${part}.weight`];
    const bias = encoder.data(`${layerName}.attention.w_${part}.bias`)?.[head * kWidth + c] ?? 0;
    const x = row(open.toAttention, t);
    const column = data.subarray((head * kWidth + c) * width, (head * kWidth + c + 1) * width);
    const terms = x.map((value, d) => value * column[d]);
    const isRotated = part !== "v" && encoder.rotates(trace.edits);
    const product = isRotated ? terms.reduce((sum, one) => sum + one, 0) : values[c] - bias;
    put(
      part,
      `${word} of ${name(t)} in head ${head}`,
      `${word}: ${kWidth} numbers. Each is a dot product of the token's vector with a column of W_${part.toUpperCase()}.`,
      `component ${c}: ${threeDigits(product)} + bias ${threeDigits(bias)} = ${threeDigits(product + bias)}` +
        (isRotated ? `; rotated by position ${t}: ${threeDigits(values[c])}` : ""),
      {
        strips: [["input x", x], [word.toLowerCase(), values, part]],
        component: c,
        heading: `The largest of ${width} products that make component ${c}`,
        rows: termRows(terms, (d) => `${threeDigits(x[d])} × ${threeDigits(column[d])}`),
      },
    );
  }
  const n = trace.nTokens;
  const bias = encoder.bias(head, j - i, trace.edits);
  const [scores, weights] = [open.scores[head], open.pattern[head]].map((all) => all.subarray(i * n, (i + 1) * n));
  put(
    "scores",
    `How well does ${name(i)} match ${name(j)}? Score: ${threeDigits(scores[j])}`,
    "The dot product of query and key says how well they match.",
    `q · k × scale${bias ? " + bias" : ""} = ${threeDigits(products.reduce((sum, one) => sum + one, 0))} × ${
      threeDigits(encoder.scale)
    }${bias ? ` + ${threeDigits(bias)}` : ""} = ${threeDigits(scores[j])}`,
    {
      strips: [["query", q, "q"], ["key", k, "k"], ["products", products]],
      component: at(products),
      heading: `The largest of ${kWidth} products`,
      chosen: at(products),
      rows: termRows(
        products,
        (c) => `${threeDigits(q[c])} × ${threeDigits(k[c])}`,
        (c) => `component ${c}`,
        "component",
      ),
    },
  );
  const top = scores.reduce((most, one) => Math.max(most, one), -Infinity);
  const total = scores.reduce((sum, one) => sum + Math.exp(one - top), 0);
  put(
    "softmax",
    `How much does ${name(i)} attend to ${name(j)}? Weight: ${inWords(weights[j])}`,
    `Softmax makes the scores of ${name(i)} positive numbers that sum to 1.`,
    `exp(${threeDigits(scores[j])} − ${threeDigits(top)}) / ${threeDigits(total)} = ${threeDigits(weights[j])}`,
    {
      heading: `Largest weights of ${name(i)}`,
      full: 1,
      chosen: j,
      rows: [...new Set([...largest(weights, MOST_ROWS - 1), j])].map((
        t,
      ) => [tokens[t].label, weights[t], `score ${threeDigits(scores[t])}`, t, "key"]),
    },
  );
  const mixed = at(z);
  const valueTerms = Float32Array.from(weights, (weight, t) => weight * own.v[t * kWidth + mixed]);
  put(
    "mixing",
    `Weighted sum of values for ${name(i)}: z of head ${head}`,
    "Each token's value is multiplied by its weight; the sum is the head's output.",
    `component ${mixed}: ${threeDigits(z[mixed])}`,
    {
      strips: [[`value of ${name(j)}`, row(own.v, j, kWidth), "v"], ["z", z, "v"]],
      component: mixed,
      chosen: j,
      heading: `Weight × value of component ${mixed}, by token`,
      rows: termRows(
        valueTerms,
        (t) => `${threeDigits(weights[t])} × ${threeDigits(own.v[t * kWidth + mixed])}`,
        (t) => tokens[t].label,
        "key",
        "tokens",
      ),
    },
  );
  const result = row(open.out, i);
  const { data: wo } = encoder.tensors[`${layerName}.attention.w_o.weight`];
  const inner = config.n_heads * kWidth;
  const contributions = Array.from(
    { length: config.n_heads },
    (_, h) =>
      Float32Array.from({ length: width }, (_, d) => {
        let sum = 0;
        for (let c = 0; c < kWidth; c++) sum += wo[d * inner + h * kWidth + c] * open.z[i * inner + h * kWidth + c];
        return sum;
      }),
  );
  put(
    "heads",
    `All heads through W_O for ${name(i)}`,
    `The outputs of ${config.n_heads} heads are joined and multiplied by W_O; the result is a sum over heads.`,
    `component ${at(result)}: ${threeDigits(result[at(result)])}`,
    {
      strips: [["z of this head", z, "v"], ["added by this head", contributions[head]], ["result", result]],
      component: at(result),
      heading: "Length of what each head adds",
      chosen: head,
      rows: largest(contributions.map(norm), 12).map((h) => [`head ${h}`, norm(contributions[h]), "", h, "head"]),
    },
  );
  addPart("attention", row(open.input, i), row(open.addedByAttention, i), row(open.sum1, i));
  if (pre || hasAttentionNorm) {
    normPart(
      "norm-" + (pre ? "ffn" : "attention"),
      pre ? "LayerNorm before the feed-forward layer" : "LayerNorm after attention",
      `${layerName}.${pre ? "ffn" : "attention"}_norm`,
      row(pre ? open.afterAttention : open.sum1, i),
      row(pre ? open.toFfn : open.afterAttention, i),
    );
  }
  const hidden = row(open.hidden, i, config.d_ffn);
  const strongest = largest(hidden.map(Math.abs), MOST_ROWS);
  const active = neuron !== null && neuron < hidden.length ? neuron : strongest[0];
  put(
    "ffn",
    `Feed-forward layer for ${name(i)}`,
    `${width} numbers become ${config.d_ffn} neurons, then ${width} numbers again.`,
    `neuron ${active}: ${threeDigits(hidden[active])}`,
    {
      strips: [["input", row(open.toFfn, i)], ["neurons", hidden, "neuron"], ["output", row(open.addedByFfn, i)]],
      component: at(row(open.addedByFfn, i)),
      heading: "The strongest neurons",
      chosen: active,
      neuron: active,
      rows: strongest.map((at) => [`neuron ${at}`, hidden[at], "", at, "neuron"]),
    },
  );
  addPart("ffn", row(open.afterAttention, i), row(open.addedByFfn, i), row(open.sum2, i));
  if (!pre) {
    normPart(
      "norm-ffn",
      "LayerNorm after the feed-forward layer",
      `${layerName}.ffn_norm`,
      row(open.sum2, i),
      row(open.afterFfn, i),
    );
  }
  if (config.final_norm) {
    normPart("final", "The last LayerNorm", "final_norm", row(trace.layers.at(-1).afterFfn, i), row(trace.output, i));
  }
  if (isText) {
    const shares = poolingShares(about.pooling, n);
    const vector = Float32Array.from(
      { length: width },
      (_, d) => shares.reduce((sum, one, t) => sum + one * trace.output[t * width + d], 0),
    );
    const c = at(vector);
    put(
      "output",
      "One vector for the sentence",
      about.pooling === "mean"
        ? `The sentence vector is the mean of ${n} token vectors.`
        : "The vector of the first token represents the sentence.",
      `component ${c}: ${threeDigits(vector[c])}`,
      {
        strips: [["sentence vector", vector]],
        component: c,
        heading: `Weight × component ${c}, by token`,
        rows: termRows(
          Float32Array.from(shares, (one, t) => one * trace.output[t * width + c]),
          (t) => `weight ${threeDigits(shares[t])}`,
          (t) => tokens[t].label,
          "query",
          "tokens",
        ),
      },
    );
  }
  if (classes.length) {
    put("class", `Class: ${classes[0][0]}`, "The head turns the vector into a number for each class.", "", {
      heading: "The most probable classes",
      rows: classes.slice(0, MOST_ROWS).map(([label, share], at) => [label, share, "", at, ""]),
      chosen: 0,
    });
  }
  return { parts, arrays };
}

// The largest terms of a sum, and the rest as one row.
function termRows(terms, more, label = (d) => `component ${d}`, place = "", others = "components") {
  const order = largest(terms.map(Math.abs), terms.length);
  const rows = order.slice(0, MOST_ROWS).map((at) => [label(at), terms[at], more(at), at, place]);
  const rest = order.slice(MOST_ROWS).reduce((sum, at) => sum + terms[at], 0);
  return order.length > MOST_ROWS ? [...rows, [`${order.length - MOST_ROWS} other ${others}`, rest, "", -1, ""]] : rows;
}
