// How high the open part is: as high as its content where the window has room, else cut below a row, with a sign.
import { make } from "./drawing.js";

const [ABOVE_PANEL, BELOW_PANEL] = [56, 10]; // pixels of the window: the bar of the pages, and a margin
const LEAST_PANEL = 192; // pixels; a lower window is scrolled
const SIGN_HEIGHT = 36; // of the sign that more is below and the border under it: higher than a row, to cover the next
const PANEL_ROWS =
  "header, p, h3, li, tr, nav, .enc-model-math, .enc-model-strips > *, .enc-model-options, .enc-model-check";

// Puts the panel at `wanted` pixels of its place, or higher up to `highest` where its content needs that.
export function fitPanel(panel, wanted, highest = 0) {
  panel.querySelector(".enc-model-more")?.remove();
  Object.assign(panel.style, { maxHeight: "none", top: `${wanted}px` });
  const above = panel.parentElement.getBoundingClientRect().top;
  const lowest = globalThis.innerHeight - above - BELOW_PANEL;
  const content = panel.offsetHeight;
  const top = Math.max(highest, ABOVE_PANEL - above, Math.min(wanted, lowest - content));
  // A panel below its part is scrolled into the window, so it may be as high as the window.
  const room = highest ? globalThis.innerHeight - ABOVE_PANEL - 2 * BELOW_PANEL : lowest - top;
  panel.style.top = `${top}px`;
  if (content > room) cutPanel(panel, Math.max(LEAST_PANEL, room));
}

// Ends the panel below its last whole row.
function cutPanel(panel, room) {
  const start = panel.getBoundingClientRect().top - panel.scrollTop;
  const edges = [...panel.querySelectorAll(PANEL_ROWS)].map((row) => row.getBoundingClientRect().bottom - start);
  const last = Math.max(...edges.filter((edge) => edge <= room - SIGN_HEIGHT));
  panel.style.maxHeight = `${Number.isFinite(last) ? last + SIGN_HEIGHT : room}px`;
  const more = make("button", { type: "button", class: "enc-model-more" }, "↓ More below");
  more.addEventListener("click", () => panel.scrollBy({ top: panel.clientHeight - SIGN_HEIGHT }));
  panel.append(more);
  noMoreBelow(panel);
}

// At the end of the content the sign goes.
export function noMoreBelow(panel) {
  const more = panel.querySelector(".enc-model-more");
  if (more) more.hidden = panel.scrollTop + panel.clientHeight >= panel.scrollHeight - 2;
}
