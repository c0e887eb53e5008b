// Shows a Plotly figure and sends its clicks, zooms and keys to Python, if Python listens.
import { make } from "../../encoder/drawing/drawing.js";
import { appUrl } from "./address.js";
import { axisKey, colourRange, labelsOf, mapsOf, namesOf, nest, revive } from "./figure.js";
import { gestures } from "../../encoder/drawing/finger.js";
import { moveCursor, movePoint, placeCursor, pointsOf } from "./plot_cursor.js";
import { fadeOut, fadingPicture, showsOther } from "../../encoder/drawing/fade.js";
import { fitLabels, hideCovered } from "./plot_labels.js";
import { barsAreTooLong, fitColourBar, placeModeBar, plotLayout, roomForBars, withType } from "./plot_layout.js";
import { listenToPlotly, listenToPointer } from "./plot_pointer.js";
import { readZoom, settleZoom, showZoom } from "./plot_zoom.js";
import { loadPlotly, plotlyConfig } from "./plotly.js";
import { download, Drawing, everyFrame, fileName, readTheme, stored, unpack } from "../../encoder/drawing/shared.js";
import { mounted } from "./mounted.js";
import { join, leave, shows } from "./together.js";

// What fingers and keys do, where clicks select something and where they do not.
const SELECT = {
  map: gestures(
    "Tap a cell or a token to select it, long press to select several, double tap to clear.",
    "Arrow keys move over the cells, Enter selects, Escape clears, plus and minus zoom, 0 shows all.",
  ),
  points: gestures("Tap a point to select it.", "Arrow keys move over the points, Enter selects, Escape clears."),
};
const READ = {
  map: gestures("Tap a cell for its value.", "Arrow keys move over the cells, plus and minus zoom, 0 shows all."),
  points: gestures("Tap a point for its value.", "Arrow keys move over the points."),
};

/** @extends {Drawing<PlotHeader, Sent<PlotEvent>>} */
export class PlotView extends Drawing {
  /** @type {string} */
  look; // of the layout
  /** @type {any} */
  config; // of Plotly
  /** @type {{ id: number, layer: number, head: number, channel?: string, answer?: any } | null} */
  opened = null; // in the grid, and not yet answered by Python
  /** @type {number | undefined} */
  timer; // until the reader has zoomed
  isZooming = false;
  zoomSent = 0; // the newest zoom
  isBarAbove = false; // the mode bar has a strip of its own
  barWidth = 0; // of the drawing, when that was decided
  /** @type {{ clientX: number, clientY: number, timeStamp: number, byFinger: boolean, isDouble: boolean,
   * label: { axis: string, position: number } | null } | undefined} */
  pressed; // where the pointer went down, and on which label

  /** @param {HTMLElement} parent */
  constructor(parent) {
    /** @type {any} */
    const host = make("div", { class: "enc-focus" }); // Plotly adds its methods and values
    const cursorBox = make("div", { class: "enc-cursor", hidden: "" });
    super(parent, "This chart", "enc-plot", host, cursorBox);
    this.host = host;
    this.cursorBox = cursorBox;
    this.arrays = {};
    this.cursor = null; // { map, row, column }: the cell that the arrow keys are on
    this.point = null; // { trace, point, x, y }: the point that they are on, in a figure without maps
    this.known = null; // the zoom window that Python knows
    this.listenToSize(this.root, everyFrame(() => this.root.clientWidth !== this.width && this.draw()));
    this.listenToKeys(host);
    this.listen(host, "blur", () => this.hideMarks());
    listenToPointer(this);
    this.listen(window, "enc-open", (event) => this.openHead(event.detail));
  }

  get gone() {
    return this.removed.signal.aborted;
  }

  /** @param {Block<PlotHeader>} block @param {Component} component */
  async read({ header, arrays }, component) {
    const isElsewhere = JSON.stringify(header.selected) !== JSON.stringify(this.header?.selected);
    if (isElsewhere && document.activeElement !== this.host) this.cursor = null; // the arrow keys start at the selection
    this.header = header;
    this.root.classList.toggle("enc-fills", header.fill);
    readZoom(this);
    this.host.style.height = this.host.firstChild ? "" : `${header.height}px`; // the page does not jump when it is drawn
    this.plotly = await loadPlotly(header.plotly);
    if (this.gone || this.component !== component) return;
    const answersOlderClick = header.nextHead?.heard < this.opened?.id;
    if (!answersOlderClick) this.opened = null;
    this.take({ figure: header.figure, arrays });
    this.showOpened();
    this.describe();
    const { together } = header;
    if (together) join(this, together);
    try {
      await this.draw();
    } finally {
      if (together) shows(this, together);
    }
  }

