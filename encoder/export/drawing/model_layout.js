// Where everything of the model's picture is. Nothing here needs a page.
import { partPlaces } from "./model_glyphs.js";

const NARROWEST = 860; // a narrower screen scrolls the picture sideways
const NAMES_WIDTH = 104; // pixels for the tokens' names
const EMBED_WIDTH = 96; // for the bars of token and position vectors
const ENDING_WIDTH = 150; // for what the model is for
const OPEN_SHARE = 0.64; // the open layer's share of the rest
const TITLES_HEIGHT = 62; // two rows of buttons

// Pixels of the picture of a header: rows of tokens, x of every stage of the residual stream, spans of the layers.
// share: how far the norms have slid from the other placement, 0 to 1.
export function layout(header, available, scale = 1, share = 1) {
  const row = header.row * scale;
  const width = Math.max(NARROWEST, available);
  const start = NAMES_WIDTH * scale + EMBED_WIDTH;
  const room = width - start - ENDING_WIDTH;
  const thin = header.layers > 1 ? room * (1 - OPEN_SHARE) / (header.layers - 1) : 0;
  const open = room - thin * (header.layers - 1);
  const layers = [];
  const stages = [start];
  let parts = {};
  for (let layer = 0, x = start; layer < header.layers; layer++) {
    const size = layer === header.layer ? open : thin;
    const span = { start: x, end: x + size };
    layers.push(span);
    if (layer === header.layer) {
      parts = partPlaces(header.norm, span, share);
      stages.push(parts[header.norm === "pre" ? "add-attention" : "norm-attention"] + 9, x + size * 0.985);
    } else stages.push(x + size * 0.55, x + size * 0.97);
    x = span.end;
  }
  if (header.stages.length > stages.length) stages.push(width - ENDING_WIDTH + 2); // the final norm
  const bottom = TITLES_HEIGHT + row * header.labels.length;
  return {
    width,
    row,
    layers,
    parts,
    stages,
    bottom,
    top: TITLES_HEIGHT,
    height: bottom + 30,
    embed: NAMES_WIDTH * scale,
    ending: width - ENDING_WIDTH + 26,
    middle: (TITLES_HEIGHT + bottom) / 2,
    type: Math.max(9, Math.min(13 * scale, row * 0.72)),
    y: (token) => TITLES_HEIGHT + row * (token + 0.5),
  };
}

// A band through all stages: half [S], half its thickness at each.
export function bandPath(place, token, half) {
  const y = place.y(token);
  const side = (sign, order) => order.map((stage) => [place.stages[stage], y + sign * half[stage]]);
  const there = side(-1, half.map((_, stage) => stage));
  const back = side(1, half.map((_, stage) => half.length - 1 - stage));
  const curve = (points) =>
    points.slice(1).map(([x, at], index) => {
      const [before, from] = points[index];
      const middle = (before + x) / 2;
      return `C${tenth(middle)} ${tenth(from)} ${tenth(middle)} ${tenth(at)} ${tenth(x)} ${tenth(at)}`;
    }).join("");
  const [x, first] = there[0];
  return `M${tenth(x)} ${tenth(first)}${curve(there)}L${tenth(back[0][0])} ${tenth(back[0][1])}${curve(back)}Z`;
}

// A curve that leaves and arrives level.
export function linkPath(x, y, toX, toY) {
  const middle = (x + toX) / 2;
  return `M${tenth(x)} ${tenth(y)}C${tenth(middle)} ${tenth(y)} ${tenth(middle)} ${tenth(toY)} ${tenth(toX)} ${
    tenth(toY)
  }`;
}

const tenth = (value) => Math.round(value * 10) / 10;
