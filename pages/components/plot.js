// Shows a Plotly figure and sends its clicks, zooms and keys to Python: `st.plotly_chart` has no clicks on a map.
import { make } from "../../encoder/export/drawing.js";
import { axisKey, labelsOf, mapsOf, namesOf, nest, revive } from "./figure.js";
import { cellText, moveCursor, movePoint, placeCursor, pointsOf } from "./plot_cursor.js";
import { fitLabels, hideCovered, labelAt } from "./plot_labels.js";
import { plotLayout } from "./plot_layout.js";
import { loadPlotly, plotlyConfig } from "./plotly.js";
import { download, Drawing, everyFrame, fileName, mounted, readTheme, stored } from "./shared.js";

const SETTLED_MS = 150; // a zoom or pan ends when the pointer has been still for so long
const MAP_KEYS = "Arrow keys move over the cells, Enter selects, Escape clears, plus and minus zoom, 0 shows all.";
const POINT_KEYS = "Arrow keys move over the points, Enter selects, Escape clears.";

class PlotView extends Drawing {
  constructor(parent) {
    const host = make("div", { class: "enc-focus" });
    const cursorBox = make("div", { class: "enc-cursor", hidden: "" });
    const chip = make("div", { class: "enc-chip", "aria-hidden": "true", hidden: "" });
    super(parent, "This chart", "enc-plot", host, cursorBox, chip);
    Object.assign(this, { host, cursorBox, chip });
    this.arrays = {};
    this.cursor = null; // { map, row, column }: the cell that the arrow keys are on
    this.point = null; // { trace, point, x, y }: the point that they are on, in a figure without maps
    this.known = null; // the zoom window that Python knows
    this.opened = null; // { id, layer, head }: opened in the grid, and not yet answered by Python
    this.listenToSize(this.root, everyFrame(() => this.root.clientWidth !== this.width && this.draw()));
    this.listenToKeys(host);
    this.listen(host, "blur", () => this.hideMarks());
    this.listen(host, "pointermove", (event) => host.classList.toggle("enc-over-label", labelAt(this, event) !== null));
    this.listen(host, "pointerleave", () => this.hideTip());
    const press = (place) => void (this.pressed = place);
    const first = { capture: true }; // before Plotly
    this.listen(host, "pointerdown", (event) => press([event.clientX, event.clientY]), first);
    this.listen(host, "pointercancel", () => press(null), first); // a finger scrolls the page
    this.listen(host, "click", (event) => this.onLabelClick(event), first);
    this.listen(window, "enc-open", (event) => this.openPrefetched(event.detail));
  }

  get gone() {
    return this.removed.signal.aborted;
  }

  async read({ header, arrays }, component) {
    this.header = header;
    this.known = header.window;
    this.host.style.height = this.host.firstChild ? "" : `${header.height}px`; // the page does not jump when it is drawn
    this.plotly = await loadPlotly(header.plotly);
    if (this.gone || this.component !== component) return;
    this.figure = revive(header.figure, arrays, this.arrays);
    this.arrays = arrays;
    const answersOlderClick = header.prefetched?.heard < this.opened?.id;
    if (!answersOlderClick) this.opened = null;
    this.readFigure();
    this.showPrefetched();
    this.describe();
    await this.draw();
  }

  // ---- Prefetched maps: the grid opens a head whose map is in the browser. ----

  // Draws the map at once. Its heading follows with Python's answer; until then a chip names the head.
  async openPrefetched({ grid, id, layer, head }) {
    if (!this.figure || this.header.prefetched?.grid !== grid) return;
    this.opened = { id, layer, head };
    if (this.showPrefetched()) await this.draw();
  }

  showPrefetched() {
    const { prefetched } = this.header;
    const kept = prefetched && stored.get(prefetched.maps.name);
    const maps = this.opened && kept?.digest === prefetched.maps.digest ? kept.arrays.maps : null;
    const [, heads, rows, columns] = maps?.shape ?? [];
    const fits = maps && this.maps[0]?.rows === rows && this.maps[0].columns === columns;
    this.chip.hidden = !fits;
    if (!fits) return false;
    const { layer, head } = this.opened;
    this.chip.textContent = `L${layer} H${head}`;
    const start = (layer * heads + head) * rows * columns;
    const data = maps.data.subarray(start, start + rows * columns);
    const map = { data, shape: [rows, columns], nested: nest(data, [rows, columns]) };
    this.arrays = { ...this.arrays, "data.0.z": map }; // an answer with the same numbers is not drawn again
    const largest = data.reduce((most, weight) => Math.max(most, weight), 0) || 1;
    const range = prefetched.scaleToMax ? { zmax: largest } : {};
    this.figure.data[0] = { ...this.figure.data[0], z: map.nested, ...range };
    this.readFigure();
    return true;
  }

