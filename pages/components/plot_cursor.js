// The arrow keys: over the cells of a map, or over the points of a chart.
/** @import { PlotView } from "./plot.js" */
import { axisKey, formatNumber, indexOf, plainText } from "./figure.js";

// dx, dy: directions on the screen. The first key only shows the cursor, which stays inside the zoom window.
/** @param {PlotView} plot */
export function moveCursor(plot, dx, dy) {
  const { i = [], j = [] } = plot.header.selected ?? {};
  const isFirst = !plot.cursor;
  const [{ down, across }] = plot.maps;
  plot.cursor ??= { map: 0, row: indexOf(down.edges, i[0]) ?? 0, column: indexOf(across.edges, j[0]) ?? 0 };
  const map = plot.maps[plot.cursor.map];
  const step = (name, centres, at, by) => {
    const range = plot.host._fullLayout[name].range;
    const [low, high] = [Math.min(...range), Math.max(...range)];
    const inWindow = centres.map((_, k) => k).filter((k) => centres[k] >= low && centres[k] <= high);
    if (!inWindow.length) return at;
    const forward = Math.sign(range[1] - range[0]) * Math.sign(centres[centres.length - 1] - centres[0] || 1);
    const next = isFirst ? at : at + by * forward;
    return Math.max(inWindow[0], Math.min(inWindow[inWindow.length - 1], next));
  };
  plot.cursor.column = step(map.x, map.across.centres, plot.cursor.column, dx);
  plot.cursor.row = step(map.y, map.down.centres, plot.cursor.row, -dy);
  showCursor(plot);
}

/** @param {PlotView} plot */
function showCursor(plot) {
  const text = cellText(plot, plot.maps[plot.cursor.map], plot.cursor.row, plot.cursor.column);
  plot.aloud.textContent = text;
  placeCursor(plot);
  if (plot.cursorBox.hidden) return;
  const box = plot.cursorBox.getBoundingClientRect();
  plot.tip.element.textContent = text;
  plot.tip.show(box.right, box.bottom, 6);
}

// Puts the frame of the cursor over its cell.
/** @param {PlotView} plot */
export function placeCursor(plot) {
  plot.cursorBox.hidden = true;
  if (!plot.cursor || !plot.host._fullLayout || !plot.root.contains(document.activeElement)) return;
  const map = plot.maps[plot.cursor.map];
  plot.cursor.row = Math.min(plot.cursor.row, map.rows - 1);
  plot.cursor.column = Math.min(plot.cursor.column, map.columns - 1);
  placeBox(plot, plot.cursorBox, map, plot.cursor.row, plot.cursor.column);
}

// Puts a frame over a cell; outside the zoom window it stays hidden.
/** @param {PlotView} plot */
function placeBox(plot, box, map, row, column) {
  const across = pixelsOf(plot.host._fullLayout[map.x], map.across.edges, column);
  const down = pixelsOf(plot.host._fullLayout[map.y], map.down.edges, row);
  if (!across || !down) return;
  const [left, width, top, height] = [...across, ...down].map((length) => `${length}px`);
  Object.assign(box.style, { left, width, top, height });
  box.hidden = false;
}

// [start, length] of a cell along an axis, at least 6 pixels long; null outside the zoom window.
function pixelsOf(axis, edges, k) {
  const [first, last] = [axis.l2p(edges[k]), axis.l2p(edges[k + 1])].sort((a, b) => a - b);
  const [low, high] = [Math.max(0, first), Math.min(axis._length, last)];
  if (high - low < 1) return null;
  const margin = Math.max(0, (6 - (high - low)) / 2);
  return [axis._offset + low - margin, high - low + 2 * margin];
}

// The label of a cell: the trace's `hovertemplate` with the cell's tokens and numbers.
/** @param {PlotView} plot */
export function cellText(plot, map, row, column) {
  const cell = (array) => array?.[row]?.[column];
  const { z, text, hovertext, customdata } = map.trace;
  const values = {
    x: nameOf(plot, map.x, map.across.centres[column]),
    y: nameOf(plot, map.y, map.down.centres[row]),
    z: z[row][column],
    text: cell(text),
    hovertext: cell(hovertext),
    customdata: cell(customdata),
  };
  const template = String(map.trace.hovertemplate ?? "%{y} to %{x}: %{z:.3f}").replace(/<extra>.*?<\/extra>/gs, "");
  return template.split(/(%\{[^}]*\})/).map((part) => {
    const field = /^%\{([a-z]+)(?:\[(\d+)\])?(?::([^}]*))?\}$/.exec(part);
    if (!field) return plainText(part);
    const [, name, index, format] = field;
    const value = index === undefined ? values[name] : values[name]?.[Number(index)];
    return typeof value === "number" ? formatNumber(value, format) : plainText(value ?? "");
  }).join("");
}

/** @param {PlotView} plot */
function nameOf(plot, axis, position) {
  return plot.names[axis]?.get(position) ?? String(Number(position.toPrecision(6)));
}

// ---- A chart of points ----

// The drawn points of all scatter traces: their trace, index, values, and place in pixels.
/** @param {PlotView} plot */
export function pointsOf(plot) {
  return plot.host._fullData.flatMap((trace, number) => {
    const isScatter = /^scatter(gl)?$/.test(trace.type) && trace.x?.length;
    if (trace.visible !== true || trace.hoverinfo === "skip" || !isScatter) return [];
    const axes = [trace.xaxis ?? "x", trace.yaxis ?? "y"];
    const [x, y] = axes.map((name) => plot.host._fullLayout[axisKey(name)]);
    const points = Array.from(trace.x, (value, index) => ({
      event: { trace: number, point: index, x: value, y: trace.y[index] },
      left: x._offset + x.d2p(value),
      top: y._offset + y.d2p(trace.y[index]),
    }));
    return points.filter(({ left, top }) => Number.isFinite(left) && Number.isFinite(top));
  });
}

// Goes to the nearest point in a direction; a point to the side counts as farther.
/** @param {PlotView} plot */
export function movePoint(plot, dx, dy) {
  const points = pointsOf(plot);
  const isCurrent = ({ event }) => event.trace === plot.point?.trace && event.point === plot.point.point;
  const here = points.find(isCurrent);
  const ahead = (other) => (other.left - here.left) * dx + (other.top - here.top) * dy;
  const aside = (other) => Math.abs((other.left - here.left) * dy) + Math.abs((other.top - here.top) * dx);
  const distance = (other) => ahead(other) + 2 * aside(other);
  const inDirection = here ? points.filter((other) => ahead(other) > 0.5) : points;
  if (here) inDirection.sort((a, b) => distance(a) - distance(b));
  if (!inDirection.length) return;
  plot.point = inDirection[0].event;
  plot.plotly.Fx.hover(plot.host, [{ curveNumber: plot.point.trace, pointNumber: plot.point.point }]);
  const labels = [...plot.host.querySelectorAll(".hoverlayer .hovertext")];
  const words = (label) =>
    [...label.querySelectorAll("text")].map((text) => text.textContent).filter(Boolean).join(" ");
  plot.aloud.textContent = labels.map(words).join(", ");
}
