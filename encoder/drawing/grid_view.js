// All heads of a model as small maps on one canvas: layers down, heads across, or in a sorted order.
import { make, threeDigits } from "./drawing.js";
import { fadeOut, fadingPicture, showsOther } from "./fade.js";
import { gestures, listenToFinger } from "./finger.js";
import { cellAt, cellCorner, drawGrid, gridLayout, measureColour, saveGrid } from "./grid_picture.js";
import { saveButtons } from "./picture.js";
import { listenToPlaceFields } from "./place_fields.js";
import { Drawing, everyFrame, readTheme, sameBytes, stored } from "./shared.js";
import { Thumbnails } from "./thumbnails.js";

const PREVIEW = 176; // pixels of the map in the label under the pointer
const TAPS_HELP = "Tap a head to open it, long press to pin it.";
const KEYS_HELP = "Arrow keys move over the heads, Enter opens one, P pins it, Escape clears.";

/** @extends {Drawing<GridHeader, GridEvent>} */
export class GridView extends Drawing {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    const canvas = make("canvas", { class: "enc-focus", tabindex: "0", role: "application" });
    canvas.setAttribute("aria-roledescription", "grid of attention maps");
    const scroller = make("div", { class: "enc-grid" }, canvas);
    const legend = make("div", { class: "enc-grid-legend" });
    const bar = make("div", { class: "enc-grid-bar" }, legend);
    super(parent, "The grid", "enc-saveable", bar, scroller);
    this.canvas = canvas;
    this.scroller = scroller;
    this.legend = legend;
    bar.append(saveButtons("the grid", (kind) => saveGrid(this, kind)));
    this.makeTip();
    this.root.hidden = true; // until its maps are there
    this.focused = null; // the cell that the arrow keys are on
    this.hovered = null;
    this.paintSoon = everyFrame(() => this.paint());
    this.listenToSize(this.root, () => this.root.clientWidth !== this.width && this.paintSoon());
    this.listen(canvas, "pointermove", (event) => this.hover(this.cellUnder(event), event));
    this.listen(canvas, "pointerleave", () => this.hover(null));
    this.listen(canvas, "click", (event) => this.onClick(event));
    listenToFinger(this, canvas, { hold: (touch) => this.onClick({ ...touch, shiftKey: true }) });
    this.listenToKeys(canvas);
    this.listen(canvas, "focus", () => this.paintSoon());
    this.listen(canvas, "blur", () => {
      this.tip.hide();
      this.paintSoon();
    });
    listenToPlaceFields(this, (head) => this.isReady && this.showNext(head));
    this.listen(window, "enc-stored", () => this.component && this.update(this.component));
  }

  /** @param {Block<GridHeader>} block */
  read({ header, arrays }) {
    // Maps that stay the same come by a `store`, once; a page of its own has them here.
    const maps = header.maps ? stored.get(header.maps.name) : { arrays: {} };
    this.isReady = maps?.digest === header.maps?.digest;
    if (!this.isReady) return; // not there yet: "enc-stored" follows
    this.header = header;
    this.arrays = { ...maps.arrays, ...arrays };
    this.root.hidden = false;
    this.theme = readTheme(this.parent);
    const { thumbnails, colours } = this.arrays;
    const before = this.thumbnails;
    const isSame = before && sameBytes(before.thumbnails.data, thumbnails.data) &&
      sameBytes(before.colours.data, colours.data);
    if (!isSame) this.thumbnails = new Thumbnails(thumbnails, colours);
    const selectedElsewhere = String(header.selected) !== String(this.selected) &&
      document.activeElement !== this.canvas;
    const answersOlderClick = header.heard < this.opened?.id;
    if (!answersOlderClick) this.opened = null;
    this.selected = this.opened?.selected ?? header.selected;
    this.cells = header.order ?? header.layers.flatMap((_, row) => header.heads.map((_, column) => [row, column]));
    if (this.focused >= this.cells.length) this.focused = null;
    if (this.focused !== null && selectedElsewhere) this.focused = this.indexOf(this.selected);
    this.canvas.setAttribute("aria-label", `${header.alt} ${gestures(TAPS_HELP, KEYS_HELP)}`);
    this.fillLegend();
    const picture = showsOther(this) && !isSame ? fadingPicture(this.canvas) : null;
    this.paint();
    fadeOut(this.scroller, picture);
  }

  // ---- What a cell shows ----

  headOf(k) {
    const [row, column] = this.cells[k];
    return { layer: this.header.layers[row], head: this.header.heads[column] };
  }

  nameOf(k) {
    const { layer, head } = this.headOf(k);
    return `L${layer} H${head}`;
  }

  // The cell's number in an array [L, H].
  flatIndex(k) {
    const [row, column] = this.cells[k];
    return row * this.header.heads.length + column;
  }

  // Whether a map has a bar. One grid of two keeps the room of bars that the other one has.
  get hasBars() {
    return Boolean(this.arrays.measure?.data.some(Number.isFinite));
  }

  measureOf(k) {
    return this.arrays.measure ? this.arrays.measure.data[this.flatIndex(k)] : NaN;
  }

  isDim(k) {
    return Boolean(this.arrays.dim?.data[this.flatIndex(k)]);
  }

  badgeOf(k) {
    return this.header.badges[this.nameOf(k).replace(" ", "")] ?? "";
  }

  // The number of a head's pin, from 1; 0 without one.
  pinOf(k) {
    const { layer, head } = this.headOf(k);
    return this.header.pinned.findIndex((pin) => pin[0] === layer && pin[1] === head) + 1;
  }

  // The cell of a head [layer, head], or null.
  indexOf(head) {
    const found = head ? this.cells.findIndex((_, k) => String(Object.values(this.headOf(k))) === String(head)) : -1;
    return found < 0 ? null : found;
  }

  paint() {
    if (!this.header || !this.root.isConnected) return;
    this.width = this.root.clientWidth;
    if (!this.width) return;
    this.layout = gridLayout(this, this.width);
    const { width, height } = this.layout;
    const scale = devicePixelRatio;
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (this.canvas.width !== w || this.canvas.height !== h) Object.assign(this.canvas, { width: w, height: h });
    Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
    // After a click, the selected head's frame is enough; dashes over it are for the keyboard.
    const focused = this.canvas.matches(":focus-visible") ? this.focused : null;
    drawGrid(this, this.canvas.getContext("2d"), this.layout, scale, { hovered: this.hovered, focused });
  }

  fillLegend() {
    this.legend.replaceChildren();
    if (!this.hasBars) return;
    const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => measureColour(this.theme, share)).join(",");
    const scale = make("i", { style: `background: linear-gradient(90deg, ${stops})` });
    const texts = [this.header.measureLabel, ...this.header.measureRange.map(threeDigits)];
    const [label, low, high] = texts.map((text) => make("span", {}, text));
    this.legend.append(label, low, scale, high);
  }

  // ---- The label under the pointer ----

  makeTip() {
    this.previewMap = make("canvas", { width: "1", height: "1" });
    this.tipName = make("strong");
    this.tipText = make("span");
    const words = make("div", {}, this.tipName, this.tipText);
    this.tip.element.append(make("div", { class: "enc-grid-tip" }, this.previewMap, words));
  }

  details(k) {
    const lines = [];
    const number = Number.isFinite(this.measureOf(k)) ? threeDigits(this.measureOf(k)) : "none";
    if (this.hasBars) lines.push(`${this.header.measureLabel || "measure"}: ${number}`);
    const badge = this.badgeOf(k);
    if (badge) lines.push(this.header.badgeTitles?.[badge] ?? badge);
    if (this.pinOf(k)) lines.push(`pinned, ${this.pinOf(k)}`);
    if (this.isDim(k)) lines.push("filtered out");
    const { sharing } = this.header;
    const first = sharing && sharing * Math.floor(this.headOf(k).head / sharing);
    if (sharing) lines.push(`keys and values shared by H${first}–H${first + sharing - 1}`);
    return lines;
  }

  // The label stays next to its map while the pointer moves inside the map.
  showTip(k) {
    const [row, column] = this.cells[k];
    const { canvas, blocks } = this.thumbnails.atlas(PREVIEW);
    Object.assign(this.previewMap, { width: blocks, height: blocks });
    const size = `${Math.min(PREVIEW, Math.max(1, Math.floor(PREVIEW / blocks)) * blocks)}px`;
    Object.assign(this.previewMap.style, { width: size, height: size });
    const [left, top] = [column * blocks, row * blocks];
    this.previewMap.getContext("2d").drawImage(canvas, left, top, blocks, blocks, 0, 0, blocks, blocks);
    this.tipName.textContent = this.nameOf(k);
    this.tipText.textContent = this.details(k).join("\n");
    const [x, y] = cellCorner(this, this.layout, k);
    const at = this.canvas.getBoundingClientRect();
    const { size: side, caption, bar } = this.layout;
    const [start, above] = [at.left + x, at.top + y];
    const box = { left: start, right: start + side, top: above - caption, bottom: above + side + bar };
    const bounds = {
      top: at.top,
      bottom: at.bottom,
      right: Math.min(at.right, this.root.getBoundingClientRect().right),
    };
    if (this.layout.sorted) this.tip.showOutside(box, bounds);
    else this.tip.showBeside(box, bounds);
  }

  hover(k, event) {
    if (k === null) this.tip.hide();
    else if (event.pointerType !== "touch" && (k !== this.hovered || !(this.tip.isOpen || this.isQuiet))) {
      this.showTip(k);
    }
    if (k !== this.hovered) {
      this.hovered = k;
      this.isQuiet = false;
      this.paintSoon();
    }
  }

  // ---- Clicks and keys ----

  cellUnder(event) {
    const box = this.canvas.getBoundingClientRect();
    return cellAt(this, this.layout, event.clientX - box.left, event.clientY - box.top);
  }

  onClick(event) {
    const k = this.cellUnder(event);
    if (k === null) return;
    this.focused = k;
    this.tip.hide(); // it would cover the neighbours of the head that is open now
    this.isQuiet = true;
    this.open(k, event.shiftKey);
  }

  open(k, shift) {
    const head = this.headOf(k);
    const id = this.send("grid", { event: "open", ...head, shift });
    if (shift) return;
    this.showNext(head, id);
    const { leadsTo } = this.header;
    if (leadsTo) document.querySelector(`.st-key-${leadsTo}`)?.scrollIntoView({ block: "nearest" });
  }

  // Shown at once; Python's answer follows. id: of the event, which the answer will name; else any answer ends it.
  showNext({ layer, head }, id) {
    const { layers, heads, name } = this.header;
    const isOther = String([layer, head]) !== String(this.selected);
    if (!isOther || !layers.includes(layer) || !heads.includes(head)) return;
    this.selected = [layer, head];
    this.opened = { id, selected: this.selected };
    if (this.focused !== null && document.activeElement !== this.canvas) this.focused = this.indexOf(this.selected);
    this.paint();
    window.dispatchEvent(new CustomEvent("enc-open", { detail: { grid: name, id, layer, head } }));
  }

  key(event) {
    const columns = this.layout?.columns ?? 1;
    const row = { ArrowUp: -columns, ArrowDown: columns };
    const moves = { ...row, ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    const k = this.focused;
    if (event.key in moves) this.moveFocus(moves[event.key]);
    else if (event.key === "Escape") {
      this.focused = null;
      this.tip.hide();
      this.paint();
      this.send("grid", { event: "clear" });
    } else if (k !== null && [" ", "Enter"].includes(event.key)) this.open(k, event.shiftKey);
    else if (k !== null && event.key.toLowerCase() === "p") this.send("grid", { event: "pin", ...this.headOf(k) });
    else return false;
    return true;
  }

  // The first key only shows where the focus is: on the selected head.
  moveFocus(by) {
    const last = this.cells.length - 1;
    if (this.focused === null) this.focused = this.indexOf(this.selected) ?? 0;
    else if (Math.abs(by) === Infinity) this.focused = by < 0 ? 0 : last;
    else if (this.focused + by >= 0 && this.focused + by <= last) this.focused += by;
    this.paint();
    const [x, y] = cellCorner(this, this.layout, this.focused);
    this.scrollTo(this.canvas.getBoundingClientRect().top + y, x);
    this.showTip(this.focused);
    const name = this.nameOf(this.focused).replace("L", "layer ").replace("H", "head ");
    this.aloud.textContent = [name, ...this.details(this.focused)].join(", ");
  }

  // Scrolls the page and the grid until a cell is in view. top: in the window; left: in the canvas.
  scrollTo(top, left) {
    const { size } = this.layout;
    const { scrollLeft, clientWidth } = this.scroller;
    if (left < scrollLeft || left + size > scrollLeft + clientWidth) this.scroller.scrollLeft = left - 40;
    if (top >= 60 && top + size <= innerHeight) return;
    const place = `top:${top - this.root.getBoundingClientRect().top}px`;
    const anchor = make("div", { style: `position:absolute; width:1px; height:${size}px; ${place}` });
    this.root.append(anchor);
    anchor.scrollIntoView({ block: "center" });
    anchor.remove();
  }
}