  // ---- The next head: the grid opens it, and its map is drawn before Python's answer with its name and list. ----

  async openHead({ grid, id, layer, head }) {
    if (!this.figure || this.header.nextHead?.grid !== grid) return;
    const { channel } = this.header.nextHead;
    /** @type {PlotView["opened"]} */
    const opened = this.opened = { id, layer, head, channel };
    if (channel) opened.answer = await this.ask(`${channel}?layer=${layer}&head=${head}`);
    if (this.opened === opened && this.showOpened()) await this.draw();
  }

  // A figure from the channel; null where the server has none, or serves no channel: the ordinary answer follows.
  async ask(path) {
    try {
      const response = await fetch(appUrl(path), { signal: this.removed.signal });
      if (!response.headers.get("content-type")?.includes("octet-stream")) return null;
      const { header, arrays } = unpack(new Uint8Array(await response.arrayBuffer()));
      return { figure: header.figure, arrays };
    } catch {
      return null;
    }
  }

  // Whether the opened head's map is there. Until Python's heading and answer come, the heading names it by CSS.
  showOpened() {
    const channel = this.opened?.channel;
    const answer = this.opened?.answer;
    const isAnswered = Boolean(answer) && channel === this.header.nextHead?.channel; // and not of the last text
    if (isAnswered) this.take(answer);
    const isThere = isAnswered || Boolean(this.opened) && this.takePrefetched();
    this.name(isThere ? `L${this.opened.layer} H${this.opened.head}` : "");
    return isThere;
  }

  name(opened) {
    /** @type {HTMLElement | null} */
    const place = this.root.closest(`.st-key-${this.header?.nextHead?.named}`);
    place?.toggleAttribute("data-opened", Boolean(opened));
    place?.style.setProperty("--opened", JSON.stringify(opened));
  }

  takePrefetched() {
    const { nextHead } = this.header;
    const kept = nextHead?.maps && stored.get(nextHead.maps.name);
    const maps = kept?.digest === nextHead?.maps?.digest ? kept?.arrays.maps : null;
    const [, heads, rows, columns] = maps?.shape ?? [];
    const fits = maps && this.maps[0]?.rows === rows && this.maps[0].columns === columns;
    if (!fits) return false;
    const { layer, head } = this.opened;
    const start = (layer * heads + head) * rows * columns;
    const data = maps.data.subarray(start, start + rows * columns);
    const map = { data, shape: [rows, columns], nested: nest(data, [rows, columns]) };
    this.arrays = { ...this.arrays, "data.0.z": map }; // an answer with the same numbers is not drawn again
    const { colorbar } = this.figure.data[0];
    const range = colourRange(nextHead, data, columns, colorbar);
    this.figure.data[0] = { ...this.figure.data[0], z: map.nested, ...range };
    this.readFigure();
    return true;
  }

  // ---- The figure ----

  // An unchanged layout stays the same object: Plotly compares arrays by identity, and would draw all axes again.
  take({ figure, arrays }) {
    const [before, look, read] = [this.arrays, JSON.stringify(figure.layout), { ...arrays }];
    const revived = revive(figure, read, before);
    const names = Object.keys(read).filter((name) => name.startsWith("layout."));
    const isSame = look === this.look && names.every((name) => read[name] === before[name]);
    this.figure = isSame ? { ...revived, layout: this.figure.layout } : revived;
    Object.assign(this, { look, arrays: read });
    this.readFigure();
  }

  readFigure() {
    this.maps = mapsOf(this.figure);
    this.labels = labelsOf(this.figure);
    this.names = namesOf(this.figure, this.labels);
    if (this.cursor && !this.maps[this.cursor.map]) this.cursor = null;
  }

