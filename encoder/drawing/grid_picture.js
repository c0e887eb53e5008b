// Draws the grid of small maps: on the page's canvas or in a file.
/** @import { GridView } from "./grid_view.js" */
import { luminance, threeDigits } from "./drawing.js";
import { FILE_SCALE, savePicture, SvgPen } from "./picture.js";
import { fit, rgb } from "./shared.js";

const SMALLEST = 14; // pixels of a map on a narrow screen
const LARGEST = 88;
const SMALLEST_SORTED = 44; // pixels of a map in a sorted grid, where its name is above it
const FRAME_ROOM = 3; // pixels to the right of the last map, for its frame
const LABEL_FONT = 11;
const MARK_ROOM = 11; // pixels above a map for its badge; head_grid.py has the same number
const FADED = 0.2; // opacity of a map that a filter leaves out
const LEGEND_WIDTH = 84;

// Sizes in CSS pixels for a width: a table of layers and heads, or for a sorted grid rows filled one after the other.
/** @param {GridView} view */
export function gridLayout(view, width) {
  const { heads, layers, order } = view.header;
  const sorted = Boolean(order);
  const type = view.theme.scale; // of the labels; larger in presentation mode
  const marks = Object.keys(view.header.badges).length ? MARK_ROOM : 0;
  const [gutter, caption, top] = (sorted ? [0, 15 + marks, 0] : [26, marks, 18]).map((pixels) =>
    Math.round(pixels * type)
  );
  const bar = view.arrays.measure ? 6 : 0;
  const room = width - gutter - FRAME_ROOM;
  let columns = heads.length;
  if (sorted) {
    const wanted = Math.max(heads.length, Math.floor(room / (LARGEST + 6)));
    columns = Math.max(1, Math.min(wanted, Math.floor(room / (SMALLEST_SORTED + 4)), view.cells.length));
  }
  const pitch = room / columns;
  const gap = pitch < 30 ? 2 : pitch < 56 ? 4 : 6;
  const size = crisp(view, Math.max(SMALLEST, Math.min(LARGEST, Math.floor(pitch) - gap)));
  const rows = sorted ? Math.ceil(view.cells.length / columns) : layers.length;
  const [stepX, stepY] = [size + gap, size + bar + caption + gap];
  const whole = { width: gutter + columns * stepX + FRAME_ROOM, height: top + rows * stepY + 4 };
  return { sorted, columns, rows, gap, size, bar, caption, gutter, top, stepX, stepY, type, ...whole };
}

// A similar size at which all blocks of a thumbnail have the same width, if there is one.
/** @param {GridView} view */
function crisp(view, size) {
  const side = view.arrays.thumbnails.shape[2];
  const whole = Math.floor(size * devicePixelRatio / side) * side / devicePixelRatio;
  return whole >= 0.8 * size ? whole : size;
}

// [x, y] of the upper left corner of a cell's map.
/** @param {GridView} view */
export function cellCorner(view, layout, k) {
  const [row, column] = layout.sorted ? [Math.floor(k / layout.columns), k % layout.columns] : view.cells[k];
  return [layout.gutter + column * layout.stepX + 2, layout.top + row * layout.stepY + layout.caption + 2];
}

// The cell at a place of the canvas, or null.
/** @param {GridView} view */
export function cellAt(view, layout, x, y) {
  const found = view.cells.findIndex((_, k) => {
    const [left, top] = cellCorner(view, layout, k);
    return x >= left - layout.gap / 2 && x < left + layout.size + layout.gap / 2 &&
      y >= top - layout.caption && y < top + layout.size + layout.bar + layout.gap / 2;
  });
  return found < 0 ? null : found;
}

