// The model's picture as a file for slides: its own SVG, with the look that the page gives it.
/** @import { ModelView } from "./model_view.js" */
import { make, svg } from "./drawing.js";
import { FILE_SCALE, giveFile } from "./picture.js";

const LOOK = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "paint-order",
  "visibility",
];

export async function saveModel(view, kind) {
  const rivers = view.decoder ? [view, view.decoder] : [view];
  const boxes = rivers.map(({ drawing }) => drawing.getBoundingClientRect());
  const [left, top] = ["left", "top"].map((side) => Math.min(...boxes.map((box) => box[side])));
  const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...boxes.map((box) => box[side])));
  const [width, height] = [Math.ceil(right - left), Math.ceil(bottom - top)];
  const whole = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  whole.append(svg("rect", { width, height, fill: view.theme.background }));
  rivers.forEach((river, at) => whole.append(placed(river, boxes[at], left, top)));
  const text = new XMLSerializer().serializeToString(whole);
  const vector = new Blob([text], { type: "image/svg+xml" });
  giveFile(kind === "svg" ? vector : await pixels(vector, width, height), view.header.name, kind);
}

// A copy of one drawing, at its place next to the other.
function placed(river, box, left, top) {
  const drawn = river.drawing.querySelector("svg");
  const copy = drawn.cloneNode(true);
  dress(drawn, copy);
  copy.append(...words(river, drawn.getBoundingClientRect()));
  copy.removeAttribute("aria-hidden");
  const place = { x: box.left - left, y: box.top - top, overflow: "visible" };
  for (const [name, value] of Object.entries(place)) copy.setAttribute(name, String(value));
  return copy;
}

// Writes the computed look of each element into its copy, where it differs from that of its parent.
function dress(element, copy, above = null) {
  const computed = getComputedStyle(element);
  for (const name of LOOK) {
    const value = computed.getPropertyValue(name);
    if (name === "opacity" ? value !== "1" : value !== above?.getPropertyValue(name)) {
      copy.style.setProperty(name, value);
    }
  }
  const kept = [...copy.children];
  [...element.children].forEach((child, at) => dress(child, kept[at], computed));
}

// The buttons of the parts, and the layer's title, as words at their places.
/** @param {ModelView} view */
function words({ chips, powers, theme }, { left, top }) {
  return [...chips.children, ...powers.querySelectorAll("span, button")].map((element) => {
    const box = element.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2 - left, box.top + box.height / 2 - top + 4];
    const look = `font:${getComputedStyle(element).fontSize} ${theme.font}; fill:${theme.text}; text-anchor:middle`;
    return svg("text", { x, y, style: look }, element.textContent);
  });
}

async function pixels(vector, width, height) {
  const url = URL.createObjectURL(vector);
  const image = new Image();
  image.src = url;
  await image.decode();
  const canvas = make("canvas", { width: String(width * FILE_SCALE), height: String(height * FILE_SCALE) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  return new Promise((done) => canvas.toBlob(done));
}
