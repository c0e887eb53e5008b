// Runs that train: loss, accuracy and a head's attention map. While a run is active, the browser asks a channel of its
// own for new numbers and draws them; Python draws the page again when all runs have ended.
import { make } from "../../encoder/drawing/drawing.js";
import { appUrl } from "./address.js";
import { Chart, drawSwatch } from "./curves_chart.js";
import { drawMap, placeInMap } from "./curves_map.js";
import { Drawing, everyFrame, readTheme, unpack } from "../../encoder/drawing/shared.js";
import { mounted } from "./mounted.js";

const [EVERY, REST] = [200, 40]; // milliseconds between two questions, and at least after an answer
const AGAIN = 1000; // until the page runs instead, where the channel does not answer
const PARTS = ["losses", "points", "steps", "maps", "predicted", "rows", "sinks"];
const SINKS = "Attention sinks: the token that each head attends to most";
const SINKS_MEAN = "A sink receives much attention and adds little: its value has a small norm, here divided by the " +
  "mean norm of the other values (below 1: smaller). Place 1 is the largest norm.";
const percent = (share) => `${(100 * share).toFixed(1)}%`;

/** @extends {Drawing<CurvesHeader>} */
class CurvesView extends Drawing {
  /** @type {(RunHeader & { data: Record<string, any[]> })[]} */
  runs = [];
  /** @type {any[]} */
  rows = []; // the elements of each run
  /** @type {number | null} */
  shown = null; // the step of the maps; null: the newest

  /** @param {HTMLElement} parent */
  constructor(parent) {
    const list = make("div", { class: "enc-run-list" });
    const panels = make("div", { class: "enc-panels" });
    const steps = make("div", { class: "enc-steps" });
    const answers = make("div", { class: "enc-answers", tabindex: "0", role: "region", "aria-label": "Answers" });
    const sinks = make("div", { class: "enc-answers", tabindex: "0", role: "region", "aria-label": "Attention sinks" });
    const lab = make("details", { class: "enc-sinks" }, make("summary", {}, SINKS), make("p", {}, SINKS_MEAN), sinks);
    super(parent, "The runs", "enc-curves", list, panels, steps, answers, lab);
    this.list = list;
    this.panels = panels;
    this.steps = steps;
    this.answers = answers;
    this.sinks = sinks;
    this.asked = 0; // questions to the channel so far
    this.askedAt = 0;
    this.drawSoon = everyFrame(() => this.draw());
    this.addCharts();
    this.addSlider();
  }

  addCharts() {
    const charts = [["Loss", "nats, log scale"], ["Accuracy", "held-out"]].map(([title, unit]) => {
      const canvas = make("canvas", { class: "enc-chart", role: "img", "aria-label": title });
      this.panels.append(make("figure", {}, make("figcaption", {}, `${title} `, make("small", {}, unit)), canvas));
      const chart = new Chart(canvas, title === "Loss");
      this.listen(canvas, "pointermove", (event) => this.showStep(chart, event));
      this.listen(canvas, "pointerleave", () => this.hideTip());
      this.listen(canvas, "click", (event) => this.select(chart.stepAt(event.offsetX)));
      this.listenToSize(canvas, this.drawSoon);
      return chart;
    });
    this.charts = charts;
    this.mapTitle = make("figcaption", {});
    this.maps = make("div", { class: "enc-maps" });
    this.panels.append(make("figure", {}, this.mapTitle, this.maps));
    this.listenToSize(this.maps, this.drawSoon);
  }

  addSlider() {
    this.slider = make("input", { type: "range", min: "0", max: "0", value: "0", "aria-label": "Step of the maps" });
    this.said = make("output", {});
    this.steps.append("Step", this.slider, this.said);
    this.listen(this.slider, "input", () => {
      const place = Number(this.slider.value);
      this.shown = place === this.allSteps.length - 1 ? null : this.allSteps[place];
      this.drawSoon();
    });
  }

  // ---- Numbers ----

  // A message of Python: all numbers.
  /** @param {Block<CurvesHeader>} block */
  read({ header, arrays }) {
    this.asked += 1; // an answer that is on its way is older
    clearTimeout(this.timer);
    if (this.header?.channel !== header.channel) this.shown = null;
    this.header = header;
    this.colours = arrays.colours.data;
    const before = this.runs.map((run) => run.name).join("\n");
    this.runs = header.runs.map((run) => ({ ...run, data: Object.fromEntries(PARTS.map((name) => [name, []])) }));
    this.take(arrays);
    if (before !== this.runs.map((run) => run.name).join("\n") || !this.rows.length) this.layOut();
    this.charts.forEach(({ canvas }, k) =>
      canvas.setAttribute("aria-label", `${header.alt} ${["Loss", "Accuracy"][k]}.`)
    );
    this.drawSoon();
    this.askSoon();
  }

