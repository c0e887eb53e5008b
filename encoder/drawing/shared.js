// What all drawings share, in the app and in a page of their own.
import { luminance, make } from "./drawing.js";
import { isPrinting, PRINTING } from "./printing.js";

const ARRAY_TYPES = [Float32Array, Float64Array, Uint8Array, Uint16Array, Int32Array];
const TYPE_OF = Object.fromEntries(ARRAY_TYPES.map((type) => [type.name.replace("Array", "").toLowerCase(), type]));

// The header and the arrays of a block written by encoder/drawing/wire.py. The arrays are views into the block, not copies.
/** @param {Uint8Array<ArrayBuffer>} bytes @returns {Block<any>} */
export function unpack(bytes) {
  // Streamlit passes a part of a larger message, which may start anywhere; typed arrays need an aligned start.
  const block = bytes.byteOffset % 8 ? bytes.slice() : bytes;
  const length = new DataView(block.buffer, block.byteOffset).getUint32(0, true);
  const { arrays: table, ...header } = JSON.parse(new TextDecoder().decode(block.subarray(4, 4 + length)));
  const start = block.byteOffset + 4 + length;
  /** @type {Arrays} */
  const arrays = {};
  for (const [name, { dtype, shape, offset }] of Object.entries(table)) {
    const count = shape.reduce((product, size) => product * size, 1);
    const data = new TYPE_OF[dtype](block.buffer, start + offset, count);
    arrays[name] = { data: /** @type {Numbers} */ (data), shape };
  }
  return { header, arrays };
}

// The number that means 1 in an array of weights.
export const unitOf = (weights) => ({ Uint8Array: 255, Uint16Array: 65535 })[weights.constructor.name] ?? 1;

export function sameBytes(a, b) {
  if (!a || !b || a.byteLength !== b.byteLength) return false;
  const x = new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
  const y = new Uint8Array(b.buffer, b.byteOffset, b.byteLength);
  for (let k = 0; k < x.length; k++) if (x[k] !== y[k]) return false;
  return true;
}

const COLOURS = {
  background: ["background-color", "#ffffff"],
  text: ["text-color", "#31333f"],
  border: ["border-color", "#d5d6db"],
  faint: ["border-color-light", "#e6e7eb"],
  primary: ["primary-color", "#ff4b4b"],
  muted: ["gray-text-color", "#6b6f7a"],
  query: ["blue-color", "#1f63c4"],
  key: ["red-color", "#c9303f"],
  font: ["font", "sans-serif"],
};

// The theme at an element: Streamlit sets these CSS variables around every component, page.css for a page of its own.
/** @param {Element} element @returns {Theme} */
export function readTheme(element) {
  const style = getComputedStyle(element);
  /** @param {string[]} place */
  const read = ([name, otherwise]) => style.getPropertyValue(`--st-${name}`).trim() || otherwise;
  const theme =
    /** @type {any} */ (Object.fromEntries(Object.entries(COLOURS).map(([name, place]) => [name, read(place)])));
  const scale = Number(style.getPropertyValue("--enc-type")) || 1; // of type; larger in presentation mode
  const isStage = style.getPropertyValue("--enc-stage").trim() === "1";
  const textAbove = Number(style.getPropertyValue("--enc-stage-text")) || 0;
  const tall = Number(style.getPropertyValue("--enc-tall")) || 0;
  return { ...theme, scale, isStage, textAbove, tall, dark: luminance(rgb(theme.background)) < 0.4 };
}

// A CSS colour as [red, green, blue, opacity], 0 to 255.
/** @param {string} colour @returns {Colour} */
export function rgba(colour) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data];
}

export const rgb = (colour) => rgba(colour).slice(0, 3);

export function download(name, url) {
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

// The text, cut to a width.
export function fit(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  const letters = [...text];
  while (letters.length > 1 && pen.measureText(`${letters.join("")}…`).width > width) letters.pop();
  return `${letters.join("")}…`;
}

export const fileName = (name) => name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-+|-+$/g, "") || "picture";

