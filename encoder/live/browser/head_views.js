// The views of a head: each gives its picture, and what is said below it.
import { inWords } from "../../drawing/drawing.js";
import { comparedPicture } from "./compared_picture.js";
import { mapPicture, vectorsPicture } from "./head_figures.js";
import { named } from "./labels.js";
import { linesPicture, textPicture } from "./pictures.js";
import { editsOf, model, pass } from "./running.js";

// {picture, said, terms, other, cutTo}: terms: of a sum, as bars; other: the layer and head of side B; cutTo: the tokens
// of side B where its text has more.
export const OF_HEAD = {
  map: ({ trace, labels, place, site }) => ({
    picture: mapPicture(trace, labels, place, site.figures),
    said: ofPair(trace, labels, place),
  }),
  lines: ({ trace, labels, place }) => ({
    picture: linesPicture(trace, labels, place),
    said: ofPair(trace, labels, place),
  }),
  text: ({ trace, labels, place }) => ({
    picture: textPicture(trace, labels, place),
    said: ofPair(trace, labels, place),
  }),
  vectors: ({ used, trace, tokens, place, site }) => vectorsPicture(used, trace, tokens, place, site.figures),
  beside: async (view) => {
    const { side, cutTo } = await otherSide(view);
    const { state, site } = view;
    const sides = [sideOf(view, state.text), side];
    const { layer, head } = side;
    return {
      ...comparedPicture(sides, state, state.compare, site.figures),
      other: { layer, head },
      cutTo,
    };
  },
};

// The weight of the selected pair, as a sentence.
function ofPair({ layers, nTokens }, labels, { layer, head, query, key }) {
  if (query === null || key === null) return [];
  const names = named(labels);
  const weight = inWords(layers[layer].pattern[head][query * nTokens + key]);
  return [`“${names[query]}” attends to “${names[key]}” with a weight of ${weight} in L${layer} H${head}.`];
}

// A head as `comparedPicture` draws it.
function sideOf({ used, trace, labels, place: { layer, head }, state: { compare: what } }, text) {
  const { name, config: { norm_placement: trained } } = used.about;
  const moved = trace.placement === trained ? "" : `, norms moved to ${trace.placement}-norm`;
  const differs = { heads: "", sentences: text, models: `${name}${moved}` }[what];
  return { trace, labels, layer, head, differs };
}

// Side B of a comparison: another head, the same head in another sentence, or a head of another model.
async function otherSide({ used, trace, place, state, site }) {
  const { compare: what, model: own, model_b: named } = state;
  const isOther = what === "models" && named !== "moved";
  const name = isOther ? named : own;
  const one = isOther ? await model(name, site) : used;
  const edits = isOther ? editsOf({ ...state, norm: "" }) : editsOf(state);
  if (what === "models" && !isOther) edits.placement = trace.placement === "pre" ? "post" : "pre";
  const text = what === "sentences" ? state.text_b : state.text;
  const read = await pass(one, { model: name, text }, edits);
  const labels = read.tokens.map(({ label }) => label);
  const side = sideOf({
    used: one,
    trace: read.trace,
    labels,
    place: otherHead(place, state, one.encoder.config),
    state,
  }, text);
  return { side, cutTo: read.isCut ? labels.length : 0 };
}

// As chosen, or the next head, or the same head of another model; within what the model has.
function otherHead({ layer, head }, { compare: what, layer_b, head_b }, { n_layers: nLayers, n_heads: nHeads }) {
  if (what === "sentences") return { layer, head };
  const next = what === "heads" ? (head + 1) % nHeads : head;
  return { layer: Math.min(layer_b ?? layer, nLayers - 1), head: Math.min(head_b ?? next, nHeads - 1) };
}
