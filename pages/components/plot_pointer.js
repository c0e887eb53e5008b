// Mouse and finger on a plot: labels of cells, and clicks, taps and long presses that reach Python.
/** @import { PlotView } from "./plot.js" */
import { listenToFinger } from "../../encoder/drawing/finger.js";
import { cellText, placeCursor } from "./plot_cursor.js";
import { fitLabels, hideCovered, labelAt } from "./plot_labels.js";
import { settleZoom } from "./plot_zoom.js";

const STILL_MOUSE = 4; // pixels: a mouse that moves farther between press and release drags
const QUICK_MS = 400;
const LOOKS_MS = 60; // longer than Plotly waits before it looks again

// Plotly reports one tap as click, double click, click: once for the finger and once for the mouse that the browser
// emulates. So fingers are handled here, and reach Plotly only while the mode bar has switched zooming or panning on.
/** @param {PlotView} plot */
export function listenToPointer(plot) {
  const { host } = plot;
  const first = { capture: true }; // before Plotly
  plot.listen(host, "pointermove", (event) => {
    if (byFinger(event) || !plot.header.isHeard) return;
    host.classList.toggle("enc-over-label", labelAt(plot, event) !== null);
  });
  plot.listen(host, "pointerleave", (event) => byFinger(event) || plot.hideTip());
  plot.listen(host, "pointerdown", (event) => {
    const { clientX, clientY, timeStamp } = event;
    const isQuick = timeStamp - plot.pressed?.timeStamp < QUICK_MS && isSamePlace(event, plot.pressed);
    const isDouble = isQuick && !plot.pressed.isDouble && Boolean(event.target.closest?.(".draglayer"));
    const label = event.button || isQuick ? null : labelAt(plot, event);
    plot.pressed = { clientX, clientY, timeStamp, byFinger: byFinger(event), isDouble, label };
  }, first);
  // Plotly asks for the time when it hears of a click: while a map is drawn, that is too late for a double click. And
  // the release may reach a layer over the page. A label is that of the press: where the map is drawn again before the
  // release, the pressed element is gone and no click follows.
  plot.listen(window, "pointerup", (event) => {
    const { isDouble, byFinger, label } = plot.pressed ?? {};
    if (!plot.pressed || byFinger || !isSamePlace(event, plot.pressed)) return;
    if (isDouble) clearAll(plot);
    else if (label) sendLabel(plot, label, event.shiftKey);
    plot.pressed.label = null; // until the next press
  }, first);
  plot.listen(document, "touchstart", (event) => host.contains(event.target) || plot.hideTip(), { passive: true });
  const isForPlot = ({ target }) => Boolean(target.closest?.(".draglayer") || labelAt(plot, plot.pressed));
  listenToFinger(plot, host, {
    takes: isForPlot,
    tap: (touch, isDouble) => isDouble ? clearAll(plot) : onTap(plot, touch, false),
    hold: (touch) => onTap(plot, touch, true),
  });
  plot.listen(host, "touchstart", (event) => {
    const isScrolling = plot.host._fullLayout?.dragmode === false;
    if (isScrolling && isForPlot(event)) event.stopPropagation();
  }, { capture: true, passive: true });
}

const byFinger = (event) => event.pointerType === "touch";

/** @param {PlotView} plot */
export function listenToPlotly(plot) {
  const { host } = plot;
  const isMouse = () => !plot.pressed?.byFinger;
  host.on("plotly_click", (event) => isMouse() && onClick(plot, event));
  host.on("plotly_hover", (event) => onHover(plot, event));
  host.on("plotly_unhover", () => plot.tip.hide());
  host.on("plotly_afterplot", () => hideCovered(plot));
  host.on("plotly_relayouting", () => plot.hideMarks());
  host.on("plotly_relayout", async (change) => {
    if (!Object.keys(change).some((key) => /^[xy]axis\d*\.(range|autorange)/.test(key))) return;
    plot.isZooming = true; // until it is sent
    settleZoom(plot);
    await fitLabels(plot);
    placeCursor(plot);
  });
}

function isSamePlace(a, b) {
  return Boolean(a && b) && Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) <= STILL_MOUSE;
}

/** @param {PlotView} plot */
function clearAll(plot) {
  plot.zoom("reset");
  plot.clear();
}

// The number in `maps` of the map that a point of Plotly's belongs to; -1: none.
/** @param {PlotView} plot */
function mapOf(plot, point) {
  return plot.maps.findIndex((map) => map.number === point.curveNumber);
}

/** @param {PlotView} plot */
function onHover(plot, { points: [point], event }) {
  const map = plot.maps[mapOf(plot, point)];
  if (!map || !event?.clientX) return;
  const [row, column] = point.pointNumber;
  plot.tip.element.textContent = cellText(plot, map, row, column);
  plot.tip.show(event.clientX, event.clientY);
}

// Plotly looks for the point under the mouse every 50 ms at most. Where the mouse has moved since, or the plot was drawn
// again, its click names the point before.
/** @param {PlotView} plot */
function onClick(plot, { points: [point], event }) {
  if (event?.detail > 1) return; // the second click of a double click
  const shift = Boolean(event?.shiftKey);
  if (!event?.clientX || isAt(plot, event, point.bbox)) choose(plot, point, shift);
  else setTimeout(() => chooseAt(plot, event, shift), LOOKS_MS);
}

// bbox: in the plot.
/** @param {PlotView} plot */
function isAt(plot, { clientX, clientY }, bbox) {
  const { left, top } = plot.host.getBoundingClientRect();
  const [x, y] = [clientX - left, clientY - top];
  return x >= bbox.x0 && x <= bbox.x1 && y >= bbox.y0 && y <= bbox.y1;
}

/** @param {PlotView} plot */
function choose(plot, point, shift) {
  const map = mapOf(plot, point);
  if (map < 0) {
    const index = point.pointNumber ?? point.pointIndex ?? 0;
    plot.send("click", { axis: "point", trace: point.curveNumber, point: index, x: point.x, y: point.y, shift });
    return;
  }
  plot.cursor = { map, row: point.pointNumber[0], column: point.pointNumber[1] };
  placeCursor(plot);
  plot.sendCell(shift);
}

// A tap on a label, a cell or a point; a long press does what a click with Shift does.
/** @param {PlotView} plot */
function onTap(plot, touch, shift) {
  const label = labelAt(plot, touch);
  if (label) return sendLabel(plot, label, shift);
  plot.hideTip();
  chooseAt(plot, touch, shift);
}

// Plotly itself finds the cell or point at this place, as it does for the mouse, and `onHover` shows its label.
/** @param {PlotView} plot */
function chooseAt(plot, event, shift) {
  plot.plotly.Fx.hover(plot.host, event, event.target.getAttribute("data-subplot") ?? "xy");
  const [point] = plot.host._hoverdata ?? [];
  if (point) choose(plot, point, shift);
}

/** @param {PlotView} plot */
function sendLabel(plot, { axis, position }, shift) {
  const place = axis === "x" ? { j: position } : { i: position };
  plot.send("click", { axis, ...place, trace: plot.maps[0]?.number ?? 0, shift });
}
