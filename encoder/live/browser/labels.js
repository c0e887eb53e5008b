// The names of tokens in pictures, as encoder/figures/axes.py gives them.
import { isolated } from "../../drawing/drawing.js";

const LONGEST_LABEL = 28;

export const lettersOf = (text) => [...text].length;
export const cutTo = (text, most) => lettersOf(text) > most ? `${[...text].slice(0, most - 1).join("")}…` : text;

// Plotly would take the token <s> for the start of struck text.
export const withoutMarkup = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// A token as an axis shows it.
export function shownLabel(label) {
  const text = label.replaceAll("\n", "⏎").replaceAll("\t", "⇥");
  const visible = text.trim() === "" ? "␣".repeat(lettersOf(text)) : cutTo(text, LONGEST_LABEL);
  return withoutMarkup(isolated(visible));
}

// A name that begins with a label, such as "the (4)", as `shownLabel` writes the label.
export const shownName = (label, name) =>
  name.startsWith(label) ? shownLabel(label) + withoutMarkup(name.slice(label.length)) : name;

// Labels, with their positions where a token occurs twice: "the (4)". positions: null for a label without a token.
export function named(labels, positions = labels.map((_, at) => at)) {
  const often = repeated(labels.filter((_, at) => positions[at] !== null));
  return labels.map((label, at) => positions[at] !== null && often(label) ? `${label} (${positions[at]})` : label);
}

// Whether a label occurs more than once.
export function repeated(labels) {
  const counts = new Map();
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  return (label) => counts.get(label) > 1;
}
