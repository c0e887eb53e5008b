// Two heads and the difference of their maps: what pages/heads/compare shows.
import { inWords, threeDigits } from "../../drawing/drawing.js";
import { aligned, comparableNames } from "./engine/alignment.js";
import { compared, cosineAt, leastAlike } from "./engine/compared.js";
import { farthest, filled } from "./figures.js";
import { sideBySide } from "./head_figures.js";
import { named, repeated } from "./labels.js";

const COMPARED_HEIGHT = 400;
const MOST_STEPS = 256;
const SIDES = ["A", "B"];

// {picture, said}. sides: {trace, labels, layer, head, differs} of A and of B; differs: its sentence or model; selected: i, j, i_b and j_b of the address;
// what: "heads", "sentences" or "models".
/** @param {any[]} sides */
export function comparedPicture(sides, selected, what, figures) {
  const [one, other] = sides;
  const steps = aligned(
    comparableNames(one.labels, one.trace.special),
    comparableNames(other.labels, other.trace.special),
  );
  if (steps.isSame.length > MOST_STEPS) {
    throw new Error(`Compare shows up to ${MOST_STEPS} tokens of both sides: shorten the text.`);
  }
  const found = compared(sides.map(({ trace, layer, head }) => trace.layers[layer].pattern[head]), steps);
  // Pre-norm is teal on every page.
  const isFlipped = what === "models" && one.trace.placement === "pre" && other.trace.placement === "post";
  const [less, more] = isFlipped ? ["B", "A"] : ["A", "B"];
  const of = { steps, found, less, more, ...labelsOf(sides, steps), selected: selectedSteps(steps, selected) };
  const places = [["i", "i_b"], ["j", "j_b"]].map(([name, name_b]) =>
    steps.first.map((token, at) => ({ [name]: token, [name_b]: token === null ? steps.second[at] : null }))
  );
  const drawn = [mapOfSide(of, 0, one, figures), mapOfSide(of, 1, other, figures), changeOf(of, figures)];
  return {
    picture: sideBySide(drawn.map((figure) => ({ ...figure, places, height: COMPARED_HEIGHT }))),
    said: [...ofSelected(of), ofLargest(of), ...(what === "sentences" ? ofOutputs(of, one, other) : []), legendOf(of)],
  };
}

// labels: of the steps of each side, of both; names: of both, where a token occurs twice with its positions: "the (4 | 6)".
function labelsOf(sides, steps) {
  const ofSide = [steps.first, steps.second].map((tokens, side) =>
    tokens.map((token) => token === null ? "–" : sides[side].labels[token])
  );
  const both = steps.isSame.map((isSame, at) => {
    if (isSame || steps.second[at] === null) return ofSide[0][at];
    return steps.first[at] === null ? ofSide[1][at] : `${ofSide[0][at]} | ${ofSide[1][at]}`;
  });
  const isRepeated = repeated(both);
  const names = both.map((label, at) => {
    const positions = [...new Set([steps.first[at], steps.second[at]])].map((place) => place ?? "–");
    return isRepeated(label) ? `${label} (${positions.join(" | ")})` : label;
  });
  return { labels: [...ofSide, both], names };
}

// The steps of the selected query and key: of a token of A, or else of B.
function selectedSteps({ first, second }, { i, j, i_b, j_b }) {
  const stepOf = (token, token_b) => {
    const at = [first.indexOf(token), second.indexOf(token_b)];
    return token !== null && at[0] >= 0 ? at[0] : token_b !== null && at[1] >= 0 ? at[1] : null;
  };
  return { query: stepOf(i, i_b), key: stepOf(j, j_b) };
}

const gapsOf = (tokens) => tokens.flatMap((token, at) => token === null ? [at] : []);

function mapOfSide({ steps, found, less, labels, selected }, side, { layer, head, differs }, figures) {
  const [name, place] = [SIDES[side], `L${layer} H${head}`];
  const tokens = [steps.first, steps.second][side];
  const figure = filled(figures, name === less ? "less" : "more", {
    rows: [found.first, found.second][side],
    labels: labels[side],
    names: named(labels[side], tokens),
    ...selected,
    gaps: gapsOf(tokens),
    words: { name, text: place },
  });
  const alt = `Attention map of ${name}, ${place}: queries downwards, keys to the right.`;
  return { figure, name: `${name}, ${place}`, alt, caption: differs };
}

