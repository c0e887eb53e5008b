// Lets the old picture of a drawing fade over the new one, where the header's `shows` says that it shows something else.
const still = matchMedia("(prefers-reduced-motion: reduce)");
const MS = 600;

// Whether the drawing shows something else than the last time that this was asked.
export function showsOther(view) {
  const { shows } = view.header;
  const before = view.shownBefore;
  view.shownBefore = shows;
  return Boolean(before && shows && shows !== before);
}

// Before drawing: a copy of what an element shows, a canvas or Plotly's drawing; null if nothing is to move.
export function fadingPicture(drawn) {
  if (!drawn || still.matches) return null;
  const ghost = drawn.cloneNode(true);
  // A copied canvas is empty. Plotly's maps are images inside SVG.
  if (drawn.matches("canvas") && drawn.width) ghost.getContext("2d").drawImage(drawn, 0, 0);
  ghost.querySelector(".modebar-container")?.remove(); // its buttons have no style outside Plotly's element
  // Plotly's parts are found by their ids, which the copy keeps for itself.
  ghost.classList.add("enc-fading");
  ghost.setAttribute("aria-hidden", "true");
  ghost.inert = true;
  return ghost;
}

// After drawing: the copy lies over the new picture and disappears.
export function fadeOut(root, ghost) {
  if (!ghost) return;
  root.append(ghost);
  const ended = () => ghost.remove();
  ghost.animate({ opacity: [1, 0] }, { duration: MS, easing: "ease-in-out" }).finished.then(ended, ended);
}
