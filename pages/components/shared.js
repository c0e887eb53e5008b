// What the drawing components share. Python puts this text in front of each component's own script, as one module.

const ARRAY_TYPES = {
  float32: Float32Array, float64: Float64Array, uint8: Uint8Array, uint16: Uint16Array, int32: Int32Array,
};

// The header and the arrays of a block written by wire.py. The arrays are views into the block, not copies.
function unpack(bytes) {
  // Streamlit hands over a window into a larger message, which starts anywhere; typed arrays need an aligned start.
  const block = bytes.byteOffset % 8 ? bytes.slice() : bytes;
  const length = new DataView(block.buffer, block.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(block.subarray(4, 4 + length)));
  const start = block.byteOffset + 4 + length;
  const arrays = {};
  for (const [name, entry] of Object.entries(header.arrays)) {
    const count = entry.shape.reduce((product, size) => product * size, 1);
    arrays[name] = { data: new ARRAY_TYPES[entry.dtype](block.buffer, start + entry.offset, count), shape: entry.shape };
  }
  delete header.arrays;
  return { header, arrays };
}

function sameBytes(a, b) {
  if (!a || !b || a.byteLength !== b.byteLength) return false;
  const x = new Uint8Array(a.buffer, a.byteOffset, a.byteLength);
  const y = new Uint8Array(b.buffer, b.byteOffset, b.byteLength);
  for (let k = 0; k < x.length; k++) if (x[k] !== y[k]) return false;
  return true;
}

// Streamlit's theme at an element, from the CSS variables that it sets around every component.
function readTheme(element) {
  const style = getComputedStyle(element);
  const read = (name, fallback) => style.getPropertyValue(`--st-${name}`).trim() || fallback;
  const background = read("background-color", "#ffffff");
  const theme = {
    background,
    secondary: read("secondary-background-color", "#f0f2f6"),
    text: read("text-color", "#31333f"),
    border: read("border-color", "#d5d6db"),
    faint: read("border-color-light", "#e6e7eb"),
    primary: read("primary-color", "#ff4b4b"),
    muted: read("gray-text-color", "#6b6f7a"),
    query: read("blue-color", "#1f63c4"),
    key: read("red-color", "#c9303f"),
    font: read("font", "sans-serif"),
    dark: luminance(background) < 0.4,
  };
  return theme;
}

// Relative luminance (WCAG 2) of a CSS colour, 0 black to 1 white.
function luminance(colour) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  const linear = [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

// An element with attributes and children. Text is only ever set as text: tokens are what somebody typed.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function download(name, url) {
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
}

// The text, cut to a width.
function fit(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  const letters = [...text];
  while (letters.length > 1 && pen.measureText(`${letters.join("")}…`).width > width) letters.pop();
  return `${letters.join("")}…`;
}

const fileName = (name) => name.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-+|-+$/g, "") || "picture";

// Arrays that a `store` has brought, by its name: { digest, arrays }. For all components of the page.
const stored = (window.__encoderscopeStored ??= new Map());

// A label that follows the pointer and never leaves the window. It lies in the browser's top layer, so no ancestor cuts it.
class Tip {
  constructor(parent) {
    this.element = make("div", { class: "enc-tip", popover: "manual", role: "presentation" });
    parent.append(this.element);
  }

  // Beside the point (x, y) of the window, on whichever side has room.
  show(x, y, gap = 14) {
    const tip = this.element;
    if (!tip.matches(":popover-open")) tip.showPopover();
    const { width, height } = tip.getBoundingClientRect();
    const [right, bottom] = [document.documentElement.clientWidth - 4, document.documentElement.clientHeight - 4];
    const left = x + gap + width <= right ? x + gap : x - gap - width;
    const top = y + gap + height <= bottom ? y + gap : y - gap - height;
    tip.style.left = `${Math.max(4, Math.min(left, right - width))}px`;
    tip.style.top = `${Math.max(4, Math.min(top, bottom - height))}px`;
  }

  hide() {
    if (this.element.matches(":popover-open")) this.element.hidePopover();
  }
}

// A number that no other event of this page has: Python tells by it whether it has heard of an event.
let lastEvent = 0;
const eventId = () => (lastEvent = Math.max(lastEvent + 1, Date.now()));

// Three digits that count, as everywhere in the app: 0.184, 0.00245, 0.5.
function threeDigits(value) {
  return String(Number(value.toPrecision(3)));
}

// Calls at most once a frame.
function everyFrame(action) {
  let frame = 0;
  const call = () => { frame ||= requestAnimationFrame(() => { frame = 0; action(); }); };
  call.cancel = () => cancelAnimationFrame(frame);
  return call;
}

// Streamlit calls a component's function whenever its data or the theme changes, and the function it returned when the
// element goes away. One object per element lives from the first call to that one.
function mounted(View) {
  const views = new WeakMap();
  return (component) => {
    const parent = component.parentElement;
    if (!views.has(parent)) views.set(parent, new View(parent));
    views.get(parent).update(component);
    return () => {
      views.get(parent)?.destroy();
      views.delete(parent);
    };
  };
}
