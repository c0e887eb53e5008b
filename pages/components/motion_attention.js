// One query of a head, key by key: dot product, scale, softmax, weighted sum.
import { make, threeDigits } from "../../encoder/export/drawing/drawing.js";
import { rgb } from "../../encoder/export/drawing/shared.js";

const ROW_MS = 500; // one key of the dot products or of the weighted sum
const PHASE_MS = 1800; // a step of all keys at once
const HEADINGS = {
  start: ["key", ""],
  dots: ["products q·k", "q · k"],
  scores: ["products q·k", "score"],
  exponentials: ["products q·k", "exponential"],
  weights: ["value", "weight"],
  mix: ["weight × value", "weight"],
  end: ["weight × value", "weight"],
};
const MINUS = "−";
const SUPERSCRIPT = { ...[..."⁰¹²³⁴⁵⁶⁷⁸⁹"], [MINUS]: "⁻" };
const TINY = 0.0005; // smaller numbers of a column are about 0; the sentence above has their digits

// A number with a real minus sign; 1.67e-10 is 1.67·10⁻¹⁰.
export function shown(value) {
  const [digits, power] = threeDigits(value).replace(/-/g, MINUS).split("e");
  return power ? `${digits}·10${[...power].map((digit) => SUPERSCRIPT[digit] ?? "").join("")}` : digits;
}

const inBrackets = (value) => value < 0 ? `(${shown(value)})` : shown(value);

export class AttentionScene {
  constructor(stage, header, arrays) {
    Object.assign(this, { stage, header, arrays });
    this.n = header.names.length;
    this.frames = this.listFrames();
    this.build();
  }

  row(name, k) {
    const { data, shape } = this.arrays[name];
    return data.subarray(k * shape[1], (k + 1) * shape[1]);
  }

  number(name, k) {
    return this.arrays[name].data[k];
  }

  // ---- What each frame shows and says ----

  listFrames() {
    const { query, names, width } = this.header;
    const chosen = this.header.chosen;
    const each = (phase, says) => names.map((_, row) => ({ phase, row, ms: ROW_MS, says: says(row) }));
    const one = (phase, says) => ({ phase, row: this.n, ms: PHASE_MS, says });
    return [
      one("start", `The query of ${query} meets ${this.header.drawn} keys. Each has ${width} numbers.`),
      ...each("dots", (row) => this.sayDot(row)),
      one("scores", this.sayScale(chosen)),
      one("exponentials", this.sayExponential(chosen)),
      one("weights", this.sayWeight(chosen)),
      ...each("mix", (row) => this.sayMix(row)),
      one("end", this.sayEnd()),
    ];
  }

  sayDot(row) {
    const { query, names, width } = this.header;
    const dot = shown(this.number("dots", row));
    return `Dot product: ${query} · ${names[row]} = sum of ${width} products = ${dot}`;
  }

  sayScale(row) {
    const { names, root, scale } = this.header;
    const dot = shown(this.number("dots", row));
    const divided = root ? `${dot} / √${root}` : `${dot} × ${shown(scale)}`;
    const bias = this.arrays.bias ? ` + ${inBrackets(this.number("bias", row))} for the distance` : "";
    return `Scale: every dot product is ${root ? "divided by √K" : "multiplied"}. ${names[row]}: ${divided}${bias} = ` +
      shown(this.number("scores", row));
  }

  sayExponential(row) {
    const { names, top } = this.header;
    if (!this.number("allowed", row)) return `Softmax, first half: the mask hides ${names[row]}, so it gets 0.`;
    const score = shown(this.number("scores", row));
    return `Softmax, first half: e to the power of the score minus the largest one. ${names[row]}: ` +
      `e^(${score} ${MINUS} ${inBrackets(top)}) = ${shown(this.number("exponentials", row))}`;
  }

  sayWeight(row) {
    const { names, total } = this.header;
    return `Softmax, second half: divided by the sum of all exponentials. ${names[row]}: ` +
      `${shown(this.number("exponentials", row))} / ${shown(total)} = ${shown(this.number("weights", row))}`;
  }

  sayMix(row) {
    const { names, component } = this.header;
    const value = inBrackets(this.row("values", row)[component]);
    return `Weighted sum: weight × value of ${names[row]}. Component ${component}: ` +
      `${shown(this.number("weights", row))} × ${value} = ${shown(this.row("weighted", row)[component])}`;
  }

  sayEnd() {
    const { component, query, left } = this.header;
    const rest = left ? ` The ${left} tokens that are not drawn are included.` : "";
    return `The sum is z, the output of this head for ${query}. Component ${component}: ` +
      `${shown(this.arrays.z.data[component])}.${rest}`;
  }

  // ---- Drawing ----

  build() {
    const { names, query, left } = this.header;
    const line = (kind, label) => {
      const strip = make("canvas", { "aria-hidden": "true" });
      const bar = make("i", { "aria-hidden": "true" });
      const number = make("b", {});
      const cells = [make("span", { dir: "auto" }, label), strip, make("u", {}, bar), number];
      const element = make("div", { class: `enc-motion-row enc-motion-${kind}` }, ...cells);
      return { element, strip, bar, number };
    };
    this.head = make("div", { class: "enc-motion-row enc-motion-head" });
    this.query = line("query", `query of ${query}`);
    this.keys = names.map((name) => line("key", name));
    this.rest = left ? line("rest", `${left} other tokens`) : null;
    this.sum = line("sum", "sum");
    const lines = [this.query, ...this.keys, this.rest, this.sum].filter(Boolean);
    this.stage.replaceChildren(this.query.element, this.head, ...lines.slice(1).map((one) => one.element));
  }

