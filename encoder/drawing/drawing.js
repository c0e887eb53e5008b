// How strong lines and shades are, in which colours, and what is said of a token. Nothing here needs a page.

// Of attention weights in every view; encoder/figures/colours.py has the same.
export const ATTENTION = "#3b82e6";

export const FAINTEST = 1 / 255; // a fainter line changes no pixel
const DECADES = 4; // the logarithmic scale shows no smaller weights
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u;
const EASE = 0.6; // a curve that separates faint weights; the legend has the same one

// An element with attributes and children. Text is only ever set as text: tokens are user input.
/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} attributes
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

// An element of SVG with attributes and children.
/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} attributes
 * @param {(Node | string)[]} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

// Three significant digits: 0.184, 0.00245, 0.5. `three_digits` in encoder/figures/numbers.py gives the same text.
/** @param {number} value */
export function threeDigits(value) {
  const rounded = Number(value.toPrecision(3));
  return Number.isFinite(rounded) ? String(rounded).replace(/^-/, "−") : "no value";
}

// A number inside a sentence, without an exponent; a weight below 1 is never written as 1.
// `in_words` in encoder/figures/numbers.py gives the same text.
export function inWords(value) {
  if (value && Math.abs(value) < 1e-6) return "less than 0.000001";
  return value < 1 && threeDigits(value) === "1" ? ">0.999" : threeDigits(value);
}

// A part's name with the norm that the model has. Pictures saved by earlier versions do not name it.
/** @type {(text: string, header: { normName?: string }) => string} */
export const withNorm = (text, { normName = "LayerNorm" }) => text.replace("LayerNorm", normName);

export const sum = (values) => values.reduce((total, value) => total + value, 0);

// The opacity of a line and its width in pixels. A line thinner than a pixel is slower to draw and not visible.
export function lineStyle(weight, selected) {
  return [selected ? Math.max(0.06, Math.sqrt(weight)) : weight, Math.max(1, 0.6 + 2.6 * weight)];
}

// 0 to 1: how strong the shade of a weight is. top: the weight of the full shade.
export function shadeStrength(value, top, log) {
  if (!(value > 0)) return 0;
  const share = Math.min(1, value / top);
  return log ? Math.max(0, 1 + Math.log10(share) / DECADES) : share ** EASE;
}

// The weight at a place of the legend, 0 to 1.
export const legendWeight = (place, top, log) => log ? top * 10 ** (DECADES * (place - 1)) : top * place;

// The words at the lower end of the legend.
export const legendStart = (top, log) => log ? `≤ ${threeDigits(legendWeight(0, top, log))}` : "0";

// Relative luminance (WCAG 2) of [red, green, blue], 0 black to 1 white.
/** @param {Colour} channels */
export function luminance(channels) {
  const linear = channels.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

// One colour over another, both [red, green, blue].
/** @type {(ground: Colour, colour: Colour, share: number) => Colour} */
export const blend = (ground, colour, share) =>
  ground.map((channel, k) => Math.round(channel + (colour[k] - channel) * share));

// The colour of letters on a ground: "" (the theme's own) while its contrast is enough, else black or white.
export function ink(ground, textLuminance) {
  const own = luminance(ground);
  const [dark, light] = [textLuminance, own].sort((a, b) => a - b);
  if ((light + 0.05) / (dark + 0.05) >= 4.5) return "";
  return own > 0.179 ? "#000" : "#fff";
}

// A token whose direction does not change its surroundings (Unicode TR 9).
export const isolated = (label) => RIGHT_TO_LEFT.test(label) ? `\u2068${label}\u2069` : label;

// "query → key", read from left to right in every script, as `arrow` in encoder/figures/axes.py writes it.
export function arrow(query, key) {
  const shown = [query, key].map(isolated);
  return `${shown.join() === [query, key].join() ? "" : "\u200e"}${shown.join(" → ")}`;
}

// "the (4) attends most to mat 0.31, cat 0.2, on 0.1."; without weights under a thousandth of the largest.
export function strongest(name, isQuery, values, names) {
  const least = Math.max(...values) / 1000;
  const found = Array.from(values, (value, place) => [value, place]).filter(([value]) => value > 0 && value >= least);
  const first = found.sort((a, b) => b[0] - a[0]).slice(0, 3);
  const list = first.map(([value, place]) => `${names[place]} ${inWords(value)}`).join(", ") || "no token";
  return `${name} ${isQuery ? "attends most to" : "is attended to most by"} ${list}.`;
}
