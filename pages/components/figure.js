// Reads a figure before it is drawn: its arrays, theme, cells, and the text of its numbers and labels.
import { threeDigits } from "../../encoder/drawing/drawing.js";
import { sameBytes } from "../../encoder/drawing/shared.js";

// The figure's JSON with its arrays. An unchanged array stays the same object: Plotly then skips it.
export function revive(node, arrays, previous) {
  if (Array.isArray(node)) return node.map((item) => revive(item, arrays, previous));
  if (node === null || typeof node !== "object") return node;
  if (typeof node.$array === "string") {
    const array = arrays[node.$array];
    const old = previous[node.$array];
    if (old && String(old.shape) === String(array.shape) && sameBytes(old.data, array.data)) arrays[node.$array] = old;
    else array.nested = nest(array.data, array.shape);
    return arrays[node.$array].nested;
  }
  return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, revive(item, arrays, previous)]));
}

// [2, 3] numbers as 2 rows that are views; Plotly takes typed arrays wherever it takes arrays.
export function nest(data, shape) {
  if (shape.length <= 1) return data;
  const step = data.length / shape[0];
  return Array.from({ length: shape[0] }, (_, k) => nest(data.subarray(k * step, (k + 1) * step), shape.slice(1)));
}

// Where the colours of a prefetched map end, as `attention_spec` in encoder/figures says it. data: rows of `columns`.
/** @param {NextHead} nextHead @param {Numbers} data @param {number} columns @param {any} colorbar */
export function colourRange({ scaleToMax, words, least, scales, step }, data, columns, colorbar) {
  const largest = data.reduce((most, weight) => Math.max(most, weight), 0) || 1;
  if (scaleToMax) return { zmax: largest };
  if (!words || Math.max(...words.map((side) => side.length)) < 2) return {};
  let end = 0;
  for (const row of words[0]) {
    for (const column of words[1]) end = Math.max(end, data[row * columns + column]);
  }
  end = Math.max(end || 1, least);
  const isStepped = largest > 1.0001 * end;
  const ticks = isStepped
    ? { tickvals: [0, end / 2, end], ticktext: ["0", threeDigits(end / 2), `≥ ${threeDigits(end)}`] }
    : { tickvals: undefined, ticktext: undefined };
  return {
    zmax: isStepped ? step * end : end,
    colorscale: scales[Number(isStepped)],
    colorbar: { ...colorbar, ...ticks },
  };
}

// A Plotly template for Streamlit's theme; the figure's own settings have priority.
export function themeTemplate(theme, given) {
  const { border, background, font } = theme;
  const lines = { gridcolor: theme.faint, linecolor: border, zerolinecolor: border, tickcolor: border };
  const axis = { ...lines, automargin: true, title: { font: { size: 13 } } };
  const layout = {
    font: { family: font, size: 12, color: theme.text },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    xaxis: axis,
    yaxis: axis,
    hoverlabel: { bgcolor: background, bordercolor: border, font: { family: font, color: theme.text, size: 13 } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: theme.muted, activecolor: theme.primary },
    margin: { l: 8, r: 8, t: 34, b: 8 },
    title: { font: { size: 15 } },
    colorway: theme.dark
      ? ["#6ea8fe", "#ff7b7b", "#5fd38d", "#ffb454", "#c59cff", "#5fd3d3"]
      : ["#1f6fd6", "#d03b3b", "#1f8a4c", "#b8650a", "#7b4fd0", "#0f8a8a"],
  };
  const colorbar = { outlinewidth: 0, thickness: 14, tickcolor: border };
  // The colours of cells are transparent towards 0, which Plotly's choice of a colour for their numbers leaves out.
  const textfont = { color: theme.text };
  return { layout: merge(layout, given?.layout), data: { heatmap: [{ colorbar, textfont }], ...given?.data } };
}

function merge(base, over) {
  if (!over) return base;
  const plain = (value) =>
    value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;
  const result = { ...base };
  for (const [key, value] of Object.entries(over)) {
    result[key] = plain(value) && plain(base[key]) ? merge(base[key], value) : value;
  }
  return result;
}

// A copy, except for typed arrays.
export function copy(node) {
  if (Array.isArray(node)) return node.map(copy);
  if (node === null || typeof node !== "object" || ArrayBuffer.isView(node)) return node;
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, copy(value)]));
}

// The text of a label in Plotly's markup (<br>, <b>, &lt;).
export function plainText(markup) {
  const lines = String(markup).replace(/<extra>.*?<\/extra>/gs, "").replace(/<br\s*\/?>/gi, "\n");
  return lines.replace(/<\/?[a-z][^>]*>/gi, "").replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&nbsp;/g, " ")
    .replace(/&amp;/g, "&");
}