  // ---- The figure ----

  readFigure() {
    this.maps = mapsOf(this.figure);
    this.labels = labelsOf(this.figure);
    this.names = namesOf(this.figure, this.labels);
    if (this.cursor && !this.maps[this.cursor.map]) this.cursor = null;
  }

  describe() {
    const hasPoints = this.figure.data.some((trace) => /^scatter/.test(trace.type ?? "scatter"));
    const keys = this.maps.length ? MAP_KEYS : hasPoints ? POINT_KEYS : "";
    this.host.setAttribute("role", keys ? "application" : "figure");
    if (keys) this.host.setAttribute("tabindex", "0");
    else this.host.removeAttribute("tabindex"); // no key does anything here
    this.host.setAttribute("aria-label", `${this.header.alt} ${keys}`.trim());
    if (keys) this.host.setAttribute("aria-roledescription", this.maps.length ? "heat map" : "chart");
    else this.host.removeAttribute("aria-roledescription");
  }

  async draw() {
    this.width = this.root.clientWidth;
    if (!this.width || !this.figure || this.gone) return; // in a closed tab or expander: drawn when it gets a width
    this.theme = readTheme(this.parent);
    const layout = plotLayout(this);
    if (!this.isDrawn(layout)) {
      // A new text gets a new plot: Plotly's `react` scales the ranges of a map of square cells by the last map's size.
      const isNew = !this.host.data || layout.uirevision !== this.revision;
      this.revision = layout.uirevision;
      this.host.style.height = "";
      this.config ??= plotlyConfig(this.plotly.Icons, (format) => this.save(format));
      await this.plotly[isNew ? "newPlot" : "react"](this.host, this.traces(), layout, this.config);
      if (this.gone) return;
      if (isNew) this.listenToPlotly();
      await fitLabels(this);
      hideCovered(this);
    }
    placeCursor(this);
    this.settle();
  }

  // Whether the plot shows just this: most answers change another part of the page, and drawing takes 30 ms.
  isDrawn(layout) {
    const withoutArrays = (_, value) => ArrayBuffer.isView(value) ? undefined : value; // arrays are compared by identity
    const { width, height, dragmode } = layout;
    const shown = [this.figure, this.header.selected, width, height, dragmode, this.theme];
    const { arrays, drawn } = this;
    this.drawn = { look: JSON.stringify(shown, withoutArrays), arrays };
    const isSame = Object.keys(arrays).every((name) => arrays[name] === drawn?.arrays[name]);
    return Boolean(this.host.data) && drawn?.look === this.drawn.look && isSame;
  }

  traces() {
    return this.figure.data.map((trace, number) => {
      if (trace.hoverinfo === "skip") return trace;
      if (!this.maps.some((map) => map.number === number)) return this.disambiguate(trace);
      // `onHover` draws a cell's label: Plotly knows only the tokens that have a tick.
      return { ...trace, hovertemplate: undefined, hoverinfo: "none" };
    });
  }

  // Bars and curves over tokens: Plotly names a token by its tick alone.
  disambiguate(trace) {
    const axis = axisKey(trace.xaxis ?? "x");
    const names = this.figure.layout[axis]?.labelalias && this.names[axis];
    if (!names || !trace.x || !String(trace.hovertemplate).includes("%{x}")) return trace;
    const hovertext = Array.from(trace.x, (value) => names.get(Number(value)) ?? String(value));
    return { ...trace, hovertext, hovertemplate: trace.hovertemplate.replace("%{x}", "%{hovertext}") };
  }

  // ---- Pointer and keys ----

  listenToPlotly() {
    const { host } = this;
    host.on("plotly_click", (event) => this.onClick(event));
    host.on("plotly_hover", (event) => this.onHover(event));
    host.on("plotly_unhover", () => this.tip.hide());
    host.on("plotly_doubleclick", () => this.clear());
    host.on("plotly_afterplot", () => hideCovered(this));
    host.on("plotly_relayouting", () => this.hideMarks());
    host.on("plotly_relayout", async (change) => {
      if (!Object.keys(change).some((key) => /^[xy]axis\d*\.(range|autorange)/.test(key))) return;
      await fitLabels(this);
      placeCursor(this);
      this.settle();
    });
  }

  hideMarks() {
    this.cursorBox.hidden = true;
    this.hideTip();
  }

  // Plotly reports a cell once: unless it forgets the cell, the next move inside it would not show the label again.
  hideTip() {
    this.tip.hide();
    if (this.maps?.length && this.host._fullLayout) this.plotly.Fx.unhover(this.host);
  }