// marks: what only the page shows: { hovered, focused }, cells or null.
/** @param {GridView} view */
export function drawGrid(view, pen, layout, scale, { hovered = null, focused = null } = {}) {
  const { theme } = view;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, layout.width, layout.height);
  pen.imageSmoothingEnabled = false;
  const { canvas, blocks } = view.thumbnails.atlas(Math.floor(layout.size * scale));
  drawLabels(view, pen, layout);
  view.cells.forEach(([row, column], k) => {
    const [x, y] = cellCorner(view, layout, k);
    const dim = view.isDim(k);
    if (layout.sorted) {
      write(
        view,
        pen,
        view.nameOf(k),
        x + layout.size / 2,
        y - layout.caption + 7 * layout.type,
        "center",
        dim ? theme.muted : theme.text,
      );
    }
    pen.globalAlpha = dim ? FADED : 1;
    // Where weights are shown by their opacity, a map has an edge, and 0 is the page itself.
    pen.fillStyle = theme.border;
    pen.fillRect(x - 0.5, y - 0.5, layout.size + 1, layout.size + 1);
    pen.fillStyle = theme.background;
    pen.fillRect(x, y, layout.size, layout.size);
    pen.drawImage(canvas, column * blocks, row * blocks, blocks, blocks, x, y, layout.size, layout.size);
    if (view.header.divide) drawDivider(pen, view.header.divide, layout.size, x, y);
    if (layout.bar) drawMeasure(view, pen, layout.size, k, x, y + layout.size + 1);
    pen.globalAlpha = dim ? 0.5 : 1; // a badge stays readable
    drawBadge(view, pen, layout, view.badgeOf(k), x, y);
    pen.globalAlpha = 1;
  });
  if (hovered !== null) frame(view, pen, layout, hovered, theme.text, 1.5);
  view.cells.forEach((_, k) => view.pinOf(k) && drawPin(view, pen, layout, k));
  const selected = view.indexOf(view.selected);
  if (selected !== null) frame(view, pen, layout, selected, theme.primary, 3);
  if (focused !== null) frame(view, pen, layout, focused, theme.text, 2, [4, 3]);
}

/** @param {GridView} view */
function drawLabels(view, pen, layout) {
  if (layout.sorted) return;
  const { text, muted } = view.theme;
  const { type } = layout;
  const narrow = layout.stepX < 26 * type; // "H10" has no room above a map: the number only, and one H in the corner
  const every = Math.ceil(14 * type / layout.stepX); // of the numbers
  if (narrow) write(view, pen, "H", layout.gutter - 6, layout.top / 2, "right", muted);
  const middle = layout.size / 2 + 2;
  view.header.heads.forEach((head, column) => {
    if (column % every) return;
    const label = narrow ? String(head) : `H${head}`;
    write(view, pen, label, layout.gutter + column * layout.stepX + middle, layout.top / 2, "center", text);
  });
  drawShared(view, pen, layout);
  view.header.layers.forEach((layer, row) => {
    const y = layout.top + row * layout.stepY + layout.caption + middle;
    write(view, pen, `L${layer}`, layout.gutter - 5, y, "right", text);
  });
}

// A line under the names of heads that share keys and values.
/** @param {GridView} view */
function drawShared(view, pen, layout) {
  const { sharing, heads } = view.header;
  pen.fillStyle = view.theme.key;
  for (let first = 0; sharing && first < heads.length; first += sharing) {
    const width = (Math.min(sharing, heads.length - first) - 1) * layout.stepX + layout.size;
    pen.fillRect(layout.gutter + first * layout.stepX + 2, layout.top - 2, width, 2);
  }
}

/** @param {GridView} view */
function write(view, pen, text, x, y, align, colour, { size = LABEL_FONT, weight = 400 } = {}) {
  pen.font = `${weight} ${size * view.theme.scale}px ${view.theme.font}`;
  pen.textAlign = align;
  pen.textBaseline = "middle";
  pen.fillStyle = colour;
  pen.fillText(text, x, y);
}

// Where the second sentence of a pair begins.
function drawDivider(pen, share, size, x, y) {
  const at = Math.round(share * size);
  pen.fillStyle = "rgba(255,255,255,0.4)";
  pen.fillRect(x + at - 0.5, y, 1, size);
  pen.fillRect(x, y + at - 0.5, size, 1);
}

/** @param {GridView} view */
function drawMeasure(view, pen, size, k, x, y) {
  const value = view.measureOf(k);
  pen.fillStyle = view.theme.faint;
  if (!Number.isFinite(value)) { // an empty bar would say 0
    if (size >= 24 && view.hasBars) {
      write(view, pen, "none", x + size / 2, y + 2, "center", view.theme.muted, { size: 8, weight: 400 });
    }
    return;
  }
  pen.fillRect(x, y, size, 4);
  const [low, high] = view.header.measureRange;
  const share = high > low ? Math.max(0, Math.min(1, (value - low) / (high - low))) : 1;
  pen.fillStyle = measureColour(view.theme, share);
  pen.fillRect(x, y, Math.max(2, share * size), 4);
}

