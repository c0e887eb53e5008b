// A drawing as a file: PNG from a canvas, SVG from a pen that writes elements.
import { make } from "./drawing.js";
import { download, fileName, rgba } from "./shared.js";

export const FILE_SCALE = 2; // pixels of a PNG for each CSS pixel

// The download buttons of a drawing. what: "the lines"; save: takes "png" or "svg".
export function saveButtons(what, save) {
  const buttons = ["PNG", "SVG"].map((kind) => {
    const button = make("button", { type: "button", class: "enc-save", title: `Download ${what} as ${kind}` }, kind);
    button.addEventListener("click", () => save(kind.toLowerCase()));
    return button;
  });
  return make("div", { class: "enc-saves" }, ...buttons);
}

// Downloads a drawing of this size in CSS pixels on a background colour. draw: takes a pen, of a canvas or SVG.
/** @param {string} kind @param {string} name @param {number} width @param {number} height @param {string} ground @param {(pen: any) => void} draw */
export function savePicture(kind, name, width, height, ground, draw) {
  const [w, h] = [Math.ceil(width), Math.ceil(height)];
  const canvas = kind === "png" && make("canvas", { width: String(w * FILE_SCALE), height: String(h * FILE_SCALE) });
  const svgPen = canvas ? null : new SvgPen(w, h);
  const pen = canvas ? canvas.getContext("2d") : svgPen;
  if (canvas) pen.scale(FILE_SCALE, FILE_SCALE);
  pen.fillStyle = ground;
  pen.fillRect(0, 0, w, h);
  draw(pen);
  if (canvas) canvas.toBlob((blob) => giveFile(blob, name, kind));
  else giveFile(new Blob([svgPen.text()], { type: "image/svg+xml" }), name, kind);
}

// Downloads a file. kind: its suffix.
export function giveFile(blob, name, kind) {
  const url = URL.createObjectURL(blob);
  download(`${fileName(name)}.${kind}`, url);
  URL.revokeObjectURL(url);
}

// The part of a 2D canvas context that the drawing components use. Text stays text and lines stay lines; a canvas is
// embedded as a PNG. Transforms are a scale and a shift, applied to the numbers.
export class SvgPen {
  fillStyle = "#000";
  strokeStyle = "#000";
  globalAlpha = 1;
  lineWidth = 1;
  path = "";
  /** @type {number[]} */
  dash = [];
  font = "10px sans-serif";
  textAlign = "start";
  textBaseline = "alphabetic";
  direction = "ltr";
  imageSmoothingEnabled = true;

