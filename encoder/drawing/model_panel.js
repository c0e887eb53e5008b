// The panel of the open part, next to it. It is as high as its content where the window has room, else it is cut below a
// row, with a sign.
/** @import { ModelView } from "./model_view.js" */
import { make } from "./drawing.js";
import { neighbour, partPanel } from "./model_parts.js";

const [ABOVE_PANEL, BELOW_PANEL] = [56, 10]; // pixels of the window: the bar of the pages, and a margin
const EDGE = 34; // pixels between a part and the panel
// The parts of attention refer to one another.
const OF_ATTENTION = { k: 1, v: 1, scores: 1, softmax: 1, q: 1, mixing: 1, heads: 1 };
const LEAST_PANEL = 192; // pixels; a lower window is scrolled
const SIGN_HEIGHT = 36; // of the sign that more is below and the border under it: higher than a row, to cover the next
const PANEL_ROWS =
  "header, p, h3, li, tr, nav, .enc-model-math, .enc-model-strips > *, .enc-model-options, .enc-model-check";

// Puts the panel at `wanted` pixels of its place, or higher up to `highest` where its content needs that. It stays where
// its reader has scrolled it; what the reader has asked for comes into view.
function fitPanel(panel, wanted, highest = 0) {
  const { scrollTop } = panel;
  sizePanel(panel, wanted, highest);
  panel.scrollTop = scrollTop;
  const asked = panel.querySelector("[data-asked]");
  if (!asked) return;
  const below = asked.getBoundingClientRect().bottom - panel.getBoundingClientRect().bottom + SIGN_HEIGHT;
  if (below > 0) panel.scrollTop += below;
  noMoreBelow(panel);
}

function sizePanel(panel, wanted, highest) {
  panel.querySelector(".enc-model-more")?.remove();
  Object.assign(panel.style, { maxHeight: "none", top: `${wanted}px` });
  const { top: start, bottom: end } = panel.parentElement.getBoundingClientRect();
  // A picture out of the window, such as a later slide, has the room that it gets when it is scrolled to.
  const above = start >= globalThis.innerHeight || end <= 0 ? ABOVE_PANEL : start;
  const lowest = globalThis.innerHeight - above - BELOW_PANEL;
  const content = panel.offsetHeight;
  const top = Math.max(highest, ABOVE_PANEL - above, Math.min(wanted, lowest - content));
  // A panel below its part is scrolled into the window, so it may be as high as the window.
  const room = highest ? globalThis.innerHeight - ABOVE_PANEL - 2 * BELOW_PANEL : lowest - top;
  panel.style.top = `${top}px`;
  if (content > room) cutPanel(panel, Math.max(LEAST_PANEL, room));
}

// Ends the panel below its last whole row. A row inside a formula, or next to a higher one, does not end it.
function cutPanel(panel, room) {
  const start = panel.getBoundingClientRect().top - panel.scrollTop;
  const rows = [...panel.querySelectorAll(PANEL_ROWS)].map((row) => row.getBoundingClientRect());
  const isInside = (edge) => rows.some(({ top, bottom }) => top - start < edge - 1 && bottom - start > edge + 1);
  const edges = rows.map(({ bottom }) => bottom - start);
  const last = Math.max(...edges.filter((edge) => edge <= room - SIGN_HEIGHT && !isInside(edge)));
  panel.style.maxHeight = `${Number.isFinite(last) ? last + SIGN_HEIGHT : room}px`;
  const more = make("button", { type: "button", class: "enc-model-more" }, "↓ More below");
  more.addEventListener("click", () => panel.scrollBy({ top: panel.clientHeight - SIGN_HEIGHT }));
  panel.append(more);
  noMoreBelow(panel);
}

// Hides the sign at the end of the content. It keeps its room, so no button moves under a click.
function noMoreBelow(panel) {
  /** @type {HTMLElement | null} */
  const more = panel.querySelector(".enc-model-more");
  if (!more) return;
  const isEnd = panel.scrollTop + panel.clientHeight >= panel.scrollHeight - 2;
  more.style.visibility = isEnd ? "hidden" : "";
}

