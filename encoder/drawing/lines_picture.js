// The lines between the tokens of two sides: which ones are drawn, on the page's canvas or in a file.
/** @import { LinesView } from "./lines_view.js" */
import { FAINTEST, lineStyle, sum, threeDigits } from "./drawing.js";
import { savePicture } from "./picture.js";
import { fit } from "./shared.js";

const LEVELS = 32; // lines of about the same weight are drawn together
const MOST_LINES = 4000; // the strongest, drawn at once: more are unreadable and take a tenth of a second
const FADED_SHARE = 0.15; // of their opacity
const FADED_LINES = 600; // behind those of the selected tokens
const LINES_PER_STROKE = 16;
const NEAR_LINE = 4; // pixels between a line and the pointer
const TOKENS_WIDTH = 170; // pixels of a file for the tokens of one side
export const QUERY = 0; // the left side
export const KEY = 1; // the right side

// Every visible line by level of weight: in each level, a list for each head of i * C + j. Most lines are faint, so faint
// levels are finer.
/** @param {LinesView} view */
export function levelsOf(view) {
  const least = Math.max(FAINTEST, view.header.threshold);
  const area = view.count(QUERY) * view.count(KEY);
  const levels = Array.from({ length: LEVELS }, () => Array.from({ length: view.heads }, () => []));
  for (let head = 0; head < view.heads; head++) {
    for (let cell = 0; cell < area; cell++) {
      const weight = view.weights[head * area + cell] / view.unit;
      if (weight >= least) levels[Math.min(LEVELS - 1, Math.floor(Math.sqrt(weight) * LEVELS))][head].push(cell);
    }
  }
  return levels;
}

// The lines between the tokens in focus: the strongest ones, grouped by level and head, and how many there are in all.
/** @param {LinesView} view @param {number[][]} focus @param {number} most */
function linesOf(view, [queries, keys], most) {
  const [from, to] = [new Set(queries), new Set(keys)];
  const width = view.count(KEY);
  const inFocus = (cell) => (!from.size || from.has(Math.floor(cell / width))) && (!to.size || to.has(cell % width));
  const groups = [];
  let [drawn, all] = [0, 0];
  for (let level = LEVELS - 1; level >= 0; level--) {
    view.levels[level].forEach((cells, head) => {
      const fitting = from.size || to.size ? cells.filter(inFocus) : cells;
      const some = fitting.slice(0, most - drawn);
      all += fitting.length;
      drawn += some.length;
      if (some.length) groups.push({ weight: ((level + 0.5) / LEVELS) ** 2, head, cells: some });
    });
  }
  return { groups: groups.reverse(), drawn, all }; // the strongest are drawn last and lie on top
}

const squareSize = (view, width) => view.heads > 1 ? Math.max(3, Math.min(9, Math.floor(width * 0.2 / view.heads))) : 0;

// The lines of all tokens, faint, behind those of the selected ones: fewer, so that they cost little.
/** @param {LinesView} view */
function drawFaded(view, pen, left, right) {
  const { groups } = linesOf(view, [[], []], FADED_LINES);
  strokeLines(view, pen, groups, left, right, (weight) => [FADED_SHARE * lineStyle(weight, false)[0], 1]);
}

// Draws the lines and returns what `lineAt` needs, and as `limit` "the strongest 4,000 of 9,000 lines" where some are
// left out.
/** @param {LinesView} view @param {any} pen @param {number} width @param {number[][]} focus */
export function drawLines(view, pen, width, focus) {
  const [queries, keys] = focus;
  const strip = squareSize(view, width) * view.heads;
  const left = queries.length || !keys.length ? 2 : strip + 4;
  const right = keys.length || !queries.length ? width - 2 : width - strip - 4;
  const { groups, drawn, all } = linesOf(view, focus, MOST_LINES);
  const isSelected = queries.length + keys.length > 0;
  if (isSelected) drawFaded(view, pen, left, right);
  strokeLines(view, pen, groups, left, right, (weight) => lineStyle(weight, isSelected));
  const most = `the strongest ${drawn.toLocaleString("en")} of ${all.toLocaleString("en")} lines`;
  return { groups, left, right, limit: drawn < all ? most : "" };
}

// The heights at which a line begins and ends.
const endsOf = (view, cell) =>
  [Math.floor(cell / view.count(KEY)), cell % view.count(KEY)].map((k) => (k + 0.5) * view.row);

