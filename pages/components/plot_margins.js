// Room for the labels of a map with one axis of tokens on each side, measured before Plotly draws. Plotly's `automargin`
// draws the axes, measures them and draws again until they fit: half of the time that a drawing takes.
/** @import { PlotView } from "./plot.js" */
import { plainText } from "./figure.js";

const LINE = 1.3; // of the size of its type
const BESIDE = 3; // pixels between labels and cells
const ROOMY = 12; // pixels that a margin may be too wide before the map is drawn again

let pen = null;

// Takes over the margins that it can measure. layout: of the next drawing, with its labels; it is changed.
/** @param {PlotView} plot */
export function measureMargins(plot, layout) {
  const needed = neededMargins(plot, layout);
  for (const [name, side] of [["xaxis", "b"], ["yaxis", "l"]]) {
    if (needed[side]) layout[name] = { ...layout[name], automargin: false };
  }
  layout.margin = { ...layout.margin, ...needed };
}

// What a drawing has to change to fit its labels, as Plotly's `relayout` takes it. layout: the drawing's with its labels.
/** @param {PlotView} plot */
export function marginChange(plot, layout) {
  const change = {};
  for (const [side, needed] of Object.entries(neededMargins(plot, layout))) {
    const now = plot.host.layout.margin[side];
    if (needed > now || needed < now - ROOMY) change[`margin.${side}`] = needed;
  }
  return change;
}

// Left and bottom margin, each only if it can be measured.
/** @param {PlotView} plot */
function neededMargins(plot, layout) {
  const axes = Object.keys(layout).filter((name) => /^[xy]axis\d*$/.test(name));
  if (axes.sort().join() !== "xaxis,yaxis") return {};
  const { xaxis, yaxis, template } = layout;
  const margin = { ...template.layout.margin, ...layout.margin };
  const beside = (axis, extent, more = 0) => {
    const size = axis.title?.font?.size ?? template.layout.xaxis.title.font.size;
    const title = axis.title?.text ? (axis.title.standoff ?? 0) + 1.2 * size : 0;
    return Math.ceil(extent + BESIDE + more + title);
  };
  const needed = {};
  // Plotly places a title without a standoff by rules of its own.
  const isPlain = (axis) => !axis.side && axis.ticks === "" && (!axis.title?.text || axis.title.standoff !== undefined);
  const [across, down] = [plot.labels.xaxis && isPlain(xaxis), plot.labels.yaxis && isPlain(yaxis)];
  if (down) needed.l = Math.max(margin.l, beside(yaxis, widest(plot, layout, "yaxis")));
  if (across && xaxis.tickangle === -90) {
    needed.b = Math.max(margin.b, beside(xaxis, widest(plot, layout, "xaxis"), 2));
  } else if (across && xaxis.tickangle === 0) {
    needed.b = Math.max(margin.b, beside(xaxis, LINE * template.layout.font.size));
  }
  return needed;
}

/** @param {PlotView} plot */
function widest(plot, layout, name) {
  const { family, size } = layout.template.layout.font;
  pen ??= document.createElement("canvas").getContext("2d");
  pen.font = `${layout[name].tickfont?.size ?? size}px ${family}`;
  const widths = drawnLabels(plot, layout, name).map((label) => pen.measureText(plainText(label)).width);
  return Math.max(0, ...widths);
}

// The labels that Plotly draws on an axis: all that it gets, every so many categories, or numbers.
/** @param {PlotView} plot */
function drawnLabels(plot, layout, name) {
  const { tickmode, ticktext, labelalias, nticks, range } = layout[name];
  if (tickmode === "array") return [...ticktext];
  const drawn = layout.uirevision === plot.revision ? plot.host._fullLayout?.[name]?.range : null; // after a zoom
  const [low, high] = [...drawn ?? range ?? [0, 0]].sort((a, b) => a - b);
  if (!labelalias || !nticks) return [String(Math.round(high))];
  const step = Math.max(1, Math.ceil((high - low) / nticks));
  const labels = [];
  for (let at = step * Math.ceil(low / step); at <= high; at += step) labels.push(labelalias[at] ?? "");
  return labels;
}
