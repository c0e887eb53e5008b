// Switches of the model's picture: where the norms are, which tokens are visible, and what is off.
/** @import { ModelView } from "./model_view.js" */
import { make, svg } from "./drawing.js";
import { drawnHeader } from "./model_decoder.js";
import { sublayersOf } from "./model_glyphs.js";

const RIVER_NAME = 104; // pixels of the words “Residual stream”

// The bar's switches: { name, label, title, on }, as the host offers them. A host without a model offers none.
/** @param {ModelView} view */
export function drawSwitches(view) {
  const known = view.header.switches?.bar ?? [];
  const focused = [...view.switches.children].indexOf(document.activeElement);
  view.switches.replaceChildren(...known.map(({ name, label, title, on }) => {
    const button = make("button", { type: "button", "aria-pressed": String(on), "aria-label": label, title }, label);
    button.addEventListener("click", () => view.send("switch", { name, on: !on }));
    return button;
  }));
  /** @type {HTMLElement | undefined} */ (view.switches.children[focused])?.focus({ preventScroll: true });
}

// The power buttons of the open layer: its sublayers and the open head.
/** @param {ModelView} view */
export function placePowers(view) {
  const { place, powers } = view;
  const header = drawnHeader(view);
  if (view.isClosed) return;
  const span = place.layers[header.layer];
  const isConformer = sublayersOf(header).includes("first_ffn");
  const at = {
    first_ffn: span.start + 4,
    attention: isConformer && place.turned ? place.parts.softmax - 24 : span.start + 4,
    convolution: place.parts.convolution,
    ffn: place.parts.ffn - 46,
  };
  const known = header.switches?.power ?? [];
  const title = make("span", {}, `${view.main ? "Decoder layer" : "Layer"} ${header.layer}`);
  const river = make("button", { type: "button", class: "enc-model-river" }, "Residual stream");
  river.addEventListener("click", () => view.choice.open("add-attention")); // where the layer first adds to it
  const put = (element, x, y) =>
    Object.assign(element.style, place.turned ? { left: `${y}px`, top: `${x}px` } : { left: `${x}px`, top: "0" });
  put(title, span.start + 4, place.top + 2);
  const nameAt = header.inPair || place.turned ? null : riverNameAt(place, span, view.theme.scale);
  if (nameAt !== null) put(river, nameAt, 0);
  // Where tokens are rows, a Conformer's five buttons need the whole line.
  const sides = isConformer
    ? (place.turned ? ["first_ffn", "attention", "convolution", "ffn"] : [""])
    : ["attention", "ffn"];
  const groups = sides.map((side, number) => {
    const group = make("div", {});
    const aside = number === 0 ? 62 * view.theme.scale : 0; // the title's width
    const x = at[side || "first_ffn"];
    if (place.turned) put(group, number === 0 ? x : x - 24, place.top + 2 + aside);
    else put(group, x + aside, 0);
    const sideOf = (name) => sides.includes(name) ? name : side && "attention";
    for (const { name, label, title: words, on } of known.filter((one) => sideOf(one.name) === side)) {
      const button = make("button", { type: "button", "aria-pressed": String(on), title: words }, powerSign(), label);
      button.addEventListener("click", () => view.send("switch", { name, on: !on }));
      group.append(button);
    }
    return group;
  });
  const focused = powers.contains(document.activeElement) ? document.activeElement.textContent : "";
  powers.replaceChildren(title, ...(nameAt === null ? [] : [river]), ...groups);
  if (focused) {
    [...powers.querySelectorAll("button")].find((one) => one.textContent === focused)?.focus({ preventScroll: true });
  }
}

// Where the name of the residual stream starts: above the thin layers on that side of the open one which has more room.
// null: neither has enough.
function riverNameAt({ layers }, { start, end }, scale) {
  const [before, after] = [start - layers[0].start, layers.at(-1).end - end];
  if (Math.max(before, after) < RIVER_NAME * scale) return null;
  return before >= after ? layers[0].start : end + 4;
}

function powerSign() {
  const sign = svg("svg", { viewBox: "0 0 16 16", width: "0.9em", height: "0.9em", "aria-hidden": "true" });
  sign.append(
    svg("path", { d: "M8 1v7M4.2 3.6a5.6 5.6 0 1 0 7.6 0", fill: "none", stroke: "currentcolor", "stroke-width": 2 }),
  );
  return sign;
}