  describe() {
    const hasPoints = this.figure.data.some((trace) => /^scatter/.test(trace.type ?? "scatter"));
    const hints = this.header.isHeard ? SELECT : READ;
    let keys = hasPoints ? hints.points : "";
    if (this.maps.length) keys = hints.map;
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
    if (!this.barWidth) placeModeBar(this); // a phone knows its place before the first drawing
    const layout = plotLayout(this);
    if (!this.isDrawn(layout)) {
      // A new text gets a new plot: Plotly's `react` scales the ranges of a map of square cells by the last map's size.
      const isNew = !this.host.data || layout.uirevision !== this.revision;
      this.revision = layout.uirevision;
      this.host.style.height = "";
      this.config ??= plotlyConfig(this.plotly.Icons, this.header.modeBar, (format) => this.save(format));
      const drawn = this.host.querySelector(".svg-container");
      const [before, room] = [showsOther(this) ? fadingPicture(drawn) : null, roomForBars(this)];
      await this.plotly[isNew ? "newPlot" : "react"](this.host, this.traces(room), layout, this.config);
      if (this.gone) return;
      if (barsAreTooLong(this, room)) {
        await this.plotly.react(this.host, this.traces(roomForBars(this)), plotLayout(this), this.config);
      }
      fadeOut(this.root, before);
      if (isNew) listenToPlotly(this);
      await fitLabels(this);
      if (placeModeBar(this)) {
        const again = plotLayout(this);
        await this.plotly.relayout(this.host, { height: again.height });
        this.isDrawn(again);
      }
      hideCovered(this);
    }
    await showZoom(this);
    placeCursor(this);
    settleZoom(this);
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

  // room: pixels for colour bars above the map.
  traces(room) {
    return withType(this.figure.data, this.theme.scale).map((given, number) => {
      const trace = fitColourBar(given, room);
      if (trace.hoverinfo === "skip") return trace;
      if (!this.maps.some((map) => map.number === number)) return this.disambiguate(trace);
      // `onHover` draws a cell's label: Plotly knows only the tokens that have a tick.
      return { ...trace, hovertemplate: undefined, hoverinfo: "none" };
    });
  }

  // Bars and curves over tokens: Plotly names a token by its tick only.
  disambiguate(trace) {
    const axis = axisKey(trace.xaxis ?? "x");
    const names = this.figure.layout[axis]?.labelalias && this.names[axis];
    if (!names || !trace.x || !String(trace.hovertemplate).includes("%{x}")) return trace;
    const hovertext = Array.from(trace.x, (value) => names.get(Number(value)) ?? String(value));
    return { ...trace, hovertext, hovertemplate: trace.hovertemplate.replace("%{x}", "%{hovertext}") };
  }

  // ---- Marks and keys ----

  hideMarks() {
    this.cursorBox.hidden = true;
    this.hideTip();
  }

  // Plotly reports a cell once: unless it forgets the cell, the next move inside it would not show the label again.
  /** @override */
  hideTip() {
    if (!this.tip.isOpen) return;
    this.tip.hide();
    if (this.maps?.length && this.host._fullLayout) this.plotly.Fx.unhover(this.host);
  }

  key(event) {
    /** @type {[number, number] | undefined} */
    const move = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[event.key];
    const zoom = { "+": "in", "=": "in", "-": "out", 0: "reset" }[event.key];
    if (!this.host._fullLayout) return false;
    if (event.key === "Escape") this.clear();
    else if (event.key === "Enter" && this.cursor) this.sendCell(event.shiftKey);
    else if (event.key === "Enter" && this.point) {
      this.send("click", { axis: "point", shift: event.shiftKey, ...this.point });
    } else if (move && this.maps.length) moveCursor(this, ...move);
    else if (move && pointsOf(this).length) movePoint(this, ...move);
    else if (zoom && this.maps.length) this.zoom(zoom);
    else return false;
    return true;
  }

  // way: "in", "out" or "reset", as a button of the mode bar.
  zoom(way) {
    this.host.querySelector(`.modebar-btn[data-attr="zoom"][data-val="${way}"]`)?.click();
  }

  clear() {
    this.cursor = this.point = null;
    placeCursor(this);
    this.tip.hide();
    this.plotly.Fx.unhover(this.host);
    this.send("click", { axis: "clear" });
  }

  // ---- To Python ----

  /** @override @param {string} trigger @param {Sent<PlotEvent>} value @returns {number} */
  send(trigger, value) {
    return this.header.isHeard ? super.send(trigger, value) : 0;
  }

  sendCell(shift) {
    const { number, down, across } = this.maps[this.cursor.map];
    const [i, j] = [down.centres[this.cursor.row], across.centres[this.cursor.column]];
    this.send("click", { axis: "cell", trace: number, shift, i: Math.round(i), j: Math.round(j) });
  }

  async save(format) {
    const layout = { ...this.host.layout, paper_bgcolor: this.theme.background };
    const { width, height } = this.host._fullLayout;
    const options = { format, scale: format === "png" ? 2 : 1, width, height };
    const url = await this.plotly.toImage({ data: this.host.data, layout }, options);
    download(`${fileName(this.header.name)}.${format}`, url);
  }

  /** @override */
  destroy() {
    clearTimeout(this.timer);
    this.name("");
    leave(this);
    if (this.host.data) this.plotly.purge(this.host);
    super.destroy();
  }
}

export default mounted(PlotView);
