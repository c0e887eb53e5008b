// The zoom window of a plot: what Python knows of it, and what the plot shows.
/** @import { PlotView } from "./plot.js" */
import { eventId } from "../../encoder/drawing/shared.js";

const SETTLED_MS = 150; // a zoom or pan ends when the pointer has been still for so long

// { x: [low, high], y: [low, high] }, or null where all is shown.
/** @param {PlotView} plot */
function zoomWindow(plot) {
  const [x, y] = axesOf(plot).map((name) => rangeOf(plot, name));
  return !x || !y || (x.isWhole && y.isWhole) ? null : { x: x.range, y: y.range };
}

const axesOf = ({ maps: [map] }) => [map?.x ?? "xaxis", map?.y ?? "yaxis"];

/** @param {PlotView} plot */
function rangeOf(plot, name) {
  const axis = plot.host.layout[name];
  const given = plot.figure.layout[name]?.range;
  if (!axis?.range || axis.range.some((edge) => typeof edge !== "number")) return null;
  const isAutomatic = axis.autorange && axis.autorange !== "min" && axis.autorange !== "max";
  const isGiven = given?.every((edge, k) => Math.abs(edge - axis.range[k]) < 1e-6 * Math.abs(given[1] - given[0]));
  const range = [...axis.range].sort((a, b) => a - b).map((edge) => Number(edge.toFixed(4)));
  return { isWhole: Boolean(isAutomatic || isGiven), range };
}

const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// Python's window, unless Python has not yet heard of a newer one: an older answer must not undo a zoom.
/** @param {PlotView} plot */
export function readZoom(plot) {
  const { window, zoomHeard } = plot.header;
  if (!plot.isZooming && zoomHeard >= plot.zoomSent) plot.known = window;
}

// Shows the window that Python knows, if the plot shows another one: after a reload, Back, or an opened link.
/** @param {PlotView} plot */
export async function showZoom(plot) {
  const { known, host } = plot;
  if (!plot.header.zoomLinked || plot.isZooming || isSame(zoomWindow(plot), known)) return;
  const change = {};
  axesOf(plot).forEach((name, k) => {
    const axis = host._fullLayout[name];
    const wanted = known?.[k ? "y" : "x"];
    const isDown = axis.range[0] > axis.range[1];
    const edges = wanted && (isDown ? [...wanted].reverse() : wanted);
    const whole = plot.figure.layout[name]?.range;
    if (edges) change[`${name}.range`] = edges;
    else if (whole) change[`${name}.range`] = [...whole];
    else change[`${name}.autorange`] = isDown ? "reversed" : true;
  });
  await plot.plotly.relayout(host, change);
  plot.known = zoomWindow(plot); // square cells may need another window: it is not sent back
  plot.isZooming = false; // it was not the reader who zoomed
}

// Sends the zoom window after zooming or panning, if it is another one.
/** @param {PlotView} plot */
export function settleZoom(plot) {
  clearTimeout(plot.timer);
  plot.timer = setTimeout(() => {
    plot.isZooming = false;
    const now = zoomWindow(plot);
    if (plot.gone || isSame(now, plot.known)) return;
    plot.known = now;
    if (!plot.header.isHeard && !plot.header.zoomLinked) return;
    plot.zoomSent = eventId();
    plot.component.setStateValue("relayout", { ...now, id: plot.zoomSent });
  }, SETTLED_MS);
}
