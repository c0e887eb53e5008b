// plotly.js itself: loaded once a page, as 0.4 MB of gzip that the browser unpacks; and its configuration.
import { make } from "../../encoder/drawing/drawing.js";
import { appUrl } from "./address.js";

export function loadPlotly(path) {
  window.__encoderscopePlotly ??= fetchPlotly(path).catch((error) => {
    window.__encoderscopePlotly = undefined; // the next chart tries again
    throw error;
  });
  return window.__encoderscopePlotly;
}

async function fetchPlotly(path) {
  const response = await fetch(appUrl(path), { cache: "force-cache" });
  if (!response.ok) throw new Error(`Plotly's script did not load (HTTP ${response.status}). Reload the page.`);
  let source = await response.blob();
  const start = new Uint8Array(await source.slice(0, 2).arrayBuffer());
  if (start[0] === 0x1f && start[1] === 0x8b) { // a proxy may have unpacked it
    source = await new Response(source.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
  }
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    await runScript(url);
  } finally {
    URL.revokeObjectURL(url);
  }
  return window.Plotly;
}

function runScript(url) {
  return new Promise((resolve, reject) => {
    const tag = make("script", { src: url });
    tag.onload = resolve;
    tag.onerror = () => reject(new Error("Plotly's script did not run. Reload the page."));
    document.head.append(tag);
  });
}

// hasBar: whether there is a mode bar. save: takes "png" or "svg". Make it once a plot: with a new configuration, Plotly draws everything again and forgets the
// zoom.
export function plotlyConfig({ camera, disk }, hasBar, save) {
  const button = (name, icon) => {
    return { name: `Download ${name}`, title: `Download as ${name}`, icon, click: () => save(name.toLowerCase()) };
  };
  const zooms = [["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]];
  return {
    displaylogo: false,
    responsive: false,
    scrollZoom: false,
    showTips: false,
    doubleClick: false, // `plot_pointer` resets the zoom: Plotly takes two quick clicks anywhere for a double click
    displayModeBar: hasBar && (matchMedia("(hover: none)").matches || "hover"),
    modeBarButtons: [...zooms, [button("PNG", camera), button("SVG", disk)]],
  };
}