  // The number in `maps` of the map that a point of Plotly's belongs to; -1: none.
  mapOf(point) {
    return this.maps.findIndex((map) => map.number === point.curveNumber);
  }

  onHover({ points: [point], event }) {
    const map = this.maps[this.mapOf(point)];
    if (!map || !event?.clientX) return;
    this.tip.element.textContent = cellText(this, map, ...point.pointNumber);
    this.tip.show(event.clientX, event.clientY);
  }

  onClick({ points: [point], event }) {
    if (event?.detail > 1 || !this.pressed) return; // the second click of a double click, or a finger that scrolls
    const shift = Boolean(event?.shiftKey);
    const map = this.mapOf(point);
    if (map < 0) {
      const index = point.pointNumber ?? point.pointIndex ?? 0;
      this.send("click", { axis: "point", trace: point.curveNumber, point: index, x: point.x, y: point.y, shift });
      return;
    }
    this.pressed = null; // a tap can reach Plotly twice, as touch and as mouse
    this.cursor = { map, row: point.pointNumber[0], column: point.pointNumber[1] };
    placeCursor(this);
    this.sendCell(shift);
  }

  onLabelClick(event) {
    if (!this.pressed) return;
    const [x, y] = this.pressed;
    if (Math.hypot(event.clientX - x, event.clientY - y) > 4 || event.detail > 1) return;
    const label = labelAt(this, event);
    if (!label) return;
    const position = label.axis === "x" ? { j: label.position } : { i: label.position };
    this.send("click", { axis: label.axis, ...position, trace: this.maps[0]?.number ?? 0, shift: event.shiftKey });
  }

  key(event) {
    const move = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
    const zoom = { "+": "in", "=": "in", "-": "out", 0: "reset" }[event.key];
    if (!this.host._fullLayout) return false;
    if (event.key === "Escape") this.clear();
    else if (event.key === "Enter" && this.cursor) this.sendCell(event.shiftKey);
    else if (event.key === "Enter" && this.point) {
      this.send("click", { axis: "point", shift: event.shiftKey, ...this.point });
    } else if (move && this.maps.length) moveCursor(this, ...move);
    else if (move && pointsOf(this).length) movePoint(this, ...move);
    else if (zoom && this.maps.length) {
      this.host.querySelector(`.modebar-btn[data-attr="zoom"][data-val="${zoom}"]`)?.click();
    } else return false;
    return true;
  }

  clear() {
    this.cursor = this.point = null;
    placeCursor(this);
    this.tip.hide();
    this.plotly.Fx.unhover(this.host);
    this.send("click", { axis: "clear" });
  }

  // ---- To Python ----

  sendCell(shift) {
    const { number, down, across } = this.maps[this.cursor.map];
    const [i, j] = [down.centres[this.cursor.row], across.centres[this.cursor.column]];
    this.send("click", { axis: "cell", trace: number, shift, i: Math.round(i), j: Math.round(j) });
  }

  // Sends the zoom window after zooming or panning, if it is another one.
  settle() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const now = this.zoomWindow();
      if (this.gone || JSON.stringify(now) === JSON.stringify(this.known)) return;
      this.known = now;
      this.component.setStateValue("relayout", now);
    }, SETTLED_MS);
  }

  // { x: [low, high], y: [low, high] }, or null where all is shown.
  zoomWindow() {
    const map = this.maps[0];
    const [x, y] = [this.rangeOf(map?.x ?? "xaxis"), this.rangeOf(map?.y ?? "yaxis")];
    return !x || !y || (x.isWhole && y.isWhole) ? null : { x: x.range, y: y.range };
  }

  rangeOf(name) {
    const axis = this.host.layout[name];
    const given = this.figure.layout[name]?.range;
    if (!axis?.range || axis.range.some((edge) => typeof edge !== "number")) return null;
    const isAutomatic = axis.autorange && axis.autorange !== "min" && axis.autorange !== "max";
    const isGiven = given?.every((edge, k) => Math.abs(edge - axis.range[k]) < 1e-6 * Math.abs(given[1] - given[0]));
    const range = [...axis.range].sort((a, b) => a - b).map((edge) => Number(edge.toFixed(4)));
    return { isWhole: Boolean(isAutomatic || isGiven), range };
  }

  async save(format) {
    const layout = { ...this.host.layout, paper_bgcolor: this.theme.background };
    const { width, height } = this.host._fullLayout;
    const options = { format, scale: format === "png" ? 2 : 1, width, height };
    const url = await this.plotly.toImage({ data: this.host.data, layout }, options);
    download(`${fileName(this.header.name)}.${format}`, url);
  }

  destroy() {
    clearTimeout(this.timer);
    if (this.host.data) this.plotly.purge(this.host);
    super.destroy();
  }
}

export default mounted(PlotView);