function changeOf({ steps, found, less, more, labels, names, selected }, figures) {
  const isFlipped = more === "A";
  const [ofLess, ofMore] = isFlipped ? [found.second, found.first] : [found.first, found.second];
  const rows = found.difference.map((row) => row.map((value) => value !== null && isFlipped ? -value : value));
  const figure = filled(figures, "difference", {
    rows,
    labels: labels[2],
    names,
    ...selected,
    gaps: gapsOf(steps.first.map((token, at) => token === null ? null : steps.second[at])),
    limit: farthest(rows),
    both: rows.map((row, query) => row.map((_, key) => [ofLess[query][key], ofMore[query][key]])),
    words: { less, more },
  });
  return { figure, name: `${more} − ${less}`, alt: `Difference of both maps, ${more} minus ${less}, around 0.` };
}

// ---- The sentences below the maps ----

const quoted = (name) => `“${name}”`;

function weightsAt({ found }, { query, key }) {
  return [found.first, found.second].map((rows, side) => {
    const weight = rows[query][key];
    return weight === null ? `no such pair in ${SIDES[side]}` : `${inWords(weight)} in ${SIDES[side]}`;
  });
}

function ofSelected(of) {
  const { found, names, selected } = of;
  if (selected.query === null || selected.key === null) return [];
  const change = found.difference[selected.query][selected.key];
  const sign = change < 0 ? "−" : change > 0 ? "+" : "";
  const said = change === null ? "" : `; B − A: ${sign}${threeDigits(Math.abs(change))}`;
  const pair = `${quoted(names[selected.query])} attends to ${quoted(names[selected.key])}`;
  return [`${pair}: ${weightsAt(of, selected).join(", ")}${said}.`];
}

function ofLargest(of) {
  const { found, names } = of;
  if (!found.largest) return "Both maps are the same: no weight of the two differs.";
  const { query, key } = found.largest;
  const known = found.distance.flatMap((value, at) => value === null ? [] : [[value, at]]);
  const mean = known.reduce((total, [value]) => total + value, 0) / known.length;
  const [most, at] = known.reduce((best, one) => one[0] > best[0] ? one : best);
  return `Largest difference: ${quoted(names[query])} to ${quoted(names[key])}, ` +
    `${weightsAt(of, found.largest).join(" and ")}. Share of a token’s attention that differs: mean ` +
    `${percent(mean)}, largest ${percent(most)} for ${quoted(names[at])}.`;
}

// How far the contexts change the vector of the same word.
function ofOutputs({ steps, names, selected: { query } }, one, other) {
  const least = leastAlike(one, other, steps);
  if (!least) return [];
  const said = (step, value) => `${quoted(names[step])}: ${value.toFixed(2).replace("-", "−")}`;
  const isShared = query !== null && query !== least.step && steps.first[query] !== null &&
    steps.second[query] !== null;
  const more = isShared ? `; for ${said(query, cosineAt(one, other, steps, query))}` : "";
  const meaning = "(1: same direction, 0: orthogonal)";
  return [
    `Cosine of the two output vectors of a shared token, smallest for ${
      said(least.step, least.value)
    }${more} ${meaning}.`,
  ];
}

function legendOf({ steps, less, more }) {
  const hasGaps = [...steps.first, ...steps.second].includes(null);
  const gaps = hasGaps ? " Grey (“–”): a token that this side lacks. “x | y”: x in A, y in B." : "";
  return `Rows attend to columns. Difference: teal where ${more} attends more, orange where ${less} does.${gaps}`;
}

function percent(share) {
  if (share >= 0.01 || share === 0) return `${Math.round(100 * share)}%`;
  return share >= 0.001 ? `${(100 * share).toFixed(1)}%` : "less than 0.1%";
}
