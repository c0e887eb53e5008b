// What a page shows as the values of an address, under the names of the app.
import { digitOf } from "./digit.js";
import { readEdits, writtenEdits } from "./edits.js";

const HEAD_VIEWS = ["map", "lines", "text", "vectors", "beside"];
// What is compared, and the values of side B.
const COMPARISONS = { heads: ["layer_b", "head_b"], sentences: ["text_b"], models: ["model_b", "layer_b", "head_b"] };
export const OF_B = ["compare", "layer_b", "head_b", "text_b", "model_b", "i_b", "j_b"];
const ALWAYS = ["model", "text", "layer", "head", "i", "j", "norm", "view", "image", "hand"];
const VECTORS = ["q", "k", "v"];
const SIMILARITY = "similarity"; // the page of two sentences
export const MOST_LETTERS = 4000; // of a text
const TEXTS = ["text", "similar_to", "text_b"];
const WHOLE = ["layer", "head", "i", "j", "layer_b", "head_b", "i_b", "j_b", "component", "neuron"];

/** @param {string | number | null} text */
export const wholeNumber = (text) =>
  text === null || text === "" || !Number.isFinite(Number(text)) ? null : Math.max(0, Math.floor(Number(text)));

// The values that a page has for each name with a choice; the first one is taken where an address names none.
function choicesOn(site, page) {
  const models = Object.keys(site.models);
  const first = page === "digit" ? "digits-pre" : models[0];
  return {
    model: [first, ...models.filter((one) => one !== first)],
    norm: ["", "pre", "post"],
    view: HEAD_VIEWS,
    compare: Object.keys(COMPARISONS),
    model_b: ["moved", ...models],
  };
}

// What an address has that this page has not, as {name, value, choices}; choices: what there is, "" for a number.
/** @param {URLSearchParams} query */
export function unknownIn(query, site, page) {
  const lacks = (name, value, choices) => [{ name, value, choices: choices.filter(Boolean).join(", ") }];
  const chosen = Object.entries(choicesOn(site, page)).flatMap(([name, values]) => {
    const value = query.get(name);
    if (value === null || values.includes(value) || name === "norm" && value === "trained") return [];
    return lacks(name, value, values);
  });
  const numbers = WHOLE.flatMap((name) => /^\d*$/.test(query.get(name) ?? "") ? [] : lacks(name, query.get(name), []));
  const edits = readEdits(query.get("edits") ?? "").others.flatMap((edit) => lacks("edits", edit, []));
  return [...chosen, ...numbers, ...edits];
}

// The state with layers and heads that its models have, and what it named beyond them as {name, value, most}: [state, limits].
export function bounded(state, models) {
  const own = models[state.model];
  const other = models[state.compare === "models" ? state.model_b : ""] ?? own;
  const counts = { layer: own.layers, head: own.heads, layer_b: other.layers, head_b: other.heads };
  const limits = Object.entries(counts).flatMap(([name, count]) =>
    count && state[name] >= count ? [{ name, value: String(state[name]), most: count - 1 }] : []
  );
  const isHere = ([layer, part]) => !own.layers || layer < own.layers && !(part >= own.heads);
  const gone = state.off.filter((one) => !isHere(one)).map(([layer, part]) => ({
    name: "edits",
    value: `L${layer} ${typeof part === "number" ? `H${part}` : part}`,
    most: null,
  }));
  const inside = Object.fromEntries(limits.map(({ name, most }) => [name, most]));
  return [{ ...state, ...inside, off: state.off.filter(isHere) }, [...limits, ...gone]];
}

// ---- What is said about these ----

const LABELS = { i: "query", j: "key", i_b: "query of B", j_b: "key of B", edits: "change" };
const labelOf = (name) => LABELS[name] ?? name.replace("_b", "");

export const lackOfLink = ({ name, value }) =>
  `This link asks for the ${labelOf(name)} “${value}”, which this page does not have.`;

export function limitOf({ name, value, most }) {
  const label = labelOf(name);
  if (most === null) return `This model has no ${value} to switch off.`;
  return `This model has ${label}s 0 to ${most}, so the view shows ${label} ${most} in place of ${value}.`;
}

// What a host set in vain. choices: what it may set; most: the largest number.
export function refusalOf({ name, value, choices = "", most = null }) {
  const which = choices || (most === null ? "a whole number from 0" : `0 to ${most}`);
  return `${name} “${value}” cannot be set: choose ${which}.`;
}

// The state of a page. site: what is written in it; page: its name.
/** @param {URLSearchParams} query */
export function readAddress(query, site, page) {
  const choices = choicesOn(site, page);
  const oneOf = (name) => choices[name].includes(query.get(name)) ? query.get(name) : choices[name][0];
  const number = (name) => wholeNumber(query.get(name));
  const digits = Object.values(site.digits ?? {});
  const { off, causal, positions, others } = readEdits(query.get("edits") ?? "");
  const state = {
    model: oneOf("model"),
    text: query.get("text") ?? (page === "predict" ? site.hidden : site.example),
    similar_to: query.get("similar_to") ?? site.second,
    layer: number("layer") ?? 0,
    head: number("head") ?? 0,
    i: number("i"),
    j: number("j"),
    first: null, // token of a long text that the picture begins with
    norm: oneOf("norm"),
    view: oneOf("view"),
    compare: oneOf("compare"),
    layer_b: number("layer_b"),
    head_b: number("head_b"),
    text_b: query.get("text_b") ?? site.other,
    model_b: oneOf("model_b"),
    i_b: number("i_b"),
    j_b: number("j_b"),
    causal,
    positions,
    off,
    others, // edits that the app does
    part: openPart(query),
    component: number("component"),
    neuron: number("neuron"),
    hand: query.get("hand") ?? "",
    image: page === "digit" ? (digitOf(query.get("image")) ? query.get("image") : digits[3]) : null,
  };
  for (const name of TEXTS) state[name] = state[name]?.slice(0, MOST_LETTERS);
  return state;
}

// The same as a query. page: that it opens; whole: with the edits that no page here does.
export function written(state, page, whole = false) {
  const names = [
    ...ALWAYS,
    ...(page === SIMILARITY ? ["similar_to"] : []),
    ...(state.view === "beside" ? ["compare", ...COMPARISONS[state.compare], "i_b", "j_b"] : []),
    ...(state.part ? ["component", "neuron"] : []),
  ];
  const kept = names.flatMap((name) => state[name] === null || state[name] === "" ? [] : [[name, String(state[name])]]);
  const edits = writtenEdits(state, whole ? state.others : []);
  return `?${new URLSearchParams([
    ...kept,
    ...(edits ? [["edits", edits]] : []),
    ...Object.entries(stepOf(state.part)),
  ])}`;
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