  // Appends new numbers to those of each run.
  take(arrays) {
    this.runs.forEach(({ data }, k) => {
      for (const name of PARTS) {
        const { data: values, shape } = arrays[`${k}.${name}`];
        const size = shape.slice(1).reduce((product, length) => product * length, 1);
        for (let row = 0; row < shape[0]; row++) {
          data[name].push(shape.length > 1 ? values.subarray(row * size, (row + 1) * size) : values[row]);
        }
      }
    });
    this.allSteps = [...new Set(this.runs.flatMap(({ data }) => data.steps))].sort((a, b) => a - b);
  }

  get active() {
    return this.runs.some((run) => run.active);
  }

  askSoon() {
    clearTimeout(this.timer);
    if (!this.active || !this.header.channel) return;
    this.timer = setTimeout(() => this.ask(), Math.max(REST, EVERY - (performance.now() - this.askedAt)));
  }

  async ask() {
    const asked = ++this.asked;
    this.askedAt = performance.now();
    const seen = this.runs.map(({ data }) => [data.losses, data.points, data.steps].map((part) => part.length));
    try {
      const address = appUrl(`${this.header.channel}?${this.header.query}&seen=${seen.join(",")}`);
      const response = await fetch(address, { signal: this.removed.signal });
      if (!response.ok || !response.headers.get("content-type")?.includes("octet-stream")) throw new Error("no answer");
      const { header, arrays } = unpack(new Uint8Array(await response.arrayBuffer()));
      if (asked !== this.asked) return;
      this.runs.forEach((run, k) => Object.assign(run, header.runs[k]));
      this.take(arrays);
      this.drawSoon();
      if (this.active) this.askSoon();
      else this.send("refresh", {}); // Python offers to continue, open and save
    } catch {
      if (asked !== this.asked || this.removed.signal.aborted) return;
      // Streamlit by itself serves no channel, and a server forgets old runs: the page says so, or sends the numbers.
      this.timer = setTimeout(() => this.send("refresh", {}), AGAIN);
    }
  }

  /** @override */
  restyle() {
    this.drawSoon(); // newer numbers have come since Python's
  }

  /** @override */
  destroy() {
    clearTimeout(this.timer);
    super.destroy();
  }

  // ---- Drawing ----

  // The elements of these runs.
  layOut() {
    this.rows = this.runs.map((run) => {
      const [swatch, status] = [make("canvas", {}), make("span", {})];
      const bar = make("progress", { max: "1", value: "0", "aria-label": run.name });
      return {
        swatch,
        status,
        bar,
        element: make("div", { class: "enc-run", style: `--enc-run: ${run.colour}` }, swatch, status, bar),
      };
    });
    this.list.replaceChildren(...this.rows.map((row) => row.element));
    this.canvases = this.runs.map((run, k) => {
      const canvas = make("canvas", { class: "enc-map", role: "img", "aria-label": `Attention map of ${run.name}` });
      canvas.addEventListener("pointermove", (event) => this.showWeight(k, event));
      canvas.addEventListener("pointerleave", () => this.hideTip());
      return canvas;
    });
    this.maps.style.gridTemplate = `repeat(${this.runs.length > 2 ? 2 : 1}, minmax(0, 1fr)) / repeat(${
      Math.min(2, this.runs.length)
    }, minmax(0, 1fr))`;
    this.maps.replaceChildren(...this.canvases);
  }

  draw() {
    if (!this.header || this.removed.signal.aborted) return;
    const theme = this.theme = readTheme(this.root);
    const step = this.shown ?? this.allSteps.at(-1) ?? 0;
    this.rows.forEach((row, k) => {
      const run = this.runs[k];
      drawSwatch(row.swatch, run, theme);
      row.status.textContent = `${run.name}: ${run.status}`;
      row.bar.value = run.progress;
    });
    const mark = this.shown === null ? null : step;
    const guess = this.header.sample.classes.length;
    for (const chart of this.charts) chart.draw(this.runs, theme, mark, guess);
    this.drawMaps(step, theme);
    this.drawSteps(step);
    this.drawAnswers(step);
    this.drawSinks(step);
  }

  // The place of a run's newest map that is not later than a step.
  place(run, step) {
    return Math.max(0, run.data.steps.findLastIndex((one) => one <= step));
  }

  drawMaps(step, theme) {
    this.runs.forEach((run, k) => {
      const map = run.data.maps[this.place(run, step)];
      drawMap(
        this.canvases[k],
        map,
        { ...this.header.sample, title: run.name, colour: run.colour },
        this.colours,
        theme,
      );
    });
    const framed = this.header.sample.source.length ? "; framed: the answer’s token" : "";
    const key = make("small", {}, `stronger: larger weight${framed}`);
    this.mapTitle.replaceChildren(`Attention ${this.header.head} `, key);
  }

