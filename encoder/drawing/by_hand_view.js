// One encoder layer with numbers that a reader changes: a row for each step, which opens its tables and results.
import { CELLS, CHOICES, LARGEST_INPUT, layerByHand, stepsByHand } from "./by_hand.js";
import { make } from "./drawing.js";
import { formula } from "./formula.js";
import { Drawing } from "./shared.js";

// name -> [what it is called, its name as a formula]
const TABLES = {
  embeddings: ["Embeddings X", "\\text{Embeddings } X"],
  position_rows: ["Positional encoding P", "\\text{Positional encoding } P"],
  w_q: ["W_Q", "\\textcolor{q}{W_Q}"],
  w_k: ["W_K", "\\textcolor{k}{W_K}"],
  w_v: ["W_V", "\\textcolor{v}{W_V}"],
  w_o: ["W_O", "W_O"],
  w_in: ["W_in", "W_{in}"],
  b_in: ["b_in", "b_{in}"],
  w_out: ["W_out", "W_{out}"],
  b_out: ["b_out", "b_{out}"],
  attention_gain: ["Gain of the first norm", "\\text{Gain}"],
  attention_shift: ["Bias of the first norm", "\\text{Bias}"],
  ffn_gain: ["Gain of the second norm", "\\text{Gain}"],
  ffn_shift: ["Bias of the second norm", "\\text{Bias}"],
  eps: ["ε of both norms", "\\varepsilon \\text{ of both norms}"],
};
// The number at a place of nested lists, replaced.
/** @type {(values: any, place: number[], number: number) => any} */
const replaced = (values, [at, ...inside], number) =>
  at === undefined ? number : values.map((one, k) => k === at ? replaced(one, inside, number) : one);
const WORD_ROWS = ["embeddings", "position_rows"];

// The maps above the steps -> the step that computes them.
const STEP_OF = { stream: 0, weight: 3, output: 7 };

// A table whose cells are as opaque in a colour as their number is large. colour: number -> [colour, opacity]; press:
// what a click on a cell does.
function shaded(title, words, headings, values, colour, press) {
  const heading = make("tr", {}, ...headings.map((word) => word ? make("th", { scope: "col" }, word) : make("td", {})));
  const cell = (value, row, column) => {
    const [shade, opacity] = colour(value);
    const ground = `color-mix(in srgb, ${shade} ${Math.round(100 * opacity)}%, transparent)`;
    const number = value.toFixed(2).replace("-", "−");
    const label = `${title}, ${words[row]}, ${headings[column + 1]}: ${number}. Open its step`;
    const button = make("button", { type: "button", "aria-label": label }, number);
    button.addEventListener("click", () => press(row, column));
    return make("td", { style: `background: ${ground}` }, button);
  };
  const cells = (row, at) => row.map((value, column) => cell(value, at, column));
  const rows = values.map((row, at) => make("tr", {}, make("th", { scope: "row" }, words[at]), ...cells(row, at)));
  return make("table", {}, make("caption", {}, title), make("tbody", {}, heading, ...rows));
}

