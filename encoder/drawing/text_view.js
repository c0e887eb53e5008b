// A text whose words are shaded by attention: what the selected words attend to, or which words attend to them.
import {
  arrow,
  ATTENTION,
  blend,
  ink,
  legendStart,
  legendWeight,
  luminance,
  make,
  shadeStrength,
  strongest,
  threeDigits,
} from "./drawing.js";
import { gestures, isTouch, listenToFinger } from "./finger.js";
import { saveButtons } from "./picture.js";
import { Drawing, everyFrame, readTheme, rgb, unitOf } from "./shared.js";
import { saveText } from "./text_picture.js";

const TAPS_ON_WORDS = "Tap a word to select it, long press to add one.";
const KEYS_FOR_WORDS = "Arrow keys move over the words, Enter selects one, Shift with Enter adds one, Escape clears.";
const TEXT_HELP =
  "Point at a word for its number. Click a word to select it, with Shift to add one; or use the arrow keys and Enter. " +
  "Escape clears.";
const TITLES_OF_SHADES = ["mean attention weight", "attention weight"]; // of no source and of one
const ROOM = 300;
const LETTER = 0.55; // width of a letter, in font sizes
const LINE = 2; // height of a line, in font sizes
const STOPS = 16; // colours of the legend's gradient

/** @extends {Drawing<TextHeader, Sent<ShadeEvent>>} */
export class TextView extends Drawing {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    const top = make("div", { class: "enc-text-top" });
    const body = make("div", { class: "enc-text-body enc-focus", tabindex: "0", role: "application" });
    body.setAttribute("aria-roledescription", "text shaded by attention");
    super(parent, "The text", "enc-text", top, body);
    this.top = top;
    this.body = body;
    this.buttons = saveButtons("the text", (kind) => saveText(this, kind));
    this.cursor = null; // the unit that the arrow keys are on
    this.hovered = null;
    this.selected = new Set();
    this.shadeSoon = everyFrame(() => this.shade());
    this.listen(body, "pointermove", (event) => event.pointerType !== "touch" && this.point(event));
    this.listen(body, "pointerleave", () => this.leave());
    this.listen(body, "click", (event) => this.onClick(event));
    listenToFinger(this, body, { hold: (touch) => this.onClick({ ...touch, shiftKey: true }) });
    this.listenToSize(this.root, () => this.header && this.fitFont());
    this.listenToKeys(body);
    this.listen(body, "blur", () => this.leave());
  }

  /** @param {Block<TextHeader>} block */
  read({ header, arrays }) {
    this.header = header;
    this.isTo = header.direction === "to";
    if (!this.isRestyled) Object.assign(this, { values: arrays.values.data, selected: new Set(header.selected) });
    this.means = arrays.means?.data; // the values where nothing is selected
    const [rows, columns] = [arrays.rows.data, arrays.columns.data]; // unit -> place in the map, -1: none
    this.sources = this.isTo ? rows : columns;
    this.targets = this.isTo ? columns : rows;
    this.weights = arrays.weights ?? null;
    this.theme = readTheme(this.parent);
    const { query, key } = this.theme;
    this.root.style.setProperty("--enc-from", this.isTo ? query : key);
    this.hue = rgb(ATTENTION);
    this.ground = rgb(this.theme.background);
    this.textLuminance = luminance(rgb(this.theme.text));
    this.body.setAttribute("aria-label", `${header.alt} ${gestures(TAPS_ON_WORDS, KEYS_FOR_WORDS)}`);
    this.fillBody();
    this.fitFont();
    this.shade();
  }

  // A short text is set larger, so that it fills about ROOM pixels in height.
  fitFont() {
    const width = this.root.clientWidth;
    const length = this.header.paragraphs.flat().reduce((total, [text]) => total + text.length, 0) || 1;
    const [least, most] = width < 500 ? [17, 24] : [19, 30];
    const size = Math.sqrt(width * ROOM / (length * LETTER * LINE));
    this.body.style.setProperty("--enc-text", `${Math.round(Math.max(least, Math.min(most, size)))}px`);
  }

  fillBody() {
    const filled = JSON.stringify([this.header.paragraphs, this.header.special]);
    if (filled !== this.filled) {
      this.filled = filled;
      this.cursor = this.hovered = null;
      this.units = [];
      const paragraphs = this.header.paragraphs.map((pieces) => make("p", { dir: "auto" }, ...this.pieces(pieces)));
      this.body.replaceChildren(...paragraphs);
    }
    this.units.forEach((element, unit) => {
      element.classList.toggle("enc-text-source", this.isSource(unit));
      element.classList.toggle("enc-text-none", this.targets[unit] < 0 && !this.isSource(unit));
    });
  }

  pieces(pieces) {
    return pieces.map(([text, unit]) => {
      if (unit < 0) return document.createTextNode(text);
      const element = make("span", { class: "enc-text-unit", "data-unit": String(unit) }, text);
      if (this.header.special.includes(unit)) {
        element.classList.add("enc-text-special");
        element.setAttribute("dir", "ltr");
      }
      this.units[unit] = element;
      return element;
    });
  }

  // Whether a unit can be selected.
  isSource(unit) {
    return this.sources[unit] >= 0 && !this.isFixed;
  }

  // Whether nobody knows the weights of another selection.
  get isFixed() {
    return this.isAlone && !this.weights;
  }

  // The weight between two units as source and target; NaN where the second is not a target.
  weight(unit, other) {
    const [source, target] = [this.sources[unit], this.targets[other]];
    const [row, column] = this.isTo ? [source, target] : [target, source];
    return target < 0 ? NaN : this.weights.data[row * this.weights.shape[1] + column] / unitOf(this.weights.data);
  }

  // The unit under the pointer or the cursor, whose weights are shown while nothing is selected.
  preview() {
    if (this.selected.size || !this.weights) return null;
    const unit = this.hovered ?? this.cursor;
    return unit !== null && this.isSource(unit) ? unit : null;
  }

  // One number a unit: NaN where it is not a target.
  shown() {
    const unit = this.preview();
    return unit === null ? this.values : Float32Array.from(this.units, (_, other) => this.weight(unit, other));
  }

  // ---- Shading ----

  largest(values) {
    if (!this.header.scaleToMax) return Math.max(1, this.selected.size);
    let most = 0;
    for (const value of values) if (value > most) most = value;
    return most || 1;
  }

  strength(value, top) {
    return shadeStrength(value, top, this.header.log);
  }

  colour(strength) {
    return blend(this.ground, this.hue, strength);
  }

  shade() {
    if (!this.header || !this.root.isConnected) return;
    const values = this.shown();
    const top = this.largest(values);
    this.units.forEach((element, unit) => {
      const strength = this.strength(values[unit], top);
      const colour = this.colour(strength);
      element.style.backgroundColor = strength > 0.005 ? `rgb(${colour})` : "";
      element.style.color = strength > 0.005 ? ink(colour, this.textLuminance) : "";
      element.classList.toggle("enc-selected", this.selected.has(unit));
      element.classList.toggle("enc-at", this.cursor === unit && this.body.matches(":focus-visible"));
    });
    this.fillTop(top);
    if (this.isAlone) this.aloud.textContent = this.sentence(values);
  }

  // What the only source attends to most, or which units attend to it most; without one, how to select it.
  sentence(values) {
    const unit = this.preview() ?? (this.selected.size === 1 ? [...this.selected][0] : null);
    if (unit !== null) return strongest(this.label(unit), this.isTo, values, this.header.labels);
    if (this.isFixed) return "";
    return isTouch() ? TAPS_ON_WORDS : TEXT_HELP;
  }

  title() {
    const sources = this.preview() === null ? this.selected.size : 1;
    return TITLES_OF_SHADES[sources] ?? "attention weights, summed";
  }

  fillTop(top) {
    const stops = Array.from({ length: STOPS + 1 }, (_, k) => {
      const weight = legendWeight(k / STOPS, top, this.header.log);
      return `rgb(${this.colour(this.strength(weight, top))}) ${(100 * k / STOPS).toFixed(1)}%`;
    });
    const bar = make("i", { style: `background: linear-gradient(90deg, ${stops.join(", ")})` });
    const texts = [this.title(), legendStart(top, this.header.log), threeDigits(top)];
    const [title, low, high] = texts.map((text) => make("span", {}, text));
    this.top.replaceChildren(title, low, bar, high, make("em", {}, this.previewTitle()), this.buttons);
  }

  previewTitle() {
    const unit = this.preview();
    if (unit === null) return this.selected.size ? "framed: selected" : "";
    return this.isTo ? `what “${this.label(unit)}” attends to` : `what attends to “${this.label(unit)}”`;
  }

  label(unit) {
    return this.header.labels[unit];
  }

  // ---- Pointer and keys ----

  unitAt(event) {
    const element = event.target.closest?.(".enc-text-unit");
    return element ? Number(element.dataset.unit) : null;
  }

  point(event) {
    const unit = this.unitAt(event);
    if (unit !== this.hovered) {
      this.hovered = unit;
      this.shadeSoon();
    }
    if (unit === null) this.tip.hide();
    else this.showTip(unit, event.clientX, event.clientY);
  }

  leave() {
    this.hovered = null;
    this.tip.hide();
    this.shadeSoon();
  }

  showTip(unit, x, y) {
    this.tip.element.textContent = this.describe(unit);
    this.tip.show(x, y);
  }

  // A unit's weight in words.
  describe(unit) {
    const name = this.label(unit);
    if (this.preview() === unit) {
      const weight = this.weight(unit, unit);
      return Number.isNaN(weight) ? name : `${name} attends to itself: ${threeDigits(weight)}`;
    }
    const value = this.values[unit];
    if (Number.isNaN(value)) return `${name}: not shown as a ${this.isTo ? "key" : "query"}`;
    const selected = [...this.selected].map((other) => this.label(other));
    if (!selected.length) return `${name}: ${threeDigits(value)} on average`;
    const names = selected.length > 3 ? `${selected.length} tokens` : selected.join(" + ");
    return `${this.isTo ? arrow(names, name) : arrow(name, names)}: ${threeDigits(value)}`;
  }

  onClick(event) {
    const unit = this.unitAt(event);
    if (unit !== null) this.select(unit, event.shiftKey);
  }

  // A click selects one unit only or clears it; with Shift it adds or removes one.
  select(unit, shift) {
    if (!this.isSource(unit)) return;
    const before = this.selected.has(unit);
    const remove = before && (shift || this.selected.size === 1);
    if (!shift) this.selected.clear();
    if (remove) this.selected.delete(unit);
    else this.selected.add(unit);
    this.cursor = unit;
    this.sendSelection();
  }

  sendSelection() {
    this.tip.hide();
    const units = [...this.selected].sort((a, b) => a - b);
    if (this.weights && units.length) { // shown at once; Python's answer follows
      const total = (other) => units.reduce((sum, unit) => sum + this.weight(unit, other), 0);
      this.values = Float32Array.from(this.units, (_, other) => total(other));
    } else if (this.means) this.values = this.means;
    this.shade();
    this.send("select", { units });
  }

  key(event) {
    if (event.key === "Escape") {
      this.cursor = null;
      if (!this.isFixed) this.selected.clear();
      this.sendSelection();
    } else if (/^(Arrow|Home$|End$)/.test(event.key)) this.moveCursor(event.key);
    else if (this.cursor !== null && [" ", "Enter"].includes(event.key)) this.select(this.cursor, event.shiftKey);
    else return false;
    return true;
  }

  moveCursor(key) {
    this.cursor = this.nextUnit(key);
    const element = this.units[this.cursor];
    element.scrollIntoView({ block: "nearest" });
    this.shade();
    const box = element.getBoundingClientRect();
    this.showTip(this.cursor, box.right, box.bottom);
    if (!this.isAlone) this.aloud.textContent = this.describe(this.cursor);
  }

  nextUnit(key) {
    const last = this.units.length - 1;
    if (this.cursor === null) return [...this.selected][0] ?? 0;
    if (key === "Home") return 0;
    if (key === "End") return last;
    if (key === "ArrowUp") return this.onNextLine(-1);
    if (key === "ArrowDown") return this.onNextLine(1);
    const isRightToLeft = getComputedStyle(this.units[this.cursor].closest("p")).direction === "rtl";
    const step = (key === "ArrowRight") !== isRightToLeft ? 1 : -1;
    return Math.max(0, Math.min(last, this.cursor + step));
  }

  // The nearest unit on the line below (by = 1) or above (by = -1).
  onNextLine(by) {
    const box = this.units[this.cursor].getBoundingClientRect();
    const middle = (box.left + box.right) / 2;
    let [best, distance] = [this.cursor, Infinity];
    this.units.forEach((element, other) => {
      const there = element.getBoundingClientRect();
      const down = by * (there.top - box.top);
      if (down < box.height / 2) return;
      const far = 10 * down + Math.abs((there.left + there.right) / 2 - middle);
      if (far < distance) [best, distance] = [other, far];
    });
    return best;
  }
}
