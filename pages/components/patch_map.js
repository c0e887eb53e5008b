// An image cut into patches, with a colour over each: the weight of the selected patch on it.
import { make, threeDigits } from "../../encoder/drawing/drawing.js";
import { Drawing, everyFrame, readTheme } from "../../encoder/drawing/shared.js";
import { mounted } from "./mounted.js";

const KEYS_HELP = "Arrow keys move over the patches, Enter selects one, Escape clears.";
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const FAINT = 0.35; // opacity of weight 0, as a share of the largest weight's
const SMOOTH = 64; // an image of fewer pixels a side is shown with sharp ones

/** @extends {Drawing<PatchHeader, PatchEvent>} */
class PatchView extends Drawing {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    const canvas = make("canvas", { class: "enc-focus", tabindex: "0", role: "application" });
    canvas.setAttribute("aria-roledescription", "image with attention");
    const legend = make("div", { class: "enc-patches-legend" });
    super(parent, "The image", "enc-patches enc-drawn", canvas, legend);
    this.canvas = canvas;
    this.legend = legend;
    this.focused = null;
    this.hovered = null;
    this.paintSoon = everyFrame(() => this.paint());
    this.listenToSize(this.root, () => this.root.clientWidth !== this.width && this.paintSoon());
    this.listen(canvas, "pointermove", (event) => this.hover(this.patchUnder(event), event));
    this.listen(canvas, "pointerleave", () => this.hover(null));
    this.listen(canvas, "click", (event) => this.select(this.patchUnder(event)));
    this.listenToKeys(canvas);
    for (const name of ["focus", "blur"]) this.listen(canvas, name, () => this.paintSoon());
  }

  /** @param {Block<PatchHeader>} block */
  read({ header, arrays }) {
    this.header = header;
    this.arrays = arrays;
    this.theme = readTheme(this.parent);
    if (!(header.heard < this.sent?.id)) this.sent = null; // an older answer must not undo a newer click
    this.selected = this.sent?.selected ?? header.selected;
    this.rows = arrays.weights.shape[0];
    this.columns = arrays.weights.shape[1];
    this.canvas.setAttribute("aria-label", `${header.alt} ${KEYS_HELP}`);
    this.picture = picture(arrays.image);
    this.fillLegend();
    this.paint();
  }

  paint() {
    if (!this.header || !this.root.isConnected) return;
    this.width = this.root.clientWidth;
    if (!this.width) return;
    const side = Math.min(this.width, this.header.size);
    const longer = Math.max(this.picture.width, this.picture.height);
    this.across = side * this.picture.width / longer;
    this.down = side * this.picture.height / longer;
    const scale = devicePixelRatio;
    Object.assign(this.canvas, { width: Math.round(this.across * scale), height: Math.round(this.down * scale) });
    Object.assign(this.canvas.style, { width: `${this.across}px`, height: `${this.down}px` });
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.imageSmoothingEnabled = this.picture.width >= SMOOTH;
    pen.drawImage(this.picture, 0, 0, this.across, this.down);
    this.arrays.weights.data.forEach((weight, at) => this.shade(pen, at, weight));
    this.lines(pen, 1, "rgb(128 128 128 / 45%)", 1);
    if (this.header.tile) this.paintFrames(pen, this.header.tile);
    if (this.hovered) this.frame(pen, this.hovered, "rgb(255 255 255 / 80%)", 2);
    if (this.selected) {
      this.frame(pen, this.selected, "#000", 5);
      this.frame(pen, this.selected, "#fff", 2.5);
    }
    if (this.focused && this.canvas.matches(":focus-visible")) this.frame(pen, this.focused, this.theme.primary, 3);
  }

  shade(pen, at, weight) {
    if (!Number.isFinite(weight)) return;
    const { top, signed } = this.header;
    const share = top > 0 ? Math.min(1, Math.abs(weight) / top) : 0;
    const colour = 3 * Math.round(signed ? 127.5 * (1 + Math.sign(weight) * share) : 255 * share);
    const faint = signed ? 0 : FAINT;
    const opacity = this.header.opacity * (faint + (1 - faint) * share); // a small weight hides less of the image
    pen.fillStyle = `rgb(${this.arrays.colours.data.slice(colour, colour + 3).join(" ")} / ${opacity})`;
    pen.fillRect(...this.box([Math.floor(at / this.columns), at % this.columns]));
  }

  box([row, column]) {
    const [width, height] = [this.across / this.columns, this.down / this.rows];
    return [column * width, row * height, width, height];
  }

  // After each `step` patches, between rows and between columns.
  lines(pen, step, colour, width) {
    Object.assign(pen, { strokeStyle: colour, lineWidth: width });
    for (let line = step; line < this.columns; line += step) this.line(pen, line * this.across / this.columns, true);
    for (let line = step; line < this.rows; line += step) this.line(pen, line * this.down / this.rows, false);
  }

  // The time steps of a video: a gap between them, and the frames of each.
  paintFrames(pen, tile) {
    this.lines(pen, tile, this.theme.background, 4);
    Object.assign(pen, { font: `${11 * this.theme.scale}px ${this.theme.font}`, textBaseline: "top" });
    for (let row = 0; row < this.rows; row += tile) {
      for (let column = 0; column < this.columns; column += tile) {
        const frames = this.header.names[row * this.columns + column].split(" ")[0];
        const [x, y] = this.box([row, column]);
        pen.fillStyle = "rgb(0 0 0 / 60%)";
        pen.fillRect(x + 3, y + 3, pen.measureText(frames).width + 6, 15 * this.theme.scale);
        pen.fillStyle = "#fff";
        pen.fillText(frames, x + 6, y + 5);
      }
    }
  }

  line(pen, at, isVertical) {
    pen.beginPath();
    pen.moveTo(isVertical ? at : 0, isVertical ? 0 : at);
    pen.lineTo(isVertical ? at : this.across, isVertical ? this.down : at);
    pen.stroke();
  }

  frame(pen, patch, colour, width) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    const [x, y, w, h] = this.box(patch);
    pen.strokeRect(x + 1, y + 1, w - 2, h - 2);
  }

  fillLegend() {
    const scale = make("canvas", { width: "256", height: "1" });
    const pen = scale.getContext("2d");
    const { top, signed } = this.header;
    for (let at = 0; at < 256; at++) {
      const opacity = signed ? Math.abs(at - 127.5) / 127.5 : 1;
      pen.fillStyle = `rgb(${this.arrays.colours.data.slice(3 * at, 3 * at + 3).join(" ")} / ${opacity})`;
      pen.fillRect(at, 0, 1, 1);
    }
    const ends = [signed && top > 0 ? threeDigits(-top) : "0", threeDigits(top)];
    const [low, high] = ends.map((text) => make("span", {}, text));
    this.legend.replaceChildren(make("span", {}, this.header.label), low, scale, high);
  }

  patchUnder(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    if (!(x >= 0 && x < 1 && y >= 0 && y < 1)) return null;
    return [Math.floor(y * this.rows), Math.floor(x * this.columns)];
  }

  nameOf([row, column]) {
    const patch = row * this.columns + column;
    const weight = this.arrays.weights.data[patch];
    return `${this.header.names[patch]}: ${Number.isFinite(weight) ? threeDigits(weight) : "not measured"}`;
  }

  hover(patch, event) {
    if (!patch) this.tip.hide();
    else if (event.pointerType !== "touch") {
      this.tip.element.textContent = this.nameOf(patch);
      this.tip.show(event.clientX, event.clientY);
    }
    if (String(patch) === String(this.hovered)) return;
    this.hovered = patch;
    this.paintSoon();
  }

  select(patch) {
    if (!patch) return;
    this.focused = this.selected = patch; // shown at once; Python's answer follows
    this.paint();
    const id = this.send("patch", { event: "select", row: patch[0], column: patch[1] });
    this.sent = { id, selected: patch };
  }

  key(event) {
    if (event.key in MOVES) {
      const [down, right] = this.focused ? MOVES[event.key] : [0, 0];
      const [row, column] = this.focused ?? this.selected ?? [0, 0];
      const limit = (value, count) => Math.min(count - 1, Math.max(0, value));
      this.focused = [limit(row + down, this.rows), limit(column + right, this.columns)];
      this.aloud.textContent = this.nameOf(this.focused);
      this.paint();
    } else if (this.focused && [" ", "Enter"].includes(event.key)) this.select(this.focused);
    else if (event.key === "Escape") {
      this.focused = this.selected = null;
      this.paint();
      this.send("patch", { event: "clear" });
    } else return false;
    return true;
  }
}

// A canvas with the image's own pixels.
/** @param {WireArray} image */
function picture({ data, shape: [height, width] }) {
  const canvas = make("canvas", { width: String(width), height: String(height) });
  const pen = canvas.getContext("2d");
  const pixels = pen.createImageData(width, height);
  for (let at = 0; at < width * height; at++) {
    pixels.data.set(data.subarray(3 * at, 3 * at + 3), 4 * at);
    pixels.data[4 * at + 3] = 255;
  }
  pen.putImageData(pixels, 0, 0);
  return canvas;
}

export default mounted(PatchView);
