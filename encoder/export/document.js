// Draws every figure of a report in the reader's colours, and again when those change.

const dark = matchMedia("(prefers-color-scheme: dark)");

function withColours(figureLayout) {
  const style = getComputedStyle(document.documentElement);
  const [text, muted, ground, line] = ["text", "muted", "ground", "line"].map((name) =>
    style.getPropertyValue(`--${name}`).trim()
  );
  const axis = { gridcolor: line, linecolor: line, zerolinecolor: line };
  const layout = {
    font: { family: "system-ui, sans-serif", size: 12, color: text },
    xaxis: axis,
    yaxis: axis,
    hoverlabel: { bgcolor: ground, bordercolor: line, font: { color: text, size: 13 } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: muted, activecolor: text },
  };
  return { ...figureLayout, paper_bgcolor: ground, plot_bgcolor: "rgba(0,0,0,0)", template: { layout } };
}

for (const place of document.querySelectorAll(".figure")) {
  const source = document.getElementById(place.dataset.source).textContent;
  const filename = place.getAttribute("aria-label").replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-+|-+$/g, "") ||
    "figure";
  const svg = {
    name: "svg",
    title: "Download as SVG",
    icon: Plotly.Icons.disk,
    click: (host) =>
      Plotly.downloadImage(host, { format: "svg", filename, width: host.clientWidth, height: host.clientHeight }),
  };
  const config = {
    displaylogo: false,
    responsive: true,
    modeBarButtonsToAdd: [svg],
    modeBarButtonsToRemove: ["select2d", "lasso2d"],
    toImageButtonOptions: { format: "png", scale: 2, filename },
  };
  const draw = () => {
    const { data, layout } = JSON.parse(source);
    return Plotly.react(place, data, withColours(layout), config);
  };
  draw();
  dark.addEventListener("change", draw);
}
