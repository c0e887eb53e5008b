// Where everything of the model's picture is. Nothing here needs a page.
//
// The picture runs from left to right, and on a narrow screen from top to bottom. `x` counts pixels along the way from
// the tokens to the output, `y` across it: `point` and `box` make of both a place on the screen.
import { partPlaces, sublayersOf } from "./model_glyphs.js";

export const FAINTEST_LINE = 0.02; // a weight; lighter lines would only blur the picture
export const NARROWEST = 320; // pixels; an element that is not shown yet is narrower
const NARROW = 860; // pixels; in less, tokens are columns
const MOST_COLUMNS = 24; // tokens side by side; further ones are a step away
const NAMES_WIDTH = 104; // pixels for the tokens' names
const EMBED_WIDTH = 96; // for the bars of token and position vectors
const ENDING_WIDTH = 150; // for what the model is for
const THIN_IN_PAIR = 34; // pixels
const OPEN_SHARE = 0.64; // the open layer's share of the rest
const [TITLES_HEIGHT, LANE] = [62, 24]; // rows of buttons, and one more where they are close
const CLOSE = 1000; // pixels of the open layer; in less, neighbouring buttons need two rows
const TURNED = {
  names: 92,
  embed: 74,
  ending: 150,
  open: 520,
  third: 180,
  lead: 34,
  thin: 22,
  thinnest: 7,
  thinRoom: 250,
}; // lengths
const [GUTTER, WIDEST_COLUMN] = [72, 46]; // left of the columns: buttons, and numbers of layers
const ABOVE = 500; // pixels of the window that other parts of a page need
const PITCH = 14; // of lines of words
const LEAST_ROW = 16; // pixels; lower rows have names that are hard to read
const FAR = 2.5; // a scale from which a class reads the picture from afar: rows are as close as their names allow
const SLANT = 60; // degrees of the names above columns

// Pixels of the picture of a header: rows of tokens, x of every stage of the residual stream, spans of the layers.
// from: the first token that is shown where not all have room.
// share: how far the norms have slid from the other placement, 0 to 1.
// tall: pixels of the window, which the rows fill where they are few; 0: the rows keep their usual height.
/**
 * @param {DrawnHeader} header @param {number} available @param {number} scale @param {number} share @param {number} from
 * @param {number} tall
 * @returns {ModelPlace}
 */
export function layout(header, available, scale = 1, share = 1, from = 0, tall = 0) {
  const turned = header.turned ?? available < NARROW * scale;
  const count = turned ? Math.min(header.labels.length, MOST_COLUMNS) : header.labels.length;
  const first = Math.max(0, Math.min(from, header.labels.length - count));
  const made = turned ? columns(header, available, scale, count) : rows(header, available, scale, tall);
  const { start, room, thin, row, ending } = made;
  const isClosed = header.layer < 0; // thin layers only
  const open = room - thin * (header.layers - 1);
  const close = sublayersOf(header).length > 3 && !turned ? 3 : 2;
  const lanes = turned || isClosed || open < CLOSE * scale ? header.lanes ?? close : 1;
  const top = made.top + (turned ? 0 : (lanes - 1) * LANE * scale);
  const layers = [];
  const stages = [start];
  /** @type {Record<string, number>} */
  let parts = {};
  for (let layer = 0, x = start; layer < header.layers; layer++) {
    const size = layer === header.layer ? open : thin;
    const span = { start: x, end: x + size };
    layers.push(span);
    if (layer === header.layer) {
      parts = partPlaces(header, { ...span, start: x + (turned ? TURNED.lead * scale : 0) }, share);
      const ends = sublayersOf(header).slice(0, -1);
      stages.push(
        ...ends.map((end) => parts[`${header.norm === "pre" ? "add" : "norm"}-${end}`] + 9),
        x + size * 0.985,
      );
    } else stages.push(...THIN_STOPS[sublayersOf(header).length].map((stop) => x + size * stop));
    x = span.end;
  }
  if (header.stages.length > stages.length) stages.push(start + room + 2); // the final norm
  const bottom = top + row * count;
  const said = PITCH * (header.ending?.length ?? 0); // room for the words below the vector
  const [along, across] = [
    ending + (turned ? (endingOf(header, TURNED.ending) + said) * scale - 26 : endingOf(header) * scale - 18),
    bottom + (turned ? 0 : 30 * scale),
  ];
  return {
    ...made,
    scale,
    turned,
    lanes,
    top,
    first,
    count,
    layers,
    parts,
    stages,
    bottom,
    width: turned ? available : along,
    height: turned ? along : across,
    middle: (top + bottom) / 2,
    shows: (token) => token >= first && token < first + count,
    y: (token) => top + row * (token - first + 0.5),
    point: (x, y) => turned ? [y, x] : [x, y],
    box: (x, y, length, breadth) =>
      turned ? { x: y, y: x, width: breadth, height: length } : { x, y, width: length, height: breadth },
  };
}

