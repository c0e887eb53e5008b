// A teacher's long hover: what the pointer rests on pulses on every screen of the room. No script runs for it.
// A drawing says what its pointer is on; the room's line (room_strip.js) sends it, and says what others point at.

const LONG = 700; // milliseconds
const ROOM_LINE = 44; // pixels of the room's line

// what: a few numbers that name a cell or a token; null: the pointer has left.
export function pointAt(view, what) {
  const text = JSON.stringify(what);
  if (text === (view.pointedAt ?? "null")) return;
  view.pointedAt = text;
  clearTimeout(view.resting);
  if (view.hasSpot) tell(null);
  view.hasSpot = false;
  if (!what || !document.documentElement.classList.contains("enc-points")) return;
  view.resting = setTimeout(() => {
    view.hasSpot = true;
    tell({ place: placeOf(view), ...what });
  }, LONG);
}

// elementOf: the element of what the teacher points at in this drawing, if it has one; it gets null for nothing.
export function listenToSpot(view, elementOf) {
  let element = null;
  view.listen(window, "enc-spot", ({ detail }) => {
    element?.classList.remove("enc-spot");
    element = elementOf(detail && detail.place === placeOf(view) ? detail : null);
    element?.classList.add("enc-spot");
    if (element) bringIntoView(element);
  });
}

// A student may have scrolled elsewhere, or have a smaller window. The teacher's own page stays where it is.
export function bringIntoView(element) {
  const { top, bottom } = element.getBoundingClientRect();
  const isSeen = top >= 0 && bottom <= innerHeight - ROOM_LINE;
  const teaches = document.documentElement.classList.contains("enc-teaches");
  if (!isSeen && !teaches) element.scrollIntoView({ block: "center", inline: "nearest" });
}

// The same drawing has the same name in every browser: Streamlit's class for its key.
function placeOf(view) {
  const names = view.parent.closest('[class*="st-key-"]')?.classList ?? [];
  return [...names].find((name) => name.startsWith("st-key-"));
}

function tell(spot) {
  window.dispatchEvent(new CustomEvent("enc-dwell", { detail: spot }));
}