  /** @param {number} width @param {number} height */
  constructor(width, height) {
    this.root = this.element("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
    this.ruler = new OffscreenCanvas(1, 1).getContext("2d"); // measures text
    this.colours = new Map();
    this.matrix = [1, 0, 0]; // scale, shift to the right, shift downwards
  }

  text = () => new XMLSerializer().serializeToString(this.root);

  element(tag, attributes) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null) element.setAttribute(name, typeof value === "number" ? String(+value.toFixed(3)) : value);
    }
    return element;
  }

  add = (tag, attributes) => this.root.appendChild(this.element(tag, attributes));

  // ---- Transform ----

  get size() {
    return this.matrix[0];
  }

  x = (value) => value * this.matrix[0] + this.matrix[1];
  y = (value) => value * this.matrix[0] + this.matrix[2];
  translate = (x, y) => void (this.matrix = [this.size, this.x(x), this.y(y)]);
  scale = (by) => void (this.matrix[0] *= by);
  setTransform = (scale, _, __, ___, x, y) => void (this.matrix = [scale, x, y]);
  clearRect = () => {};

  // ---- Paint ----

  // A CSS colour as the attributes of "fill" or "stroke": some drawing programs read neither hsl() nor rgba().
  paint(role, css) {
    if (!this.colours.has(css)) {
      const [r, g, b, a] = rgba(css);
      this.colours.set(css, [`#${[r, g, b].map((part) => part.toString(16).padStart(2, "0")).join("")}`, a / 255]);
    }
    const [colour, opacity] = this.colours.get(css);
    const alpha = opacity * this.globalAlpha;
    return { [role]: colour, [`${role}-opacity`]: alpha === 1 ? null : alpha };
  }

  outline() {
    return {
      fill: "none",
      ...this.paint("stroke", this.strokeStyle),
      "stroke-width": this.lineWidth * this.size,
      "stroke-dasharray": this.dash.length ? this.dash.map((part) => part * this.size).join(" ") : null,
    };
  }

  setLineDash = (dash) => void (this.dash = dash);
  beginPath = () => void (this.path = "");
  moveTo = (x, y) => void (this.path += `M${this.number(this.x(x))} ${this.number(this.y(y))}`);
  lineTo = (x, y) => void (this.path += `L${this.number(this.x(x))} ${this.number(this.y(y))}`);
  number = (value) => +value.toFixed(2);

  // Whole circles only.
  arc(x, y, radius) {
    const r = this.number(radius * this.size);
    const [left, right] = [this.number(this.x(x) - r), this.number(this.x(x) + r)];
    const middle = this.number(this.y(y));
    this.path += `M${left} ${middle}A${r} ${r} 0 1 1 ${right} ${middle}A${r} ${r} 0 1 1 ${left} ${middle}Z`;
  }

  roundRect(x, y, width, height, radius) {
    const sizes = [width, height, Math.min(radius, width / 2, height / 2)];
    const [w, h, r] = sizes.map((part) => this.number(part * this.size));
    this.path +=
      `M${this.number(this.x(x) + r)} ${this.number(this.y(y))}h${w - 2 * r}a${r} ${r} 0 0 1 ${r} ${r}v${h - 2 * r}` +
      `a${r} ${r} 0 0 1 ${-r} ${r}h${2 * r - w}a${r} ${r} 0 0 1 ${-r} ${-r}v${2 * r - h}a${r} ${r} 0 0 1 ${r} ${-r}Z`;
  }

  drawPath = (look) => void (this.path && this.add("path", { d: this.path, ...look }));
  stroke = () => this.drawPath(this.outline());
  fill = () => this.drawPath(this.paint("fill", this.fillStyle));

  box(x, y, width, height) {
    return { x: this.x(x), y: this.y(y), width: width * this.size, height: height * this.size };
  }

  /** @type {(...place: [number, number, number, number]) => void} */
  fillRect = (...place) => void this.add("rect", { ...this.box(...place), ...this.paint("fill", this.fillStyle) });
  /** @type {(...place: [number, number, number, number]) => void} */
  strokeRect = (...place) => void this.add("rect", { ...this.box(...place), ...this.outline() });

  // ---- Text ----

  measureText(text) {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }

  fillText(text, x, y) {
    if (!text) return;
    const rtl = this.direction === "rtl";
    const ends = { left: rtl ? "end" : "start", right: rtl ? "start" : "end", center: "middle" };
    this.ruler.font = this.font; // normalised there: "600 10px Source Sans, sans-serif"
    const { width, fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = this.ruler.measureText(text);
    const [, weight, size, family] = /^(?:.*?(bold|\d{3})\s+)?(?:.*?\s)?([\d.]+)px\s+(.*)$/.exec(this.ruler.font) ?? [];
    const element = this.add("text", {
      x: this.x(x),
      y: this.y(y + (this.textBaseline === "middle" ? (above - below) / 2 : 0)),
      "font-family": family ?? "sans-serif",
      "font-size": Number(size ?? 10) * this.size,
      "font-weight": weight ?? null,
      "text-anchor": ends[this.textAlign] ?? "start",
      // Without this font, another one takes the same width: words stay separate and inside their boxes.
      textLength: width * this.size,
      lengthAdjust: "spacingAndGlyphs",
      direction: rtl ? "rtl" : null,
      ...this.paint("fill", this.fillStyle),
    });
    element.setAttributeNS("http://www.w3.org/XML/1998/namespace", "xml:space", "preserve");
    // A token may have characters that XML cannot hold.
    element.textContent = text.toWellFormed().replace(/[^\P{Cc}\t\n\r]|[\ufffe\uffff]/gu, "");
  }

  // ---- Pictures ----

  // A part of a canvas, or another SvgPen's whole drawing.
  drawImage(source, ...place) {
    if (source instanceof SvgPen) {
      for (const [name, value] of Object.entries(this.box(...place))) source.root.setAttribute(name, String(value));
      this.root.append(source.root);
      return;
    }
    const [sx, sy, sw, sh, ...target] = place.length === 8 ? place : [0, 0, source.width, source.height, ...place];
    const canvas = make("canvas", { width: String(sw), height: String(sh) });
    canvas.getContext("2d").drawImage(source, sx, sy, sw, sh, 0, 0, sw, sh);
    this.add("image", {
      ...this.box(...target),
      href: canvas.toDataURL(),
      preserveAspectRatio: "none",
      opacity: this.globalAlpha === 1 ? null : this.globalAlpha,
      style: this.imageSmoothingEnabled ? null : "image-rendering: pixelated",
    });
  }
}
