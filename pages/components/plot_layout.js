// The layout that Plotly gets: the figure's own with size, theme, tick labels and the frames of the selection.
/** @import { PlotView } from "./plot.js" */
import { copy, span, themeTemplate } from "./figure.js";
import { tickLabels } from "./plot_labels.js";
import { measureMargins } from "./plot_margins.js";

const BAR_HEIGHT = 26; // pixels; plot.css has the same number

// Where the mode bar would cover a title, a legend or a colour bar, it gets a strip of its own above the figure; on a
// phone, which shows it always, below every figure. Returns whether the figure must be drawn again.
/** @param {PlotView} plot */
export function placeModeBar(plot) {
  if (plot.isBarAbove && plot.barWidth === plot.width) return false;
  plot.barWidth = plot.width;
  const before = plot.isBarAbove;
  plot.isBarAbove = isPhone() ? plot.header.modeBar : coversWords(plot);
  plot.root.classList.toggle("enc-bar-above", plot.isBarAbove);
  return plot.isBarAbove !== before;
}

// Whether the mode bar lies over words when it has no strip of its own.
/** @param {PlotView} plot */
function coversWords(plot) {
  plot.root.classList.remove("enc-bar-above");
  const groups = [...plot.host.querySelectorAll(".modebar-group")].map((group) => group.getBoundingClientRect());
  const isCovered = (node) => {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    return groups.some((bar) => left < bar.right && bar.left < right && top < bar.bottom && bar.top < bottom);
  };
  const texts = plot.host.querySelectorAll(".infolayer text, .infolayer .cbfills, .xtick text, .ytick text");
  return [...texts].some((node) => (node.textContent || node.childElementCount) && isCovered(node));
}

// Pixels next to the labels of the vertical axis, for a colour bar above the map.
/** @param {PlotView} plot */
export function roomForBars(plot) {
  const { l, r } = plot.host._fullLayout?._size ?? { l: 90, r: 8 };
  return Math.max(60, Math.floor(plot.width - l - r));
}

const isTooLong = (bar, room) => bar?.orientation === "h" && bar.lenmode === "pixels" && bar.len > room;

// Whether the colour bars of a drawing, made for so much room, are longer than the room that its labels have left.
/** @param {PlotView} plot */
export function barsAreTooLong(plot, room) {
  const left = roomForBars(plot);
  const traces = withType(plot.figure.data, plot.theme.scale);
  const bars = traces.flatMap(({ colorbar, marker }) => [colorbar, marker?.colorbar]);
  return left < room && bars.some((bar) => isTooLong(bar, left));
}

// The trace with a horizontal colour bar that is no longer than its room.
export function fitColourBar(trace, room) {
  const fits = (bar) => !isTooLong(bar, room);
  const fitted = (part) => fits(part?.colorbar) ? part : { ...part, colorbar: { ...part.colorbar, len: room } };
  const changed = fitted(trace);
  const marker = fitted(changed.marker);
  return marker === changed.marker ? changed : { ...changed, marker };
}

/** @param {PlotView} plot */
export function plotLayout(plot) {
  const given = copy(plot.figure.layout); // Plotly writes into what it gets
  const layout = {
    ...given,
    width: plot.width,
    height: plotHeight(plot) - (plot.isBarAbove ? BAR_HEIGHT : 0),
    template: themeTemplate(plot.theme, given.template),
    shapes: [...(given.shapes ?? []), ...selectionFrames(plot)],
    uirevision: given.uirevision ?? plot.maps.map((map) => `${map.rows}x${map.columns}`).join() + "-",
  };
  // A finger scrolls the page: on a touch screen the mode bar switches zooming on. Without a mode bar nothing would show
  // the whole again.
  if (matchMedia("(pointer: coarse)").matches || !plot.header.modeBar) layout.dragmode = false;
  // A filling map is as wide as its column, so its cells may be wider than high.
  if (plot.header.fill) { for (const { y } of plot.maps) delete layout[y].scaleanchor; }
  if (isPhone() && !hasWordsAbove(plot.figure)) layout.margin = { ...layout.margin, t: BARE_TOP };
  for (const name of Object.keys(plot.labels)) layout[name] = { ...given[name], ...tickLabels(plot, name, layout) };
  const enlarged = withType(layout, plot.theme.scale);
  measureMargins(plot, enlarged);
  return enlarged;
}

// Whether a figure has a title, a legend or a colour bar above its axes. Else the room there was for the mode bar.
function hasWordsAbove({ data, layout }) {
  const legend = layout.showlegend ?? data.filter((trace) => trace.showlegend ?? trace.type !== "heatmap").length > 1;
  const bar = (part) => part?.colorbar?.orientation === "h" && part.showscale !== false;
  return legend || Boolean(layout.title?.text) ||
    layout.annotations?.some(({ y, yref }) => /paper|domain/.test(yref) && y >= 1) ||
    data.some((trace) => bar(trace) || bar(trace.marker));
}

