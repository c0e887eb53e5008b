// Labels of the token axes: as many as fit, more after zooming in; and which label is under the pointer.
/** @import { PlotView } from "./plot.js" */
import { axisKey, cut, cutStart } from "./figure.js";
import { marginChange } from "./plot_margins.js";

const MOST_LABELS = 40; // tick labels take longer to draw than the cells
const LABEL_PITCH = 14; // pixels between two tick labels
// Of labels in smaller type, where every one then has room: the first that fits; on a phone, 28 tokens in the last one.
const SMALLER = [{ pitch: 11, size: 10 }, { pitch: 9.5, size: 9 }];
const smaller = (count, room, usual) => count > room(usual) ? SMALLER.find(({ pitch }) => count <= room(pitch)) : null;
const EDGE = 5; // pixels of a selected label without ink, which may cover another
const CATEGORY_PITCH = 15.6; // of Plotly's own choice, for type of 12 pixels

// What an axis of the layout says of its labels. With `labelalias` Plotly chooses the positions itself; we choose how
// many. Plotly's own number depends on the margins, which depend on the labels: both could alternate without end.
// layout: of the next drawing.
/** @param {PlotView} plot @returns {any} */
export function tickLabels(plot, name, layout) {
  const axis = plot.figure.layout[name];
  const labels = plot.labels[name];
  const { ends } = plot.figure.layout.meta ?? {}; // names that differ at their ends
  const hasRoom = ends || !plot.maps.length;
  const longest = plot.width < 500 ? (hasRoom ? 14 : 10) : (hasRoom ? 28 : 16);
  const short = (label) => ends ? cutStart(label, longest) : cut(label, longest);
  const drawn = plot.host._fullLayout?.[name];
  const length = lengthOf(plot, name, layout);
  if (axis.labelalias) {
    const labelalias = Object.fromEntries([...labels].map(([value, label]) => [value, short(label)]));
    const room = (pitch) => Math.max(2, Math.floor(length / (pitch * plot.theme.scale)));
    const small = smaller(labels.size, room, CATEGORY_PITCH);
    return small
      ? { labelalias, nticks: labels.size, tickfont: { size: small.size } }
      : { labelalias, nticks: room(CATEGORY_PITCH) };
  }
  if (axis.tickmode && axis.tickmode !== "array") return {};
  const all = [...labels.keys()];
  const [low, high] = drawn?.range ? [...drawn.range].sort((a, b) => a - b) : [-Infinity, Infinity];
  const inWindow = all.filter((position) => position >= low && position <= high);
  const room = (pitch) => Math.max(2, Math.min(MOST_LABELS, Math.floor(length / (pitch * plot.theme.scale))));
  const small = smaller(inWindow.length, room, LABEL_PITCH);
  const most = room(small?.pitch ?? LABEL_PITCH);
  let step = 1;
  while (inWindow.length / step > most) step *= 2;
  const first = all.indexOf(inWindow[0]);
  const tickvals = inWindow.filter((_, k) => (first + k) % step === 0);
  const ticktext = tickvals.map((position) => short(labels.get(position)));
  return { tickmode: "array", tickvals, ticktext, ...(small ? { tickfont: { size: small.size } } : {}) };
}

// Pixels of an axis in a drawing with this layout, if the labels next to it take as much room as now.
/** @param {PlotView} plot */
function lengthOf(plot, name, layout) {
  const now = plot.host._fullLayout;
  const [side, from, to] = name[0] === "x" ? ["width", "l", "r"] : ["height", "t", "b"];
  if (!now?.[name]?._length) return (side === "width" ? plot.width : plot.header.height) * 0.75;
  const labels = now._size[from] + now._size[to];
  return now[name]._length * Math.max(0, layout[side] - labels) / (now[side] - labels);
}