// Arrays that a `store` has brought, by its name: { digest, arrays }. For all components of the page.
export const stored = (globalThis.__encoderscopeStored ??= new Map());

// A number that no other event of this page has: Python recognises by it an event that it has handled.
let lastEvent = 0;
export const eventId = () => (lastEvent = Math.max(lastEvent + 1, Date.now()));

// Milliseconds for which an event is sent again with the next ones, and how many are.
const RESENT = 5000;
const MOST_RESENT = 4;

const STILL = 4; // pixels: a pressed pointer that moves farther drags

// Calls at most once a frame; at once while the page is printed.
export function everyFrame(action) {
  let frame = 0;
  const run = () => {
    frame = 0;
    action();
  };
  return () => isPrinting() ? action() : void (frame ||= requestAnimationFrame(run));
}

// A label that follows the pointer and stays inside the window. It is in the browser's top layer, so no element cuts it.
class Tip {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.element = make("div", { class: "enc-tip", popover: "manual", role: "presentation" });
    parent.append(this.element);
  }

  get isOpen() {
    return this.element.matches(":popover-open");
  }

  // Next to the point (x, y) of the window, on whichever side has room.
  show(x, y, gap = 14) {
    const tip = this.element;
    if (!this.isOpen) tip.showPopover();
    const { width, height } = tip.getBoundingClientRect();
    const [right, bottom] = [document.documentElement.clientWidth - 4, document.documentElement.clientHeight - 4];
    const left = x + gap + width <= right ? x + gap : x - gap - width;
    const top = y + gap + height <= bottom ? y + gap : y - gap - height;
    tip.style.left = `${Math.max(4, Math.min(left, right - width))}px`;
    tip.style.top = `${Math.max(4, Math.min(top, bottom - height))}px`;
  }

  // Next to a box of the window, where possible inside the bounds, so that it covers neither the box nor what is next to
  // the bounds.
  showBeside(box, bounds, gap = 8) {
    const tip = this.element;
    if (!this.isOpen) tip.showPopover();
    const { width, height } = tip.getBoundingClientRect();
    const [right, bottom] = [document.documentElement.clientWidth - 4, document.documentElement.clientHeight - 4];
    const places = [[box.right + gap, Math.min(bounds.right, right)], [box.left - gap - width, right]];
    const [left] = places.find(([start, end]) => start >= 4 && start + width <= end) ?? [null];
    if (left === null) return this.show(box.right, box.bottom, gap);
    tip.style.left = `${left}px`;
    tip.style.top = `${Math.max(4, Math.min(box.top, bottom - height))}px`;
  }

  // Below or above the bounds and in line with the box, where the window has room, so that it covers nothing of a list.
  showOutside(box, bounds, gap = 8) {
    const tip = this.element;
    if (!this.isOpen) tip.showPopover();
    const { width, height } = tip.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    const tops = [bounds.bottom + gap, bounds.top - gap - height];
    const top = tops.find((one) => one >= 4 && one + height <= clientHeight - 4);
    if (top === undefined) return this.showBeside(box, bounds, gap);
    tip.style.left = `${Math.max(4, Math.min(box.left, clientWidth - 4 - width))}px`;
    tip.style.top = `${top}px`;
  }

  hide() {
    if (this.isOpen) this.element.hidePopover();
  }
}

// What all drawings have: an element, a label under the pointer, words for a screen reader, and a note for errors.
// A drawing defines `read({ header, arrays })`, and `key(event)`, which returns whether it uses a key.
/** @template [Header=any] @template {object} [Sent=any] what it sends */
export class Drawing {
  /** @type {Component} */
  component;
  /** @type {Header} */
  header;
  /** @type {Theme} */
  theme;
  isRestyled = false; // the last update had the data of the one before
  /** @type {boolean | undefined} */
  isReady; // false while something that it draws has not come yet
  /** @type {[Component, boolean] | null} an update that waits for the end of a click */
  waiting = null;
  /** @type {Record<string, { id: number }[]>} */
  events = {}; // the newest of each name