// Sublayers of a layer -> where each ends in one that is not open. The third is cross-attention or an adapter; a
// Conformer's layer has four.
const THIN_STOPS = { 2: [0.55, 0.97], 3: [0.4, 0.7, 0.97], 4: [0.26, 0.5, 0.74, 0.97] };

// Tokens as rows.
function rows(header, available, scale, tall) {
  const start = NAMES_WIDTH * scale + EMBED_WIDTH;
  const room = available - start - endingOf(header) * scale;
  const row = rowHeight(header, scale, tall);
  return {
    row,
    start,
    room,
    thin: thinOf(header, room, scale),
    top: TITLES_HEIGHT * scale,
    embed: NAMES_WIDTH * scale,
    ending: available - endingOf(header) * scale + 18,
    type: Math.max(9, Math.min(13 * scale, row * (scale > FAR ? 0.96 : 0.72))),
  };
}

// The length of a layer that is not open. Next to another river there is room for the open layer only.
function thinOf({ layer, layers, inPair }, room, scale) {
  if (layer < 0) return room / layers;
  const share = layers > 1 ? room * (1 - OPEN_SHARE) / (layers - 1) : 0;
  return inPair ? Math.min(THIN_IN_PAIR * scale, share) : share;
}

// Room for what the model is for: an encoder whose vectors go to a decoder ends there.
/** @type {(header: ModelHeader, usual?: number) => number} */
const endingOf = ({ decoder }, usual = ENDING_WIDTH) => decoder ? 44 : usual;

// The rows fill the window, so that the whole picture fits; large type needs rows of its size.
function rowHeight({ row, labels }, scale, tall) {
  if (!tall) return row * scale;
  const least = scale > 1 ? Math.max(row, (scale > FAR ? 12.5 : 15) * scale) : Math.min(row, LEAST_ROW);
  return Math.max(least, Math.min(row * 1.6 * scale, (tall - ABOVE * Math.sqrt(scale)) / labels.length));
}

// Tokens as columns.
function columns(header, available, scale, count) {
  const start = (TURNED.names + TURNED.embed) * scale;
  const thin = header.layers > 1
    ? Math.max(TURNED.thinnest, Math.min(TURNED.thin, TURNED.thinRoom / (header.layers - 1)))
    : 0;
  const room = header.layer < 0
    ? thin * header.layers
    : (TURNED.open + TURNED.third * (sublayersOf(header).length - 2)) * scale + thin * (header.layers - 1);
  const slanted = TURNED.names * scale * Math.cos(SLANT * Math.PI / 180) * 0.75; // the last name leans over its column
  const row = Math.min(WIDEST_COLUMN * scale, (available - GUTTER - slanted) / count);
  return {
    row,
    start,
    room,
    thin,
    top: GUTTER,
    embed: TURNED.names * scale,
    ending: start + room + 8,
    type: Math.max(11, Math.min(13 * scale, row)),
  };
}

// Where a token's name is written.
export function namePlace(place, token) {
  if (!place.turned) return { x: 4, y: place.y(token) + place.type * 0.36 };
  const [x, y] = [place.y(token) + place.type * 0.36, place.embed - 4];
  return { x, y, transform: `rotate(-${SLANT} ${tenth(x)} ${tenth(y)})` };
}

// Where lines of words are written at x along the way: next to `y` or, where columns leave no room, from the left on.
export function wordPlace(place, x, y, line = 0) {
  const pitch = PITCH * place.scale;
  return place.turned ? { x: 2, y: x + 13 + pitch * line } : { x, y: y + pitch * line };
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
      return `C${pair(place, middle, from)} ${pair(place, middle, at)} ${pair(place, x, at)}`;
    }).join("");
  return `M${pair(place, ...there[0])}${curve(there)}L${pair(place, ...back[0])}${curve(back)}Z`;
}

// A curve that leaves and arrives level.
export function linkPath(place, x, y, toX, toY) {
  const middle = (x + toX) / 2;
  return `M${pair(place, x, y)}C${pair(place, middle, y)} ${pair(place, middle, toY)} ${pair(place, toX, toY)}`;
}

const tenth = (value) => Math.round(value * 10) / 10;
const pair = (place, x, y) => place.point(tenth(x), tenth(y)).join(" ");