// A part of a figure with all of its fonts enlarged, and the pixels that they take.
export function withType(part, scale) {
  if (scale === 1) return part;
  const enlarge = (node) => {
    if (node === null || typeof node !== "object" || ArrayBuffer.isView(node)) return node;
    if (Array.isArray(node)) return node.map(enlarge);
    const isPixels = (key) => key === "yshift" || key === "thickness" || (key === "len" && node.lenmode === "pixels");
    const larger = ([key, value]) => {
      if (/font$/.test(key) && value?.size) return [key, { ...value, size: value.size * scale }];
      if (key === "margin") return [key, { ...value, t: value.t * scale }];
      return [key, isPixels(key) ? value * scale : enlarge(value)];
    };
    return Object.fromEntries(Object.entries(node).map(larger));
  };
  return enlarge(part);
}

const LAPTOP = 768; // pixels of a small laptop's window in height
const BARE_TOP = 8; // pixels above axes with nothing above them, on a phone
const isPhone = () => matchMedia("(max-width: 640px)").matches; // as in plot.css

/** @param {PlotView} plot */
function plotHeight(plot) {
  const { height, fill } = plot.header;
  const { scale } = plot.theme;
  if (fill) return fillingHeight(plot);
  if (!plot.maps.length) return height * scale;
  const most = Math.min(height * scale, Math.max(280, 1.25 * plot.width));
  // In large type, no larger than two thirds of the window: the words above it stay in sight.
  return scale === 1 ? most : Math.max(height, Math.min(most, scrollingAncestor(plot.root).clientHeight * 2 / 3));
}

// The height at which the cells of a map are square, if the window has that room below the chart's upper edge. A chart
// below the middle of the window may take the window's own height. The header's height is the least, where the column is
// 900 pixels wide; in a window lower than LAPTOP, a chart near its top ends with it. On a phone plot.css has the height.
/** @param {PlotView} plot */
function fillingHeight(plot) {
  const box = plot.root.closest(".stElementContainer");
  if (box && isPhone()) return box.clientHeight;
  const { rows, columns } = plot.maps[0] ?? { rows: 1, columns: 1 };
  const { l, r, t, b } = plot.host._fullLayout?._size ?? { l: 90, r: 8, t: 60, b: 80 };
  const square = Math.max(40, plot.width - l - r) * rows / columns + t + b;
  const scroller = scrollingAncestor(plot.root);
  const top = plot.root.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop;
  const below = scroller.clientHeight - top - 8;
  const isInSight = top < scroller.clientHeight / 2;
  const wanted = Math.min(plot.header.height, Math.max(300, plot.width * plot.header.height / 900));
  const least = isInSight && globalThis.innerHeight < LAPTOP ? Math.max(300, Math.min(wanted, below)) : wanted;
  const most = Math.max(least, isInSight || below >= least ? below : scroller.clientHeight - 100);
  return Math.round(Math.min(most, Math.max(least, square)));
}

function scrollingAncestor(child) {
  let element = child.parentElement;
  while (element && !/(auto|scroll)/.test(getComputedStyle(element).overflowY)) element = element.parentElement;
  return element ?? document.documentElement;
}

// The selection as shapes, which follow every zoom and are in the exported picture.
/** @param {PlotView} plot */
function selectionFrames(plot) {
  if (plot.figure.layout.shapes?.length) return []; // the figure frames its selection itself
  const { i = [], j = [] } = plot.header.selected ?? {};
  const shapes = [];
  const frame = (colour, place) => {
    const shape = { type: "rect", layer: "above", fillcolor: "rgba(0,0,0,0)", ...place };
    const lines = [{ color: "#ffffff", width: 3.5 }, { color: colour, width: 1.75 }];
    shapes.push(...lines.map((line) => ({ ...shape, line })));
  };
  for (const { xref, yref, across, down } of plot.maps) {
    const rows = i.map((position) => span(down.edges, position)).filter(Boolean);
    const columns = j.map((position) => span(across.edges, position)).filter(Boolean);
    for (const [y0, y1] of rows) frame(plot.theme.query, { xref: `${xref} domain`, x0: 0, x1: 1, yref, y0, y1 });
    for (const [x0, x1] of columns) frame(plot.theme.key, { yref: `${yref} domain`, y0: 0, y1: 1, xref, x0, x1 });
    for (const [y0, y1] of rows) {
      for (const [x0, x1] of columns) frame("#111111", { xref, yref, x0, x1, y0, y1 });
    }
  }
  return shapes;
}