// A number in one of d3's formats that figures use: .3f, .1%, +.2f, .4g, .2e, d.
export function formatNumber(value, format) {
  if (typeof value !== "number") return String(value ?? "");
  if (!Number.isFinite(value)) return "no value";
  if (format === undefined && Number.isInteger(value)) return String(value).replace(/^-/, "−"); // such as a neuron
  const parts = /^(\+?),?(?:\.(\d+))?([fgred%]?)$/.exec(format ?? ".3f") ?? ["", "", "4", "g"];
  const digits = parts[2] === undefined ? undefined : Number(parts[2]);
  const sign = parts[1] && value >= 0 ? "+" : "";
  const kinds = {
    f: () => value.toFixed(digits ?? 6),
    "%": () => `${(value * 100).toFixed(digits ?? 6)}%`,
    d: () => String(Math.round(value)),
    e: () => value.toExponential(digits ?? 6),
    g: () => String(Number(value.toPrecision(digits || 6))),
    r: () => String(Number(value.toPrecision(digits || 6))),
    "": () => String(Number(value.toPrecision(digits || 12))),
  };
  return (sign + kinds[parts[3]]()).replace(/^-(0(\.0*)?%?)$/, "$1").replace(/^-/, "−");
}

// The centres along one axis of a map, and the borders between its cells.
export function cellsAlong(values, start, step, count) {
  let centres = values ? Array.from(values, Number) : [];
  if (centres.length === count + 1) centres = centres.slice(1).map((edge, k) => (edge + centres[k]) / 2);
  if (centres.length !== count || centres.some((value) => !Number.isFinite(value))) {
    centres = Array.from({ length: count }, (_, k) => (start ?? 0) + k * (step ?? 1));
  }
  const widths = count > 1
    ? [centres[1] - centres[0], centres[count - 1] - centres[count - 2]]
    : [step ?? 1, step ?? 1];
  const inner = centres.slice(1).map((centre, k) => (centre + centres[k]) / 2);
  const edges = [centres[0] - widths[0] / 2, ...inner, centres[count - 1] + widths[1] / 2];
  return { centres, edges };
}

export const axisKey = (id) => `${id[0]}axis${id.slice(1)}`; // "x2" -> "xaxis2"

// The cell, as [low, high], that a position falls into.
export function span(edges, position) {
  const k = indexOf(edges, position);
  return k === null ? null : [edges[k], edges[k + 1]];
}

export function indexOf(edges, position) {
  if (position === undefined) return null;
  for (let k = 0; k + 1 < edges.length; k++) {
    if ((position - edges[k]) * (position - edges[k + 1]) <= 0) return k;
  }
  return null;
}

// A label cut to whole characters: an emoji is never cut in two.
export function cut(label, longest) {
  const whole = charactersBeyond(label, longest);
  return whole ? escaped(`${whole.slice(0, longest - 1).join("")}…`) : label;
}

// The end of a label whose beginning many others share.
export function cutStart(label, longest) {
  const whole = charactersBeyond(label, longest);
  return whole ? escaped(`…${whole.slice(1 - longest).join("")}`) : label;
}

// The characters of a label that has more than `longest`; null of a shorter one. Most are short, and a segmenter takes 0.1 ms.
function charactersBeyond(label, longest) {
  if (label.length <= longest) return null;
  const whole = Array.from(new Intl.Segmenter().segment(plainText(label)), (part) => part.segment);
  return whole.length > longest ? whole : null;
}

const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

// The figure's maps: which trace, its axes, and its cells along both.
export function mapsOf(figure) {
  const traces = figure.data.map((trace, number) => ({ trace, number }));
  const isMap = ({ trace }) => trace.type === "heatmap" && trace.z?.length && trace.visible !== false;
  return traces.filter(isMap).map(({ trace, number }) => {
    const [rows, columns] = [trace.z.length, trace.z[0].length];
    const [xref, yref] = [trace.xaxis ?? "x", trace.yaxis ?? "y"];
    const across = cellsAlong(trace.x, trace.x0, trace.dx, columns);
    const down = cellsAlong(trace.y, trace.y0, trace.dy, rows);
    return { number, trace, rows, columns, x: axisKey(xref), y: axisKey(yref), xref, yref, across, down };
  });
}

// Token axis -> position -> tick label.
export function labelsOf({ layout }) {
  const axes = Object.entries(layout).filter(([name, axis]) =>
    /^[xy]axis\d*$/.test(name) && axis.ticktext && axis.tickvals && axis.type !== "log" // its window is in log10
  );
  const labels = ({ tickvals, ticktext }) => new Map(Array.from(tickvals, (value, k) => [value, ticktext[k]]));
  return Object.fromEntries(axes.map(([name, axis]) => [name, labels(axis)]));
}

// Token axis -> position -> name in labels of cells: "the (4)" where a text occurs more than once.
export function namesOf({ layout }, labels) {
  const names = (name) => {
    const aliases = Object.entries(layout[name].labelalias || {}).map(([value, text]) => [Number(value), text]);
    return new Map([...labels[name], ...aliases]);
  };
  return Object.fromEntries(Object.keys(labels).map((name) => [name, names(name)]));
}