  /** @param {HTMLElement} parent @param {string} subject @param {string} style @param {Node[]} children */
  constructor(parent, subject, style, ...children) {
    this.parent = parent;
    this.errorSubject = subject;
    this.aloud = make("div", { class: "enc-aloud", "aria-live": "polite" });
    this.note = make("div", { class: "enc-note", role: "status" });
    const type = make("i", { class: "enc-type", "aria-hidden": "true" }); // as wide as the page's type is large
    this.root = make("div", { class: `enc-root ${style}` }, ...children, this.aloud, this.note, type);
    this.tip = new Tip(this.root);
    this.removed = new AbortController();
    parent.append(this.root);
    this.listenToSize(type, () => this.theme && this.theme.scale !== readTheme(parent).scale && this.restyle());
    this.listen(window, "scroll", () => this.hideTip(), { capture: true, passive: true });
    this.listenToPress();
  }

  // A click needs the same element under press and release: an update waits for the release, or until a drag begins.
  listenToPress() {
    /** @type {[number, number] | null} */
    this.press = null; // [x, y] of the window
    this.listen(this.root, "pointerdown", ({ x, y }) => void (this.press = [x, y]), { capture: true });
    this.listen(window, "pointermove", ({ x, y }) => {
      if (this.press && Math.hypot(x - this.press[0], y - this.press[1]) > STILL) this.release();
    }, { capture: true });
    for (const end of ["pointerup", "pointercancel"]) this.listen(window, end, () => this.release(), { capture: true });
  }

  release() {
    this.press = null;
    if (this.waiting) setTimeout(() => this.waiting && this.update(...this.waiting)); // the click comes first
  }

  hideTip() {
    this.tip.hide();
  }

  // An event listener that ends with the drawing.
  /** @type {(target: EventTarget, event: string, action: (event: any) => void, options?: AddEventListenerOptions) => void} */
  listen(target, event, action, options = {}) {
    target.addEventListener(event, action, { ...options, signal: this.removed.signal });
  }

  // Calls `action` when the element gets another size, until the drawing ends.
  listenToSize(element, action) {
    const observer = new ResizeObserver(action);
    observer.observe(element);
    this.removed.signal.addEventListener("abort", () => observer.disconnect());
    this.listen(window, PRINTING, () => action());
  }

  // Another theme, or presentation mode was entered or left: what the reader chose in the same data stays.
  restyle() {
    if (!this.waiting) this.update(this.component, true);
  }

  // An element that takes the keyboard: keys that the drawing uses go no further.
  /** @param {Element} element */
  listenToKeys(element) {
    this.listen(element, "keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !/** @type {any} */ (this).key(event)) return;
      event.preventDefault();
      event.stopPropagation();
    });
  }

  /** @param {Component} component @param {boolean} isRestyled */
  async update(component, isRestyled = false) {
    this.waiting = this.press ? [component, isRestyled] : null;
    if (this.waiting || this.removed.signal.aborted) return;
    this.component = component;
    this.isRestyled = isRestyled;
    try {
      await /** @type {any} */ (this).read(unpack(component.data), component);
      this.root.classList.toggle("enc-drawn", this.isReady !== false);
      this.note.textContent = "";
    } catch (error) {
      this.root.classList.add("enc-drawn");
      this.note.textContent = `${this.errorSubject} could not be drawn: ${/** @type {Error} */ (error).message}`;
    }
  }

  // Whether this is a page of its own, where nobody answers an event.
  get isAlone() {
    return !this.component.setStateValue;
  }

  // Sends an event to the host and returns its number. Streamlit forgets a trigger if another message follows before its
  // run begins. It sends the state with every message, so the state has the newest events; Python takes each once.
  /** @param {string} name @param {Sent} value */
  send(name, value) {
    const id = eventId();
    const earlier = (this.events[name] ?? []).filter((event) => event.id > id - RESENT);
    this.events = {
      ...this.events,
      [name]: [...earlier, { .../** @type {object} */ (value), id }].slice(-MOST_RESENT),
    };
    this.component.setStateValue?.(name, this.events[name]);
    this.component.answer?.(name, value);
    return id;
  }

  destroy() {
    this.removed.abort();
    this.root.remove();
  }
}