// Of the lines drawn near a point of the canvas the nearest, as { head, cell }, else null.
/** @param {LinesView} view */
export function lineAt(view, x, y) {
  const { groups, left, right } = view.drawn;
  const share = (x - left) / (right - left);
  let [found, least] = [null, NEAR_LINE];
  for (const { head, cells } of groups) {
    for (const cell of cells) {
      const [from, to] = endsOf(view, cell);
      const away = Math.abs(y - from - share * (to - from)) * (right - left) / Math.hypot(right - left, to - from);
      if (away <= least) [found, least] = [{ head, cell }, away];
    }
  }
  return found;
}

// Draws one line above the others.
/** @param {LinesView} view */
export function strokeOne(view, pen, { head, cell }) {
  const { left, right } = view.drawn;
  strokeLines(view, pen, [{ weight: 1, head, cells: [cell] }], left, right, () => [1, 4]);
}

// look: weight -> [opacity, width].
/** @param {LinesView} view */
function strokeLines(view, pen, groups, left, right, look) {
  for (const { weight, head, cells } of groups) {
    pen.strokeStyle = view.header.colours[head];
    [pen.globalAlpha, pen.lineWidth] = look(weight);
    for (let start = 0; start < cells.length; start += LINES_PER_STROKE) {
      pen.beginPath();
      for (const cell of cells.slice(start, start + LINES_PER_STROKE)) {
        const [from, to] = endsOf(view, cell);
        pen.moveTo(left, from);
        pen.lineTo(right, to);
      }
      pen.stroke();
    }
  }
  pen.globalAlpha = 1;
}

// Draws next to each token one small square a head, as strong as its weight.
/** @param {LinesView} view @param {any} pen @param {number} width @param {(number[][] | null)[]} sums */
export function drawSquares(view, pen, width, sums) {
  const size = squareSize(view, width);
  if (!size) return;
  sums.forEach((tokens, side) =>
    tokens?.forEach((values, token) =>
      values.forEach((value, head) => {
        const x = side === KEY ? width - (view.heads - head) * size : head * size;
        const box = [x, token * view.row + 2, size - 1, view.row - 4];
        pen.fillStyle = view.theme.faint;
        pen.fillRect(...box);
        pen.globalAlpha = Math.min(1, value);
        pen.fillStyle = view.header.colours[head];
        pen.fillRect(...box);
        pen.globalAlpha = 1;
      })
    )
  );
}

// ---- The picture as a file, in which the canvas draws the tokens, too. ----

/** @param {LinesView} view */
export function saveLines(view, kind) {
  const middle = Math.max(240, view.canvas.clientWidth);
  const width = middle + 2 * TOKENS_WIDTH;
  const ruler = view.canvas.getContext("2d");
  ruler.font = `12px ${view.theme.font}`;
  const step = 32 + Math.max(...view.header.labels.map((label) => ruler.measureText(label).width));
  const columns = Math.max(1, Math.floor((width - 16) / step));
  const top = 8 + 22 * Math.ceil(view.heads / columns);
  savePicture(kind, view.header.name, width, view.most * view.row + top + 8, view.theme.background, (pen) => {
    drawLegend(view, pen, columns, step);
    pen.translate(TOKENS_WIDTH, top);
    const focus = view.focus();
    const sums = view.sumsOf(focus);
    drawLines(view, pen, middle, focus);
    drawSquares(view, pen, middle, sums);
    drawTokens(view, pen, middle, sums);
  });
}

/** @param {LinesView} view */
function drawLegend(view, pen, columns, step) {
  pen.font = `12px ${view.theme.font}`;
  pen.textBaseline = "middle";
  view.header.labels.forEach((label, head) => {
    const [x, y] = [8 + (head % columns) * step, 8 + 22 * Math.floor(head / columns)];
    pen.fillStyle = view.header.colours[head];
    pen.fillRect(x, y, 11, 11);
    pen.fillStyle = view.theme.text;
    pen.fillText(label, x + 16, y + 6);
  });
}

/** @param {LinesView} view */
function drawTokens(view, pen, middle, sums) {
  pen.font = `13px ${view.theme.font}`;
  view.tokens.forEach((tokens, side) =>
    tokens.forEach((token, k) => {
      const values = sums[side]?.[k];
      const y = (k + 0.5) * view.row;
      pen.textAlign = side === QUERY ? "right" : "left";
      pen.fillStyle = view.selected[side].has(k) ? view.theme.primary : view.theme.text;
      pen.fillText(fit(pen, token, TOKENS_WIDTH - 56), side === QUERY ? -6 : middle + 6, y);
      pen.textAlign = side === QUERY ? "left" : "right";
      const x = side === QUERY ? 6 - TOKENS_WIDTH : middle + TOKENS_WIDTH - 6;
      pen.fillText(values ? threeDigits(sum(values) / view.heads) : "", x, y);
    })
  );
}
