// From one forward pass to the next, with the norms elsewhere: bands change their thickness, norms slide to their place,
// and the caption says what changed most.
/** @import { ModelView } from "./model_view.js" */
import { threeDigits, withNorm } from "./drawing.js";
import { drawnHeader } from "./model_decoder.js";
import { placeChips, SAID, slideParts, sublayersOf } from "./model_glyphs.js";
import { layout } from "./model_layout.js";
import { bandOf } from "./model_river.js";

const MOVE_MS = 500; // bands that change with another norm placement or model
const stillModel = matchMedia("(prefers-reduced-motion: reduce)");

// The vector whose length changes most, in words. before, now: lengths [stages, tokens] of the same tokens.
/** @param {ModelView} view @param {Numbers} before @param {Numbers} now @param {ModelHeader} header */
export function largestChange(view, before, now, header) {
  const { labels, stages, norm } = header;
  if (before.length !== now.length) return "";
  let most = 0;
  const change = (at) => Math.abs(Math.log(now[at] / before[at]));
  for (let at = 1; at < now.length; at++) if (change(at) > change(most)) most = at;
  const [stage, token] = [Math.floor(most / labels.length), most % labels.length];
  const where = norm === "pre" ? "LayerNorm before each sublayer" : "LayerNorm after each addition";
  const longest = now.reduce((top, value) => Math.max(top, value), 0);
  const scale = view.scale !== longest ? ` Full band: ${threeDigits(view.scale)} → ${threeDigits(longest)}.` : "";
  return `${where}: “${labels[token]}” changes most, length ${threeDigits(before[most])} → ${threeDigits(now[most])} ` +
    `${stageName(stages[stage], header)}.${scale}`;
}

// "layers.5.after_ffn" -> "after layer 5".
/** @param {string} stage @param {ModelHeader} header */
function stageName(stage, header) {
  const [, layer, sublayer] = stage.match(/^layers\.(\d+)\.after_(\w+)$/) ?? [];
  if (layer) return `after ${sublayersOf(header).at(-1) === sublayer ? "" : `${SAID[sublayer]} in `}layer ${layer}`;
  return stage === "output" ? withNorm("after the last LayerNorm", header) : `at the ${stage}`;
}

// Draws the new numbers: from the thickness before to that of now, if there is one and motion is wanted.
/** @param {ModelView} view @param {Numbers | null} before @param {boolean} moved */
export function drawChange(view, before, moved) {
  if (before && before.length === view.arrays.stream.data.length && !stillModel.matches) moveFrom(view, before, moved);
  else {
    view.isMoving = false;
    view.draw();
  }
}

/** @param {ModelView} view @param {Numbers} before @param {boolean} moved */
function moveFrom(view, before, moved) {
  const [after, start] = [view.arrays.stream.data, performance.now()];
  const [scaleBefore, scaleAfter] = [view.scale || view.longest, view.longest];
  let isFirst = true;
  const frame = (now) => {
    if (view.removed.signal.aborted || after !== view.arrays.stream.data) return;
    // The last frame makes all parts again, which would lose a click that has begun.
    const share = Math.max(0, Math.min(view.press ? 0.99 : 1, (now - start) / MOVE_MS));
    view.slid = moved ? share : 1;
    view.shownStream = share === 1 ? after : after.map((value, at) => before[at] + (value - before[at]) * share);
    view.isMoving = share < 1;
    view.scale = scaleBefore + (scaleAfter - scaleBefore) * share;
    isFirst || share === 1 ? view.draw() : drawMoving(view, moved);
    isFirst = false;
    if (share < 1) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

// A frame between two drawings: nothing is made again. A whole drawing takes several frames' time.
/** @param {ModelView} view @param {boolean} moved */
function drawMoving(view, moved) {
  const { header, theme } = view;
  if (header.curves || view.isClosed) return view.draw();
  if (moved) {
    view.place = layout(drawnHeader(view), view.place.width, theme.scale, view.slid, view.pan.from, view.tall);
    slideParts(view.drawing, view.drawnParts, view.place);
    placeChips(view);
  }
  for (const band of /** @type {NodeListOf<SVGElement>} */ (view.drawing.querySelectorAll(".enc-model-bands path"))) {
    band.setAttribute("d", bandOf(view, Number(band.dataset.token)));
  }
}
