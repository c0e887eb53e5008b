// What each colour and shape of the model's picture means, with its number.
/** @import { ModelView } from "./model_view.js" */
import { make, threeDigits, withNorm } from "./drawing.js";
import { isFar, sublayersOf } from "./model_glyphs.js";
import { FAINTEST_LINE } from "./model_layout.js";
import { signColours } from "./model_parts.js";

// The items of the legend: a mark as in the picture, and its words.
/** @param {ModelView} view */
export function legendOf(view) {
  const { header, arrays } = view;
  if (header.curves) {
    const said = "Curve: length of a token’s vector in the residual stream, after each sublayer. " +
      "Point at a token’s name to find its curve.";
    return [legendItem([], said)];
  }
  if (isFar(view)) return fromAfar(header);
  const normed = header.norms.length && header.norm !== "pre" ? withNorm(", after each LayerNorm", header) : "";
  const band = `width of a band: length of the token’s vector in the residual stream${normed}, here up to ${
    threeDigits(view.widest)
  }`;
  const isConformer = sublayersOf(header).includes("convolution");
  const adding = isConformer ? "attention, convolution and feed-forward (half of it)" : "attention and feed-forward";
  const found = [
    legendItem(["enc-model-band"], band),
    legendItem(["enc-model-line"], `attention weight of ${headName(header)}, from ${FAINTEST_LINE} on`),
    legendItem(["enc-model-by-attention", "enc-model-by-ffn"], `length of what ${adding} add`),
  ];
  if (arrays.positions) {
    found.push(legendItem(["enc-model-token", "enc-model-position"], "length of token and position vector"));
  }
  if (header.norms.length) {
    const where = header.norm === "pre"
      ? `LayerNorm before a sublayer (pre-norm)${isConformer ? ", and at the end of each layer" : ""}`
      : `LayerNorm after the addition (post-norm)${isConformer ? ", and at the end of each layer" : ""}`;
    found.push(legendItem([`enc-model-block enc-${header.norm}`], withNorm(where, header)));
  }
  if (arrays.vector) {
    found.push(make("li", {}, ...signColours(), " numbers of the vector at the end; stronger: larger"));
  }
  if (header.special?.length) {
    found.push(legendItem([], `${header.special.join(", ")}: special tokens, which the tokenizer adds to the text`));
  }
  return [...found, ...windowOf(view)];
}

// What a class needs for the marks that have no name above them, in few words.
function fromAfar({ layer, head }) {
  return [
    legendItem(["enc-model-line"], `weights of head L${layer} H${head}, from ${FAINTEST_LINE} on`),
    legendItem(["enc-model-k", "enc-model-v", "enc-model-q"], "key, value, query"),
    legendItem(["enc-model-by-attention", "enc-model-by-ffn"], "added by attention, by feed-forward"),
    legendItem(["enc-model-band"], "width of a band: length of the vector"),
  ];
}

const headName = ({ layer, head }) => `L${layer} H${head} (layer ${layer}, head ${head})`;

export const legendItem = (marks, words) =>
  make("li", {}, ...marks.map((mark) => make("i", { class: `enc-model-key ${mark}` })), words);

// Which tokens of a long input are drawn.
/** @param {ModelView} view */
function windowOf({ header, pan: { shown: [first, count] } }) {
  const said = `tokens ${first} to ${first + count - 1} of ${header.count} are drawn; the strip moves this window`;
  return header.count > count ? [legendItem([], said)] : [];
}
