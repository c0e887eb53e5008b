// Lets the old picture of a plot fade over the new one, where the header's `fade` says that both belong together.
const still = matchMedia("(prefers-reduced-motion: reduce)");
const MS = 600;

// Before drawing: a copy of what the plot shows, if it is to fade; otherwise null.
export function fadingPicture(plot) {
  const { fade } = plot.header;
  const isOther = plot.faded !== undefined && plot.faded !== null && fade !== null && fade !== plot.faded;
  plot.faded = fade;
  const drawn = plot.host.querySelector(".svg-container");
  if (!isOther || !drawn || still.matches) return null;
  const ghost = drawn.cloneNode(true);
  // Plotly's parts are found by their ids, which the copy keeps for itself. A canvas would be empty, and maps have none.
  ghost.classList.add("enc-fading");
  ghost.setAttribute("aria-hidden", "true");
  ghost.inert = true;
  return ghost;
}

// After drawing: the copy lies over the new picture and disappears.
export function fadeOut(plot, ghost) {
  if (!ghost) return;
  plot.root.append(ghost);
  const ended = () => ghost.remove();
  ghost.animate({ opacity: [1, 0] }, { duration: MS, easing: "ease-in-out" }).finished.then(ended, ended);
}