  draw(frame, theme) {
    const { phase, row } = frame;
    const at = this.frames.indexOf(frame);
    const order = Object.keys(HEADINGS).indexOf(phase);
    const isMixing = order >= 5;
    this.theme = theme;
    const [strips, numbers] = HEADINGS[phase];
    const bold = (text) => make("em", {}, text);
    this.head.replaceChildren(bold("token"), bold(strips), bold(""), bold(numbers));
    this.fill(this.query, this.arrays.q.data, "query", order < 5, "");
    this.query.element.classList.toggle("enc-faint", order >= 4);
    const column = { dots: "dots", scores: "scores", exponentials: "exponentials" }[phase] ?? "weights";
    const largest = Math.max(...this.keys.map((_, k) => Math.abs(this.number(column, k)))) || 1;
    this.keys.forEach((line, k) => {
      const reached = isMixing ? k <= row : phase !== "dots" || k <= row;
      this.drawStrip(line, k, order, reached);
      const value = this.number(column, k);
      const hidden = phase === "start" || (phase === "dots" && !reached);
      const masked = ["scores", "exponentials"].includes(phase) && !this.number("allowed", k);
      this.setNumber(line, hidden ? null : value, masked ? "masked" : null, largest);
      line.element.classList.toggle("enc-now", row === k && row < this.n);
    });
    if (this.rest) this.drawRest(phase, isMixing);
    this.drawSum(phase, row, order);
    this.stage.dataset.at = String(at);
  }

  // The key; its products with the query; its value; the value times the weight.
  drawStrip(line, k, order, reached) {
    if (order < 4) {
      const isProduct = order > 1 || (order === 1 && reached);
      this.fill(line, this.row(isProduct ? "products" : "k", k), isProduct ? "signed" : "key", true);
    } else {
      this.fill(line, this.row(order > 4 && reached ? "weighted" : "values", k), "value", true, "values");
    }
  }

  drawRest(phase, isMixing) {
    const isWeight = isMixing || phase === "weights";
    this.setNumber(this.rest, isWeight ? this.header.restWeight : null, null, 1);
    this.fill(this.rest, this.arrays.rest.data, "value", phase === "end", "values");
  }

  // The last line: the sum of the exponentials, of the weights, of the vectors.
  drawSum(phase, row, order) {
    const { total, component } = this.header;
    const label = this.sum.element.firstChild;
    const isVector = order >= 5;
    const vector = phase === "end" ? this.arrays.z.data : isVector ? this.row("sums", row) : null;
    label.textContent = phase === "end" ? "sum: z" : isVector ? "sum so far" : "sum";
    this.fill(this.sum, vector ?? this.arrays.z.data, "value", isVector, "values");
    const text = phase === "exponentials" ? shown(total) : phase === "weights" ? "1" : "";
    this.sum.number.textContent = isVector ? shown(vector[component]) : text;
    this.sum.bar.style.width = "0";
    this.sum.element.classList.toggle("enc-faint", !isVector && !text);
  }

  setNumber(line, value, words, largest) {
    const isTiny = value !== 0 && Math.abs(value) < TINY;
    line.number.textContent = words ?? (value === null ? "" : isTiny ? "≈ 0" : shown(value));
    const share = value === null || words ? 0 : Math.abs(value) / largest;
    line.bar.style.width = `${(100 * share).toFixed(1)}%`;
    line.bar.classList.toggle("enc-negative", value !== null && value < 0);
  }

  // A vector as a strip of cells. scale: the array whose largest number has the full colour; by default its own.
  fill(line, vector, role, isVisible, scale = null) {
    const { strip } = line;
    const size = [Math.round(strip.clientWidth * devicePixelRatio), Math.round(strip.clientHeight * devicePixelRatio)];
    if (!size[0]) return;
    if (strip.width !== size[0] || strip.height !== size[1]) [strip.width, strip.height] = size;
    const pen = strip.getContext("2d");
    pen.clearRect(0, 0, ...size);
    strip.style.visibility = isVisible ? "visible" : "hidden";
    if (!isVisible) return;
    const top = Math.max(...(scale ? this.arrays[scale].data : vector).map(Math.abs)) || 1;
    const [negative, positive] = this.header.colours[role].map(rgb);
    const step = size[0] / vector.length;
    vector.forEach((value, c) => {
      const share = Math.min(1, Math.abs(value) / top) ** 0.6; // faint numbers stay visible
      pen.fillStyle = `rgb(${(value < 0 ? negative : positive).join(" ")} / ${share})`;
      pen.fillRect(Math.floor(c * step), 0, Math.ceil(step), size[1]);
    });
    if (role === "value") this.frameComponent(pen, step, size[1]);
  }

  // The component whose number is written out.
  frameComponent(pen, step, height) {
    pen.strokeStyle = this.theme.text;
    pen.lineWidth = devicePixelRatio;
    pen.strokeRect(Math.floor(this.header.component * step) + 0.5, 0.5, Math.max(2, Math.ceil(step)) - 1, height - 1);
  }
}
