// What a page shows as the values of an address, under the names of the app.
import { digitOf } from "./digit.js";

const HEAD_VIEWS = ["map", "lines", "text", "vectors", "beside"];
// What is compared, and the values of side B.
const COMPARISONS = { heads: ["layer_b", "head_b"], sentences: ["text_b"], models: ["model_b", "layer_b", "head_b"] };
export const OF_B = ["compare", "layer_b", "head_b", "text_b", "model_b", "i_b", "j_b"];
const ALWAYS = ["model", "text", "similar_to", "layer", "head", "i", "j", "norm", "view", "image", "hand"];
const VECTORS = ["q", "k", "v"];

/** @param {string | number | null} text */
export const wholeNumber = (text) =>
  text === null || text === "" || !Number.isFinite(Number(text)) ? null : Math.max(0, Math.floor(Number(text)));

// The state of a page. site: what is written in it; page: its name.
/** @param {URLSearchParams} query */
export function readAddress(query, site, page) {
  const oneOf = (name, values, otherwise = values[0]) => values.includes(query.get(name)) ? query.get(name) : otherwise;
  const number = (name) => wholeNumber(query.get(name));
  const models = Object.keys(site.models);
  const digits = Object.values(site.digits ?? {});
  return {
    model: oneOf("model", models, page === "digit" ? "digits-pre" : models[0]),
    text: query.get("text") ?? (page === "predict" ? site.hidden : site.example),
    similar_to: query.get("similar_to") ?? site.second,
    layer: number("layer") ?? 0,
    head: number("head") ?? 0,
    i: number("i"),
    j: number("j"),
    first: null, // token of a long text that the picture begins with
    norm: oneOf("norm", ["", "pre", "post"]),
    view: oneOf("view", HEAD_VIEWS),
    compare: oneOf("compare", Object.keys(COMPARISONS)),
    layer_b: number("layer_b"),
    head_b: number("head_b"),
    text_b: query.get("text_b") ?? site.other,
    model_b: oneOf("model_b", ["moved", ...models]),
    i_b: number("i_b"),
    j_b: number("j_b"),
    causal: false,
    positions: true,
    off: [],
    part: openPart(query),
    component: number("component"),
    neuron: number("neuron"),
    hand: query.get("hand") ?? "",
    image: page === "digit" ? (digitOf(query.get("image")) ? query.get("image") : digits[3]) : null,
  };
}

// The same as a query.
export function written(state) {
  const names = [
    ...ALWAYS,
    ...(state.view === "beside" ? ["compare", ...COMPARISONS[state.compare], "i_b", "j_b"] : []),
    ...(state.part ? ["component", "neuron"] : []),
  ];
  const kept = names.flatMap((name) => state[name] === null || state[name] === "" ? [] : [[name, String(state[name])]]);
  return `?${new URLSearchParams([...kept, ...Object.entries(stepOf(state.part))])}`;
}

// The part of the picture of the model that is open, which an address has as a step, a vector of it or a sublayer.
function openPart(query) {
  const step = query.get("step") ?? "";
  if (step === "qkv") return VECTORS.includes(query.get("vector")) ? query.get("vector") : "q";
  return ["norm", "add"].includes(step) ? `${step}-${query.get("part") ?? "attention"}` : step;
}

function stepOf(part) {
  if (!part) return {};
  if (VECTORS.includes(part)) return { step: "qkv", vector: part };
  const [step, sublayer] = part.split("-");
  return sublayer ? { step, part: sublayer } : { step };
}
