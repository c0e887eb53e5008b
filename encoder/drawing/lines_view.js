// Tokens on two sides and a line for every weight: queries on the left attend to keys on the right.
import { arrow, lineStyle, luminance, make, strongest, sum, threeDigits } from "./drawing.js";
import { gestures, isTouch, listenToFinger } from "./finger.js";
import { drawLines, drawSquares, KEY, levelsOf, lineAt, QUERY, saveLines, strokeOne } from "./lines_picture.js";
import { saveButtons } from "./picture.js";
import { Drawing, everyFrame, readTheme, rgb, unitOf } from "./shared.js";

const TITLES = ["attends from", "", "attends to"];
const TAPS_ON_TOKENS = "Tap a token to select it, long press to add one.";
const KEYS_FOR_TOKENS =
  "Arrow keys move over the tokens and between the sides, Enter selects one, Shift with Enter adds one, " +
  "Escape clears.";
const LINES_HELP =
  "Point at a token or a line for its numbers. Click a token to select it, with Shift to add one; or use the arrow " +
  "keys and Enter. Escape clears.";
const IN_LEGEND = [0.1, 0.4, 0.7, 1]; // weights whose lines the legend shows

/** @extends {Drawing<LinesHeader, Sent<LinesEvent>>} */
export class LinesView extends Drawing {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    const top = make("div", { class: "enc-lines-top" });
    const sides = ["from", "to"].map((side) => make("div", { class: `enc-lines-side enc-lines-${side}` }));
    const canvas = make("canvas", { "aria-hidden": "true" });
    const titles = TITLES.map((text) => make("div", { class: "enc-lines-title" }, text));
    const look = { class: "enc-lines-body enc-focus", tabindex: "0", role: "application" };
    const body = make("div", look, ...titles, sides[QUERY], canvas, sides[KEY]);
    body.setAttribute("aria-roledescription", "attention as lines");
    super(parent, "The lines", "enc-lines enc-saveable", top, body);
    this.top = top;
    this.sides = sides;
    this.canvas = canvas;
    this.body = body;
    this.buttons = saveButtons("the lines", (kind) => saveLines(this, kind));
    this.selected = [new Set(), new Set()];
    this.at = null; // [side, token] under the pointer or reached with the arrow keys
    this.line = null; // the line under the pointer
    this.paintSoon = everyFrame(() => this.paint());
    this.listenToSize(body, () => this.paintSoon());
    sides.forEach((element, side) => {
      this.listen(element, "pointermove", (event) => event.pointerType !== "touch" && this.point(side, event));
      this.listen(element, "pointerleave", () => this.move(null));
      this.listen(element, "click", (event) => this.onClick(side, event));
      listenToFinger(this, element, { hold: (touch) => this.onClick(side, { ...touch, shiftKey: true }) });
    });
    this.listen(canvas, "pointermove", (event) => event.pointerType !== "touch" && this.pointAtLine(event));
    this.listen(canvas, "pointerleave", () => this.showLine(null));
    this.listenToKeys(body);
    this.listen(body, "blur", () => this.move(null));
  }

  /** @param {Block<LinesHeader>} block */
  read({ header, arrays }) {
    this.header = header;
    this.weights = arrays.weights.data;
    this.unit = unitOf(this.weights);
    this.tokens = [header.tokens, header.keyTokens ?? header.tokens];
    this.heads = header.colours.length;
    this.theme = readTheme(this.parent);
    this.root.style.setProperty("--enc-bar", this.theme.dark ? "rgb(255 255 255 / 18%)" : "rgb(0 0 0 / 11%)");
    const onPrimary = luminance(rgb(this.theme.primary)) > 0.18 ? "#111" : "#fff";
    this.root.style.setProperty("--enc-on-primary", onPrimary);
    if (!this.isRestyled) this.selected = [new Set(header.queries), new Set(header.keys)];
    this.body.setAttribute("aria-label", `${header.alt} ${gestures(TAPS_ON_TOKENS, KEYS_FOR_TOKENS)}`);
    this.fillTop();
    this.fillSides();
    this.levels = levelsOf(this);
    this.line = null;
    this.unselected = null; // the picture with nothing selected
    this.paint();
  }

  name(side, token) {
    return this.header.names[side][token] ?? this.tokens[side][token];
  }

  count(side) {
    return this.tokens[side].length;
  }

  weight(head, i, j) {
    return this.weights[(head * this.count(QUERY) + i) * this.count(KEY) + j] / this.unit;
  }

  fillTop() {
    const { labels, colours } = this.header;
    const legend = labels.map((label, k) => make("span", {}, make("i", { style: `background:${colours[k]}` }), label));
    this.summary = make("em");
    this.scale = make("span", { class: "enc-lines-scale" });
    this.top.replaceChildren(...legend, this.scale, this.summary, this.buttons);
  }

  // Lines of some weights, as strong as those that are drawn.
  fillScale(isSelected) {
    const lines = IN_LEGEND.map((weight) => {
      const [opacity, width] = lineStyle(weight, isSelected);
      return make("b", { style: `height: ${width}px; opacity: ${opacity}`, title: String(weight) });
    });
    this.scale.replaceChildren(String(IN_LEGEND[0]), ...lines, String(IN_LEGEND.at(-1)));
  }

  fillSides() {
    const filled = JSON.stringify([this.tokens, this.header.names, this.theme.scale]);
    if (filled === this.filled) return;
    this.filled = filled;
    this.at = null;
    this.most = Math.max(this.count(QUERY), this.count(KEY));
    this.row = Math.round((this.most > 256 ? 15 : this.most > 48 ? 18 : 21) * this.theme.scale);
    const style = `height:${this.row}px; line-height:${this.row}px`;
    this.rows = this.sides.map((element, side) => {
      const rows = this.tokens[side].map((token, place) => {
        const number = make("u", {}, make("span", {}, document.createTextNode("")));
        const look = { class: "enc-lines-token", title: this.name(side, place), style };
        return make("div", look, make("b", { dir: "auto" }, token), number);
      });
      element.replaceChildren(...rows);
      return rows;
    });
  }

  // [queries, keys] whose lines are drawn: the token under the pointer, else the selected ones.
  /** @returns {number[][]} */
  focus() {
    if (this.at) return this.at[0] === QUERY ? [[this.at[1]], []] : [[], [this.at[1]]];
    const inText = (token, side) => token < this.count(side);
    return this.selected.map((tokens, side) => [...tokens].filter((k) => inText(k, side)).sort((a, b) => a - b));
  }

  // For each token of a side, one number a head: its weights with these tokens of the other side, summed.
  sums(side, others) {
    const weight = (head, token, other) =>
      side === KEY ? this.weight(head, other, token) : this.weight(head, token, other);
    return this.tokens[side].map((_, token) =>
      this.header.colours.map((_, head) => others.reduce((total, other) => total + weight(head, token, other), 0))
    );
  }

  // The sums next to the queries and next to the keys; null where the other side has no token in focus.
  /** @param {number[][]} focus */
  sumsOf([queries, keys]) {
    return [keys.length ? this.sums(QUERY, keys) : null, queries.length ? this.sums(KEY, queries) : null];
  }

  paint() {
    const width = this.canvas.clientWidth;
    if (!this.header || !this.root.isConnected || !width) return;
    const scale = devicePixelRatio;
    const height = this.most * this.row;
    this.canvas.style.height = `${height}px`;
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (this.canvas.width !== w || this.canvas.height !== h) Object.assign(this.canvas, { width: w, height: h });
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const focus = this.focus();
    const sums = this.sumsOf(focus);
    const anything = sums[QUERY] || sums[KEY];
    this.drawn = anything ? drawLines(this, pen, width, focus) : this.paintUnselected(pen, width, height, scale);
    if (this.line) strokeOne(this, pen, this.line);
    drawSquares(this, pen, width, sums);
    this.markRows(sums);
    this.summarise(focus, this.drawn.limit);
    if (Boolean(anything) !== this.scaleOfSelected) this.fillScale(this.scaleOfSelected = Boolean(anything));
    if (this.isAlone) this.aloud.textContent = this.sentence(focus) ?? (isTouch() ? TAPS_ON_TOKENS : LINES_HELP);
  }

  // The picture with nothing selected is kept: it comes back whenever the pointer leaves a token.
  paintUnselected(pen, width, height, scale) {
    const size = `${width} ${height} ${scale}`;
    if (this.unselected?.size !== size) {
      const canvas = new OffscreenCanvas(Math.max(1, this.canvas.width), Math.max(1, this.canvas.height));
      const ownPen = canvas.getContext("2d");
      ownPen.scale(scale, scale);
      this.unselected = { size, canvas, ...drawLines(this, ownPen, width, [[], []]) };
    }
    pen.drawImage(this.unselected.canvas, 0, 0, width, height);
    return this.unselected;
  }

  // Marks tokens, and writes next to each token of the other side the mean of its sums as a bar and a number.
  markRows(sums) {
    this.rows.forEach((rows, side) => {
      const means = sums[side]?.map((values) => sum(values) / this.heads);
      const largest = means ? Math.max(...means, 1e-9) : 1;
      this.sides[side].classList.toggle("enc-lines-summed", Boolean(means));
      rows.forEach((row, token) => {
        row.classList.toggle("enc-selected", this.selected[side].has(token));
        row.classList.toggle("enc-at", this.at?.[0] === side && this.at[1] === token);
        const number = /** @type {Text} */ (row.lastChild.firstChild.firstChild);
        const text = means ? threeDigits(means[token]) : "";
        if (number.data !== text) number.data = text; // a new text in an old node is cheaper than a new node
        const bar = means ? `${(100 * means[token] / largest).toFixed(1)}% 100%` : "0% 100%";
        if (row.style.backgroundSize !== bar) row.style.backgroundSize = bar; // children would inherit a CSS variable
      });
    });
  }

  // Says what the numbers are and whether lines are left out.
  /** @param {number[][]} focus @param {string} limit */
  summarise([queries, keys], limit) {
    const parts = [];
    if (queries.length) parts.push(queries.length > 1 ? `${queries.length} queries summed` : "1 query");
    if (keys.length) parts.push(keys.length > 1 ? `${keys.length} keys summed` : "1 key");
    const heads = this.heads > 1 ? `, mean of ${this.heads} heads` : "";
    const sentences = parts.length ? [`Numbers: ${parts.join(", ")}${heads}`] : [];
    if (limit) sentences.push(`Drawn: ${limit}${parts.length ? "" : "; select a token to see all of its lines"}`);
    const text = sentences.join(". ");
    if (this.summary.textContent !== text) this.summary.textContent = text; // the same text would cause a new layout
  }

  // ---- Pointer and keys ----

  tokenAt(side, event) {
    const token = Math.floor((event.clientY - this.sides[side].getBoundingClientRect().top) / this.row);
    return token >= 0 && token < this.count(side) ? token : null;
  }

  point(side, event) {
    const token = this.tokenAt(side, event);
    this.move(token === null ? null : [side, token]);
  }

  move(at) {
    if (String(at) === String(this.at)) return;
    this.at = at;
    this.line = null;
    this.paintSoon();
  }

  pointAtLine(event) {
    const { left, top } = this.canvas.getBoundingClientRect();
    this.showLine(this.drawn && lineAt(this, event.clientX - left, event.clientY - top), event);
  }

  // Draws a line above the others, with its numbers next to the pointer; null: no line.
  showLine(line, event) {
    if (line?.cell !== this.line?.cell || line?.head !== this.line?.head) {
      this.line = line;
      this.paintSoon();
    }
    if (!line) return this.tip.hide();
    const [i, j] = [Math.floor(line.cell / this.count(KEY)), line.cell % this.count(KEY)];
    const label = this.header.labels[line.head];
    const pair = arrow(this.name(QUERY, i), this.name(KEY, j));
    this.tip.element.textContent = `${label ? `${label}: ` : ""}${pair}: ${threeDigits(this.weight(line.head, i, j))}`;
    this.tip.show(event.clientX, event.clientY);
  }

  onClick(side, event) {
    const token = this.tokenAt(side, event);
    if (token !== null) this.select(side, token, event.shiftKey);
  }

  // A click selects one token only or clears it; with Shift it adds or removes one.
  select(side, token, shift) {
    const before = this.selected[side].has(token);
    const alone = before && this.selected[QUERY].size + this.selected[KEY].size === 1;
    if (!shift) this.selected = [new Set(), new Set()];
    if (shift ? before : alone) this.selected[side].delete(token);
    else this.selected[side].add(token);
    this.sendSelection();
  }

  sendSelection() {
    this.at = this.line = null; // the selection shows at once, not only when the pointer has left
    this.paint();
    const [queries, keys] = this.selected.map((side) => [...side].sort((a, b) => a - b));
    this.send("select", { queries, keys });
  }

  key(event) {
    const [side, token] = this.cursor ?? [QUERY, 0];
    const across = { ArrowLeft: [QUERY, token], ArrowRight: [KEY, token] };
    const along = { ArrowUp: token - 1, ArrowDown: token + 1, Home: 0, End: Infinity };
    const to = across[event.key] ?? (event.key in along ? [side, along[event.key]] : null);
    if (event.key === "Escape") {
      this.cursor = null;
      this.selected = [new Set(), new Set()];
      this.sendSelection();
    } else if (to && this.most) this.moveCursor(...(this.cursor ? to : [QUERY, 0]));
    else if (this.cursor && [" ", "Enter"].includes(event.key)) this.select(side, token, event.shiftKey);
    else return false;
    return true;
  }

  moveCursor(side, wanted) {
    const token = Math.max(0, Math.min(this.count(side) - 1, wanted));
    this.cursor = [side, token];
    this.move(this.cursor);
    this.rows[side][token].scrollIntoView({ block: "nearest" });
    this.aloud.textContent = this.sentence(side === QUERY ? [[token], []] : [[], [token]]);
  }

  // What one token attends to most, or which tokens attend to it most; null for several tokens and none.
  /** @param {number[][]} focus */
  sentence([queries, keys]) {
    if (queries.length + keys.length !== 1) return null;
    const [side, token] = queries.length ? [QUERY, queries[0]] : [KEY, keys[0]];
    const other = 1 - side;
    const means = this.sums(other, [token]).map((values) => sum(values) / this.heads);
    const names = this.tokens[other].map((_, place) => this.name(other, place));
    return strongest(this.name(side, token), side === QUERY, means, names);
  }
}