  drawSteps(step) {
    this.slider.max = String(Math.max(0, this.allSteps.length - 1));
    this.slider.disabled = this.allSteps.length < 2;
    this.slider.value = String(Math.max(0, this.allSteps.indexOf(step)));
    this.slider.setAttribute("aria-valuetext", `step ${step}`);
    this.said.textContent = `${step.toLocaleString("en")}${this.shown === null ? ", the newest" : ""}`;
  }

  drawAnswers(step) {
    const { tokens, expected, classes } = this.header.sample;
    /** @type {(title: string, cells: string[], wrong?: (cell: string, at: number) => boolean) => HTMLElement} */
    const row = (title, cells, wrong = () => false) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, title),
        ...cells.map((cell, k) => make("td", wrong(cell, k) ? { class: "enc-wrong" } : {}, cell)),
      );
    const given = this.runs.map((run) => {
      const [place, { predicted, rows }] = [this.place(run, step), run.data];
      const cells = [...(predicted[place] ?? [])].map((one) => classes[one]);
      const right = cells.filter((cell, k) => cell === expected[k]).length;
      const hits = rows[place] >= 0 ? `; largest weight in the frame: ${rows[place]} of ${expected.length} rows` : "";
      return row(`${run.name}: ${right} of ${expected.length} right${hits}`, cells, (cell, k) => cell !== expected[k]);
    });
    const table = make("table", {}, row("Sequence", tokens), row("Right answers", expected), ...given);
    this.answers.replaceChildren(table);
  }

  // For each head of the layer: the token that receives most attention, the norm of what it adds, and the rank of what
  // the head adds (the sink lab).
  drawSinks(step) {
    const [layer, selected] = this.header.place;
    const titles = [
      `Run, head of layer ${layer}`,
      "most attended",
      "attention it receives",
      "norm of its value ÷ mean of the others",
      "place of that norm",
      "rank of the head’s output",
    ];
    const numbersOf = (run) => run.data.sinks[this.place(run, step)] ?? [];
    // Runs recorded before ranks were have none: the table then ends before them.
    const hasRanks = this.runs.some((run) => numbersOf(run).some((one, at) => at % 5 === 4 && Number.isFinite(one)));
    const columns = hasRanks ? titles.length : titles.length - 1;
    const rows = this.runs.flatMap((run) => {
      const numbers = numbersOf(run);
      return Array.from({ length: numbers.length / 5 }, (_, head) => {
        const cells = this.sinkCells(run, numbers.subarray(5 * head, 5 * head + 5)).slice(0, columns - 1);
        const name = make("th", { scope: "row" }, `${run.name}, H${head}`);
        const kind = head === selected ? { class: "enc-selected" } : {};
        return make("tr", kind, name, ...cells.map((cell) => make("td", {}, cell)));
      });
    });
    const header = make("tr", {}, ...titles.slice(0, columns).map((title) => make("th", { scope: "col" }, title)));
    this.sinks.replaceChildren(...(rows.length ? [make("table", {}, header, ...rows)] : []));
  }

  sinkCells({ registers }, [place, share, ratio, among, rank]) {
    const name = place < registers ? `register ${place}` : `position ${place - registers}`;
    const count = this.header.sample.tokens.length + registers;
    const output = Number.isFinite(rank) ? rank.toFixed(1) : "";
    return [name, percent(share), ratio.toPrecision(2), `${among} of ${count}`, output];
  }

  // ---- Pointer ----

  select(step) {
    const nearest = this.allSteps.reduce((a, b) => (Math.abs(b - step) < Math.abs(a - step) ? b : a), 0);
    this.shown = nearest === this.allSteps.at(-1) ? null : nearest;
    this.drawSoon();
  }

  showStep(chart, event) {
    const step = chart.stepAt(event.offsetX);
    const said = this.runs.map((run) => {
      const point = run.data.points.reduce(
        (a, b) => (a && Math.abs(a[0] - step) <= Math.abs(b[0] - step) ? a : b),
        null,
      );
      if (!point) return `${run.name}: no point yet`;
      return `${run.name}, step ${point[0]}: ${
        chart.log ? `held-out loss ${point[1].toPrecision(3)}` : percent(point[2])
      }`;
    });
    this.tip.element.textContent = said.join("\n");
    this.tip.show(event.clientX, event.clientY);
  }

  showWeight(k, event) {
    const run = this.runs[k];
    const size = this.header.sample.labels.length;
    const cell = placeInMap(this.canvases[k], size, event.offsetX, event.offsetY, this.theme.scale);
    const map = run.data.maps[this.place(run, this.shown ?? Infinity)];
    if (!cell || !map) return this.hideTip();
    const [i, j] = cell;
    const { tokens } = this.header.sample;
    const said = `${tokens[i]} (position ${i}) attends to ${tokens[j]} (position ${j})`;
    this.tip.element.textContent = `${said}: ${map[i * size + j].toPrecision(3)}`;
    this.tip.show(event.clientX, event.clientY);
  }
}

export default mounted(CurvesView);
