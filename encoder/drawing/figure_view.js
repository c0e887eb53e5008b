// A Plotly figure in a page of its own or in a notebook; `Plotly` is there where a page has figures.
import { make } from "./drawing.js";
import { Drawing, fileName, readTheme } from "./shared.js";

const NARROW_FIGURE = 480; // pixels: the buttons of a wider figure leave its title free
const TO_ZOOM = ["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d"];
const AROUND_MAP = 80; // pixels of a square map's height that are more than its width: the scale and its axis

// The height of a figure in a place. A map of square cells needs no more than its width.
export const heightIn = (place, { height, figure }) =>
  figure.layout.yaxis?.scaleanchor ? Math.min(height, place.clientWidth + AROUND_MAP) : height;

// A figure's layout in the colours of a theme.
export function withColours(figureLayout, { text, muted, ground, line }) {
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line };
  const layout = {
    font: { family: "system-ui, sans-serif", size: 12, color: text },
    xaxis: axis,
    yaxis: axis,
    hoverlabel: { bgcolor: ground, bordercolor: line, font: { color: text, size: 13 } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: muted, activecolor: text },
  };
  // The colours of cells are transparent towards 0, which Plotly's choice of a colour for their numbers leaves out.
  const template = { layout, data: { heatmap: [{ textfont: { color: text } }] } };
  return { ...figureLayout, paper_bgcolor: ground, plot_bgcolor: "rgba(0,0,0,0)", template };
}

// Draws a figure, or its newer state, with a button for each kind of file. name: of a downloaded picture.
export function drawFigure(place, { data, layout }, colours, name) {
  const filename = fileName(name);
  const size = () => ({ width: place.clientWidth, height: place.clientHeight });
  const vector = {
    name: "svg",
    title: "Download as SVG",
    icon: Plotly.Icons.disk,
    click: (host) => Plotly.downloadImage(host, { format: "svg", filename, ...size() }),
  };
  return Plotly.react(place, data, withColours(layout, colours), {
    displaylogo: false,
    responsive: true,
    modeBarButtonsToAdd: [vector],
    modeBarButtonsToRemove: ["select2d", "lasso2d", ...(place.clientWidth < NARROW_FIGURE ? TO_ZOOM : [])],
    toImageButtonOptions: { format: "png", scale: 2, filename },
  });
}

// A map of attention: a click selects its query and its key.
/** @extends {Drawing<FigureHeader, Sent<ModelEvent>>} */
export class FigureView extends Drawing {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    const figure = make("div", { class: "enc-figure", role: "img" });
    super(parent, "The figure", "enc-figure-root", figure);
    this.figure = figure;
    this.removed.signal.addEventListener("abort", () => Plotly.purge(figure));
  }

  /** @param {Block<FigureHeader>} block */
  async read({ header }) {
    const { background: ground, text, muted, faint: line } = readTheme(this.parent);
    this.figure.setAttribute("aria-label", header.alt);
    this.figure.style.height = `${heightIn(this.figure, header)}px`;
    await drawFigure(this.figure, header.figure, { ground, text, muted, line }, header.name);
    if (this.header) return void (this.header = header);
    this.header = header;
    const events = /** @type {any} */ (this.figure); // Plotly adds its methods to the element
    events.on("plotly_click", ({ points: [{ pointIndex }] }) => {
      if (!Array.isArray(pointIndex)) return;
      const [row, column] = pointIndex;
      this.send("select", { query: this.header.places[0][row], key: this.header.places[1][column] });
    });
  }
}