/** @param {PlotView} plot */
export async function fitLabels(plot) {
  /** @type {Record<string, any>} */
  const change = {};
  const fitted = { ...plot.host.layout };
  for (const name of Object.keys(plot.labels)) {
    const { tickvals, ticktext, nticks, tickfont } = tickLabels(plot, name, plot.host._fullLayout);
    const small = tickfont && { size: tickfont.size * plot.theme.scale };
    const font = small ?? plot.figure.layout[name].tickfont ?? null;
    const [low, high] = plot.host._fullLayout[name].range;
    const step = (count) => Math.ceil(Math.abs(high - low) / count); // a label for every so many tokens
    if (nticks && step(nticks) !== step(plot.host.layout[name].nticks)) change[`${name}.nticks`] = nticks;
    if (tickvals && String(tickvals) !== String(Array.from(plot.host.layout[name].tickvals ?? []))) {
      Object.assign(change, { [`${name}.tickvals`]: tickvals, [`${name}.ticktext`]: ticktext });
    }
    if ((tickvals || nticks) && plot.host.layout[name].tickfont?.size !== font?.size) {
      change[`${name}.tickfont`] = font;
    }
    const count = change[`${name}.nticks`] ?? plot.host.layout[name].nticks;
    fitted[name] = { ...fitted[name], ...(tickvals ? { ticktext } : { nticks: count }) };
  }
  Object.assign(change, marginChange(plot, fitted));
  if (Object.keys(change).length) await plot.plotly.relayout(plot.host, change);
}

// Hides tick labels and names of points under a label of the selection. Of two names that overlap, the later one in the
// figure's own order (its layout.meta) is hidden, too.
/** @param {PlotView} plot */
export function hideCovered(plot) {
  const find = (selector) => [...plot.host.querySelectorAll(selector)];
  const taken = find(".annotation-text-g").map((node) => {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    return { left: left + EDGE, right: right - EDGE, top: top + EDGE, bottom: bottom - EDGE };
  });
  const place = (node, isKept) => {
    const box = node.getBoundingClientRect();
    const overlaps = (other) =>
      box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom;
    const isFree = !taken.some(overlaps);
    node.style.visibility = isFree ? "" : "hidden";
    if (isFree && isKept) taken.push(box);
  };
  for (const node of find(".xtick text, .ytick text")) place(node, false);
  const trace = (node) => node.closest(".trace").__data__[0].trace.index;
  const points = find(".scatterlayer .textpoint").map((node) => [`${trace(node)},${node.__data__.i}`, node]);
  const names = new Map(/** @type {[string, any][]} */ (points));
  for (const point of plot.figure.layout.meta?.names ?? []) {
    if (names.has(String(point))) place(names.get(String(point)), true);
  }
}

// The token whose tick label is under the pointer, as { axis: "x" or "y", position }, or null. Plotly puts its own handles
// over the labels and reports nothing.
/** @param {PlotView} plot */
export function labelAt(plot, event) {
  const layout = plot.host._fullLayout;
  if (!layout?._size) return null;
  const box = plot.host.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  for (const name of Object.keys(plot.labels)) {
    const isX = name[0] === "x";
    const axis = layout[name];
    const anchor = axis.anchor && axis.anchor !== "free" ? axis.anchor : isX ? "y" : "x";
    const other = layout[axisKey(anchor)];
    const [along, across] = isX ? [x, y] : [y, x];
    if (along < axis._offset || along > axis._offset + axis._length) continue;
    const isInPlot = other && across > other._offset && across < other._offset + other._length;
    if (isInPlot) continue;
    const position = tickAt(plot, name, event) ?? besideTicks(plot, name, event, along);
    if (position !== null) return { axis: name[0], position };
  }
  return null;
}

const ticksOf = (plot, name) => [...plot.host.querySelectorAll(`g.${name.replace("axis", "")}tick > text`)];

// The label itself: for slanted labels there is no other way.
/** @param {PlotView} plot */
function tickAt(plot, name, event) {
  const ticks = new Set(ticksOf(plot, name));
  for (const element of document.elementsFromPoint(event.clientX, event.clientY)) {
    /** @type {any} */
    const tick = [element, element.parentNode].find((node) => ticks.has(node));
    const position = tick?.__data__?.x;
    if (plot.labels[name].has(position)) return position;
  }
  return null;
}

// Between the labels, in their strip: the token there, though its own label has no room.
/** @param {PlotView} plot */
function besideTicks(plot, name, event, along) {
  const texts = ticksOf(plot, name);
  const isSlanted = (text) => /rotate\((?!-?(0|90|180|270)[,)])/.test(text.getAttribute("transform") ?? "");
  if (!texts.length || texts.some(isSlanted)) return null;
  const boxes = texts.map((text) => text.getBoundingClientRect());
  const isX = name[0] === "x";
  const at = isX ? event.clientY : event.clientX;
  if (at < Math.min(...boxes.map((box) => isX ? box.top : box.left)) - 2) return null;
  if (at > Math.max(...boxes.map((box) => isX ? box.bottom : box.right)) + 2) return null;
  const axis = plot.host._fullLayout[name];
  const position = Math.round(axis.p2l(along - axis._offset));
  return plot.labels[name].has(position) ? position : null;
}