/** @extends {Drawing<ByHandHeader>} */
export class ByHandView extends Drawing {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    super(parent, "The calculation", "enc-hand");
    this.result = make("div", { class: "enc-hand-result" });
    this.bar = make("div", { class: "enc-hand-bar" });
    this.steps = make("div", {});
    this.root.prepend(this.result, this.bar, this.steps);
    this.sent = -Infinity; // the newest event
    this.opened = null; // the numbers of the open steps
    this.cells = CELLS; // whose arithmetic the steps write in full
  }

  /** @param {Block<ByHandHeader>} block */
  read({ header }) {
    if (header.heard < this.sent) return; // a newer change of the reader is on its way
    const before = JSON.stringify([this.inputs, this.problem]);
    const { inputs, usual, notes, problem } = header;
    this.inputs = inputs;
    this.usual = usual;
    this.notes = notes;
    this.problem = problem;
    if (JSON.stringify([inputs, problem]) !== before) this.draw();
  }

  draw() {
    const { activeElement } = document;
    const focused = this.root.contains(activeElement) ? /** @type {HTMLInputElement} */ (activeElement).name : "";
    const button = (name, label, press) => {
      const element = make("button", { type: "button", class: "enc-save", name }, label);
      element.addEventListener("click", press);
      return element;
    };
    this.all = button("all", "", () => this.openAll());
    const reset = button("reset", "Reset all numbers", () => this.change(this.usual, true));
    this.bar.replaceChildren(...Object.keys(CHOICES).map((name) => this.choice(name)), reset, this.all);
    // Tables that do not fit have no results: the steps are then those of the example.
    const steps = this.computed();
    this.opened ??= this.firstOpened(steps);
    this.places = steps.map(
      () => [make("div", { class: "enc-hand-full" }), make("div", { class: "enc-hand-results" })],
    );
    this.steps.replaceChildren(...steps.map((step, at) => this.step(step, at)));
    this.fill(steps);
    this.nameAll();
    /** @type {HTMLElement | null} */
    const field = focused ? this.root.querySelector(`[name="${focused}"]`) : null;
    field?.focus();
  }

  // The first step, and those whose numbers a link has changed.
  firstOpened(steps) {
    const isChanged = (name) => JSON.stringify(this.inputs[name]) !== JSON.stringify(this.usual[name]);
    return new Set(steps.flatMap(({ tables }, at) => at === 0 || tables.flat().some(isChanged) ? [at] : []));
  }

  /** @param {any} step @param {number} at */
  step({ title, text, rules, tables }, at) {
    const [inFull, results] = this.places[at];
    const columns = tables.map((names) => make("div", {}, ...names.map((name) => this.table(name))));
    const sides = make("div", { class: "enc-hand-sides" }, ...columns, results, inFull);
    const row = make("summary", {}, make("h2", {}, title), make("span", {}, ...rules.map(formula)));
    const step = make("details", { class: "enc-hand-step" }, row, make("p", {}, text), sides);
    step.toggleAttribute("open", this.opened.has(at));
    step.addEventListener("toggle", () => {
      this.opened[step.hasAttribute("open") ? "add" : "delete"](at);
      this.nameAll();
    });
    return step;
  }

  computed() {
    return stepsByHand(this.problem ? this.usual : this.inputs, this.notes, this.cells);
  }

  // A click on a cell of a map: its step opens, with the arithmetic of this cell.
  openCell(map, row, column) {
    this.cells = { ...this.cells, [map]: [row, column] };
    this.fill(this.computed());
    const cells = this.result.querySelectorAll(`.enc-hand-${map} button`);
    const perRow = cells.length / this.inputs.words.length;
    /** @type {HTMLElement} */ (cells[row * perRow + column]).focus({ preventScroll: true });
    const step = /** @type {HTMLElement} */ (this.steps.children[STEP_OF[map]]);
    step.toggleAttribute("open", true);
    step.style.scrollMarginTop = `${this.result.offsetHeight + parseFloat(getComputedStyle(this.result).top)}px`;
    step.scrollIntoView({ block: "start" });
  }

  // Opens every step, or closes them where all are open.
  openAll() {
    const isAll = this.opened.size === this.steps.childElementCount;
    for (const step of this.steps.children) step.toggleAttribute("open", !isAll);
  }

  nameAll() {
    this.all.textContent = this.opened.size === this.steps.childElementCount ? "Close all steps" : "Open all steps";
  }

  // The results of every step, whose rules stay the same. The tables stay, and with them the keyboard's place.
  fill(steps) {
    this.result.replaceChildren(...(this.problem ? [] : this.answer()));
    const shown = (items) =>
      this.problem
        ? []
        : items.map((item) =>
          make("div", { class: item.formula ? "enc-hand-math" : "enc-hand-words" }, item.words ?? formula(item.formula))
        );
    steps.forEach(({ inFull, results }, at) => {
      this.places[at][0].replaceChildren(...shown(inFull));
      this.places[at][1].replaceChildren(...shown(results));
    });
  }

  // What the layer gives, in sight while its numbers change: who attends to whom, and the vectors that leave it.
  answer() {
    const { words } = this.inputs;
    const { stream, attention, output } = layerByHand(this.inputs, this.notes);
    const most = attention.map((row) => Math.max(...row));
    const query = most.indexOf(Math.max(...most));
    const key = attention[query].indexOf(most[query]);
    const bold = (word) => make("strong", {}, word);
    const hint = make(
      "span",
      { class: "enc-hand-hint" },
      "Change any number below: this answer follows. A cell opens its step.",
    );
    const share = most[query].toFixed(3);
    const said = make(
      "p",
      {},
      bold(words[query]),
      " attends most to ",
      bold(words[key]),
      ": ",
      bold(share),
      ". ",
      hint,
    );
    const largest = Math.max(...[...stream, ...output].flat().map(Math.abs)) || 1;
    const ofValue = (value) => [value < 0 ? "var(--enc-below)" : "var(--enc-above)", 0.7 * Math.abs(value) / largest];
    const map = (name, title, headings, rows, colour) => {
      const table = shaded(title, words, ["", ...headings], rows, colour, (...place) => this.openCell(name, ...place));
      table.classList.add(`enc-hand-${name}`);
      return table;
    };
    const places = stream[0].map((_, at) => String(at));
    const maps = [
      map("stream", "Vectors X′ (with positions)", places, stream, ofValue),
      map("weight", "Attention A", words, attention, (weight) => ["var(--enc-weight)", weight]),
      map("output", "Output Y", places, output, ofValue),
    ];
    return [said, make("div", { class: "enc-hand-maps" }, ...maps)];
  }

  choice(name) {
    const [label, options] = CHOICES[name];
    const select = make("select", { name });
    options.forEach(([value, title], at) => {
      const option = make("option", { value: String(at) }, title);
      option.selected = value === this.inputs[name];
      select.append(option);
    });
    select.addEventListener("change", () => this.change({ ...this.inputs, [name]: options[select.value][0] }, true));
    return make("label", {}, `${label} `, select);
  }

  // An editable table of a matrix [rows, columns], a vector or one number.
  table(name) {
    const value = this.inputs[name];
    const rows = Array.isArray(value) ? Array.isArray(value[0]) ? value : [value] : [[value]];
    const [title, symbol] = TABLES[name];
    const heading = (row) => WORD_ROWS.includes(name) ? [make("th", { scope: "row" }, this.inputs.words[row])] : [];
    const body = rows.map((cells, row) =>
      make("tr", {}, ...heading(row), ...cells.map((_, column) => make("td", {}, this.cell(name, rows, row, column))))
    );
    // Each field says its row and column. Without words for the rows the table is layout only.
    const kind = WORD_ROWS.includes(name) ? { "aria-label": title } : { role: "presentation" };
    return make(
      "div",
      { class: "enc-hand-table", role: "group", "aria-label": title },
      make("table", kind, make("caption", {}, formula(symbol)), make("tbody", {}, ...body)),
    );
  }

  cell(name, rows, row, column) {
    const place = rows.length > 1 ? `row ${row}, column ${column}` : rows[0].length > 1 ? `number ${column}` : "";
    const value = this.inputs[name];
    const at = !Array.isArray(value) ? [] : Array.isArray(value[0]) ? [row, column] : [column];
    const field = make("input", {
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      name: `${name} ${row} ${column}`,
      "aria-label": `${TABLES[name][0]}${place && `, ${place}`}`,
    });
    field.value = rows[row][column] === null ? "" : String(rows[row][column]);
    field.style.minWidth = `${0.62 * field.value.length + 0.9}em`; // all digits of a long number
    field.addEventListener("change", () => {
      const number = field.value.trim() ? Number(field.value.replace("−", "-").replace(",", ".")) : NaN;
      const least = name === "eps" ? 0 : -LARGEST_INPUT;
      const isGood = number >= least && number <= LARGEST_INPUT;
      field.setAttribute("aria-invalid", String(!isGood));
      this.note.textContent = isGood
        ? ""
        : `${TABLES[name][0]}: “${field.value}” is not a number from ${least.toLocaleString("en")} to ${
          LARGEST_INPUT.toLocaleString("en")
        }. Enter another.`;
      if (!isGood) return;
      this.change({ ...this.inputs, [name]: replaced(this.inputs[name], at, number) });
    });
    return field;
  }

  // hasTables: whether the tables change, too.
  change(inputs, hasTables = false) {
    this.inputs = inputs;
    const changes = Object.entries(inputs).filter(([name, value]) =>
      JSON.stringify(value) !== JSON.stringify(this.usual[name])
    );
    const text = changes.length ? JSON.stringify(Object.fromEntries(changes)) : "";
    if (hasTables) this.draw();
    else if (!this.problem) this.fill(this.computed());
    this.sent = this.send("change", { text });
  }
}