// The panel of the open part: what it holds, where it is, its keys.
export class PartPanel {
  /** @param {ModelView} view @param {string} what */
  constructor(view, what) {
    this.view = view;
    this.element = make("section", {
      class: "enc-model-opened",
      hidden: "",
      "aria-label": `The open part of the ${what}`,
    });
    view.listen(this.element, "keydown", (event) => this.key(event));
    view.listen(document, "keydown", ({ key }) => this.keyOutside(key));
    view.listen(this.element, "scroll", () => noMoreBelow(this.element), { passive: true });
  }

  draw() {
    const { element, view } = this;
    const { part } = view.choice;
    element.hidden = !part;
    view.root.dataset.opened = part;
    if (!part) return element.replaceChildren();
    const focus = element.contains(document.activeElement)
      ? this.stops.indexOf(/** @type {HTMLElement} */ (document.activeElement))
      : null;
    const { scrollTop } = element;
    element.replaceChildren(...partPanel(view));
    element.scrollTop = scrollTop;
    if (focus !== null) (this.stops[focus] ?? this.title)?.focus();
    this.fit();
    view.emphasise();
    for (const chip of /** @type {Iterable<HTMLElement>} */ (view.chips.children)) {
      chip.setAttribute("aria-expanded", String(chip.dataset.key === part));
    }
  }

  // What may have the keyboard's focus, which stays at its place after the numbers have changed.
  get stops() {
    return /** @type {HTMLElement[]} */ ([...this.element.querySelectorAll("button, h2")]);
  }

  get title() {
    return this.element.querySelector("h2");
  }

  focusTitle() {
    this.title?.focus({ preventScroll: true });
  }

  // Next to the part that it explains, so that the part stays visible: of attention all of it, from K to W_O.
  fit() {
    const { element, view: { body, chips, choice: { part }, place } } = this;
    if (!part || !place) return;
    /** @type {HTMLElement | null} */
    const chip = chips.querySelector(`[data-key="${part === "scores" ? "softmax" : part}"]`);
    const x = chip ? Number(chip.dataset.at) : 0;
    if (place.turned) return this.fitBelow(x);
    const width = body.clientWidth;
    const isAttention = part in OF_ATTENTION;
    const [from, to] = isAttention ? [place.parts.k - EDGE, place.parts["add-attention"] - EDGE] : [x - EDGE, x + EDGE];
    const right = width - to >= from;
    const least = isAttention ? 26 : 36;
    const beside = right ? width - to : from; // pixels next to what stays visible
    element.style.width = `max(min(calc(${least}rem * var(--enc-type, 1)), 96%), min(46rem, ${beside}px))`;
    const away = Math.max(0, Math.min(right ? to : width - from, width - element.offsetWidth));
    element.style.left = right ? `${away}px` : "auto";
    element.style.right = right ? "auto" : `${away}px`;
    fitPanel(element, place.top - 10);
  }

  // A picture with columns has no room next to a part: what is open is below it.
  /** @param {number} x */
  fitBelow(x) {
    const { element, view } = this;
    Object.assign(element.style, { left: "0", right: "auto", width: "" });
    fitPanel(element, x + 26, x + 26);
    // A class, and a reader of a lesson, see question and result first.
    const isTold = document.querySelector(".enc-in-room, .st-key-lesson-panel");
    const isOwn = view.root.matches(":hover, :focus-within");
    if (isOwn || !isTold) element.scrollIntoView({ block: "nearest" });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { choice } = this.view;
    const offset = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = offset && neighbour(this.view, offset);
    if (event.key === "Escape") choice.back();
    else if (next) choice.open(next);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // A part that a link opened has no focus, and neither has one whose picture Streamlit has made again.
  /** @param {string} key */
  keyOutside(key) {
    const { choice } = this.view;
    if (key === "Escape" && choice.part && document.activeElement === document.body) choice.back();
  }
}
