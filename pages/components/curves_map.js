// The attention map of a run on a canvas: queries are rows, keys are columns.
import { penOf } from "./curves_chart.js";
import { fit } from "../../encoder/drawing/shared.js";
import { opacityOf } from "../../encoder/drawing/thumbnails.js";

const TITLE = 18;

// The place of the map on its canvas in units of `unit` pixels: { left, top, side, gap }, gap: room of the labels.
function square(canvas, size, unit) {
  const [width, height] = [canvas.clientWidth / unit, canvas.clientHeight / unit - TITLE];
  const gap = Math.min(width, height) / (size + 1) >= 9 ? 14 : 2;
  const side = Math.max(1, Math.min(width, height) - gap);
  return { left: gap + Math.max(0, (width - side - gap) / 2), top: TITLE + gap, side, gap };
}

// The row and column at a place of the canvas, in pixels, or null.
export function placeInMap(canvas, size, x, y, unit) {
  const { left, top, side } = square(canvas, size, unit);
  const [i, j] = [y / unit - top, x / unit - left].map((along) => Math.floor((along / side) * size));
  return Math.min(i, j) < 0 || Math.max(i, j) >= size ? null : [i, j];
}

// map: T x T weights, or undefined before the first; look: labels, source, title; colours: 256 times red, green, blue.
export function drawMap(canvas, map, look, colours, theme) {
  const drawn = penOf(canvas, theme.scale);
  if (!drawn) return;
  const { pen, width } = drawn;
  const size = look.labels.length;
  const place = square(canvas, size, theme.scale);
  Object.assign(pen, { font: `12px ${theme.font}`, fillStyle: theme.text, textAlign: "center", textBaseline: "top" });
  pen.fillText(fit(pen, look.title, width - 8), place.left + place.side / 2, 2);
  if (!map) return;
  pen.imageSmoothingEnabled = false;
  pen.drawImage(picture(map, size, colours), place.left, place.top, place.side, place.side);
  if (place.gap > 2) labels(pen, look.labels, place, theme);
  if (place.side / size >= 5) frames(pen, look.source, place, size, theme);
}

function picture(map, size, colours) {
  const image = new ImageData(size, size);
  const opacity = opacityOf(colours);
  map.forEach((weight, cell) => {
    const place = Math.max(0, Math.min(255, Math.round(255 * weight)));
    image.data.set([...colours.subarray(3 * place, 3 * place + 3), opacity(place)], 4 * cell);
  });
  const canvas = new OffscreenCanvas(size, size);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

function labels(pen, names, { left, top, side }, theme) {
  const cell = side / names.length;
  Object.assign(pen, { font: `${Math.min(11, Math.max(8, cell - 1))}px ${theme.font}`, fillStyle: theme.muted });
  Object.assign(pen, { textAlign: "center", textBaseline: "middle" });
  names.forEach((name, k) => {
    pen.fillText(fit(pen, name, cell), left + (k + 0.5) * cell, top - 7);
    pen.fillText(fit(pen, name, 14), left - 7, top + (k + 0.5) * cell);
  });
}

// A frame in each row around the token that has its answer: in the colour of text around one in that of the page: any cell
// contrasts with one of them.
function frames(pen, source, { left, top, side }, size, theme) {
  const cell = side / size;
  pen.lineWidth = 1;
  pen.setLineDash([]);
  source.forEach((column, row) => {
    const [x, y] = [left + column * cell, top + row * cell];
    pen.strokeStyle = theme.text;
    pen.strokeRect(x + 0.5, y + 0.5, cell - 1, cell - 1);
    pen.strokeStyle = theme.background;
    pen.strokeRect(x + 1.5, y + 1.5, cell - 3, cell - 3);
  });
}