// One hue from pale to strong, different from the colours of the maps.
export function measureColour(theme, share) {
  return theme.dark ? `hsl(36 95% ${38 + 30 * share}%)` : `hsl(26 95% ${66 - 28 * share}%)`;
}

/** @param {GridView} view */
function drawBadge(view, pen, { size, type }, badge, x, y) {
  if (!badge) return;
  const look = { size: 9, weight: 700 };
  pen.font = `${look.weight} ${look.size * type}px ${view.theme.font}`;
  const isSmall = size < 40 * type; // no room for words
  const shown = isSmall ? view.header.badgeMarks?.[badge] ?? "" : fit(pen, badge, size);
  write(view, pen, shown, x + size / 2, y - 6 * type, "center", view.theme.text, look);
}

/** @param {GridView} view */
function drawPin(view, pen, layout, k) {
  const [x, y] = cellCorner(view, layout, k);
  const radius = layout.size < 30 * layout.type ? 4 : 7 * layout.type;
  const [centreX, centreY] = [x + layout.size - radius - 1, y + radius + 1];
  const { primary } = view.theme;
  disc(pen, centreX, centreY, radius, primary);
  if (radius < 6) return;
  const ink = luminance(rgb(primary)) > 0.35 ? "#111" : "#fff";
  write(view, pen, String(view.pinOf(k)), centreX, centreY + 0.5, "center", ink, { size: 10, weight: 700 });
}

// A disc with a white border.
function disc(pen, x, y, radius, colour) {
  for (const [r, fill] of [[radius + 1, "#fff"], [radius, colour]]) {
    pen.fillStyle = fill;
    pen.beginPath();
    pen.arc(x, y, r, 0, 7);
    pen.fill();
  }
}

// Around a map and its bar.
/** @param {GridView} view */
function frame(view, pen, layout, k, colour, width, dash = []) {
  const [x, y] = cellCorner(view, layout, k);
  const box = [x - width / 2, y - width / 2, layout.size + width, layout.size + layout.bar + width];
  pen.strokeStyle = view.theme.background;
  pen.lineWidth = width + 1.5;
  pen.strokeRect(...box);
  pen.setLineDash(dash);
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.strokeRect(...box);
  pen.setLineDash([]);
}

// The grid as a file, with its legend and without the marks of pointer and keyboard; its type is never enlarged.
export function saveGrid(shown, kind) {
  const view = Object.create(shown, { theme: { value: { ...shown.theme, scale: 1 } } });
  const layout = gridLayout(view, Math.max(view.width, 900));
  const top = view.hasBars ? 24 : 0;
  savePicture(kind, view.header.name, layout.width + 4, layout.height + top, view.theme.background, (pen) => {
    const [w, h] = [Math.ceil(layout.width * FILE_SCALE), Math.ceil(layout.height * FILE_SCALE)];
    const grid = kind === "png" ? new OffscreenCanvas(w, h) : new SvgPen(w, h);
    drawGrid(view, grid instanceof SvgPen ? grid : grid.getContext("2d"), layout, FILE_SCALE);
    pen.drawImage(grid, 0, top, w / FILE_SCALE, h / FILE_SCALE);
    if (top) drawMeasureLegend(view, pen);
  });
}

/** @param {GridView} view */
function drawMeasureLegend(view, pen) {
  const [low, high] = view.header.measureRange.map(threeDigits);
  const start = `${view.header.measureLabel} ${low}`.trim();
  write(view, pen, start, 8, 12, "left", view.theme.text, { size: 12 });
  const left = 14 + pen.measureText(start).width;
  for (let x = 0; x < LEGEND_WIDTH; x++) {
    pen.fillStyle = measureColour(view.theme, x / (LEGEND_WIDTH - 1));
    pen.fillRect(left + x, 8, 1, 8);
  }
  write(view, pen, high, left + LEGEND_WIDTH + 6, 12, "left", view.theme.text, { size: 12 });
}
