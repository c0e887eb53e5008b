// Tokens on two sides, a line for every weight: queries on the left attend to keys on the right.

const FAINTEST = 1 / 255;   // a line that is fainter changes no pixel
const LEVELS = 32;          // lines are drawn together with those of about the same weight
const MOST_LINES = 4000;    // drawn at once, the strongest first: more are a haze, and cost a tenth of a second
const TOGETHER = 16;        // lines in one stroke
const FROM = 0;             // the left side: queries
const TO = 1;               // the right side: keys

class LinesView {
  constructor(parent) {
    this.parent = parent;
    this.top = make("div", { class: "enc-lines-top" });
    this.buttons = saveButtons("the lines", (kind) => this.save(kind));
    this.sides = [make("div", { class: "enc-lines-side enc-lines-from" }), make("div", { class: "enc-lines-side enc-lines-to" })];
    this.canvas = make("canvas", { "aria-hidden": "true" });
    const titles = ["attends from", "", "attends to"].map((text) => make("div", { class: "enc-lines-title" }, text));
    this.body = make("div", { class: "enc-lines-body enc-focus", tabindex: "0", role: "application", "aria-roledescription": "attention as lines" },
      ...titles, this.sides[FROM], this.canvas, this.sides[TO]);
    this.aloud = make("div", { class: "enc-aloud", "aria-live": "polite" });
    this.note = make("div", { class: "enc-note", role: "status", hidden: "" });
    this.root = make("div", { class: "enc-root enc-lines enc-saveable" }, this.top, this.body, this.aloud, this.note);
    parent.append(this.root);
    this.held = [new Set(), new Set()];
    this.at = null;        // [side, token] under the pointer or reached with the arrow keys
    this.paintSoon = everyFrame(() => this.paint());
    this.observer = new ResizeObserver(() => this.paintSoon());
    this.observer.observe(this.body);
    this.sides.forEach((side, which) => {
      side.addEventListener("pointermove", (event) => event.pointerType !== "touch" && this.point(which, event));
      side.addEventListener("pointerleave", () => this.move(null));
      side.addEventListener("click", (event) => this.onClick(which, event));
    });
    this.body.addEventListener("keydown", (event) => this.onKey(event));
    this.body.addEventListener("blur", () => this.move(null));
  }

  update(component) {
    this.component = component;
    try {
      const { header, arrays } = unpack(component.data);
      this.header = header;
      this.weights = arrays.weights;
      this.unit = { float32: 1, uint8: 255, uint16: 65535 }[header.dtype];
      this.theme = readTheme(this.parent);
      this.root.style.setProperty("--enc-bar", this.theme.dark ? "rgb(255 255 255 / 18%)" : "rgb(0 0 0 / 11%)");
      this.root.style.setProperty("--enc-on-primary", luminance(this.theme.primary) > 0.3 ? "#111" : "#fff");
      this.held = [new Set(header.queries), new Set(header.keys)];
      this.body.setAttribute("aria-label", `${header.alt} Arrow keys move over the tokens and between the sides, Enter holds one, Shift with Enter adds one, Escape clears.`);
      this.fillTop();
      this.fillSides();
      this.sortLines();
      this.paint();
      this.note.hidden = true;
    } catch (error) {
      this.note.hidden = false;
      this.note.textContent = `The lines could not be drawn: ${error.message}`;
    }
  }

  tokens(side) { return side === FROM ? this.header.tokens : this.header.keyTokens ?? this.header.tokens; }

  name(side, token) { return this.header.told[side][token] ?? this.tokens(side)[token]; }

  count(side) { return this.tokens(side).length; }

  get heads() { return this.header.colours.length; }

  weight(head, i, j) { return this.weights.data[(head * this.count(FROM) + i) * this.count(TO) + j] / this.unit; }

  fillTop() {
    const legend = this.header.labels.map((label, k) => make("span", {}, make("i", { style: `background:${this.header.colours[k]}` }), label));
    this.summary = make("em");
    this.top.replaceChildren(...legend, this.summary, this.buttons);
  }

  fillSides() {
    const key = JSON.stringify([this.tokens(FROM), this.tokens(TO), this.header.told]);
    if (key === this.drawnTokens) return;
    this.drawnTokens = key;
    this.at = null;
    this.most = Math.max(this.count(FROM), this.count(TO));
    this.row = this.most > 256 ? 15 : this.most > 48 ? 18 : 21;
    this.rows = this.sides.map((side, which) => {
      const rows = this.tokens(which).map((token, place) => {
        const text = make("b", { dir: "auto" }, token);
        return make("div", { class: "enc-lines-token", title: this.name(which, place), style: `height:${this.row}px; line-height:${this.row}px` }, text, make("u", {}, make("span", {}, document.createTextNode(""))));
      });
      side.replaceChildren(...rows);
      return rows;
    });
  }

  // Every line that can be seen, by level of weight: in each level a list for each head of i * C + j. Levels are finer for
  // faint lines, of which there are most.
  sortLines() {
    const least = Math.max(FAINTEST, this.header.threshold);
    const { data } = this.weights;
    const area = this.count(FROM) * this.count(TO);
    this.levels = Array.from({ length: LEVELS }, () => Array.from({ length: this.heads }, () => []));
    this.all = null;   // the picture with nothing in focus
    for (let head = 0; head < this.heads; head++) {
      for (let cell = 0; cell < area; cell++) {
        const weight = data[head * area + cell] / this.unit;
        if (weight >= least) this.levels[Math.min(LEVELS - 1, Math.floor(Math.sqrt(weight) * LEVELS))][head].push(cell);
      }
    }
  }

  // The lines between the tokens in focus, strongest first, no more than can be told apart.
  chosen([queries, keys]) {
    const [from, to] = [new Set(queries), new Set(keys)];
    const width = this.count(TO);
    const inFocus = (cell) => (!from.size || from.has(Math.floor(cell / width))) && (!to.size || to.has(cell % width));
    const groups = [];
    let [drawn, all] = [0, 0];
    for (let level = LEVELS - 1; level >= 0; level--) {
      this.levels[level].forEach((cells, head) => {
        const fitting = from.size || to.size ? cells.filter(inFocus) : cells;
        const some = fitting.slice(0, MOST_LINES - drawn);
        all += fitting.length;
        drawn += some.length;
        if (some.length) groups.push({ weight: ((level + 0.5) / LEVELS) ** 2, head, cells: some });
      });
    }
    return { groups: groups.reverse(), drawn, all };   // the strongest are drawn last and lie on top
  }

  // ---- What is looked at ----

  // The tokens in focus on each side: the one under the pointer, else those that are held.
  focus() {
    if (this.at) return this.at[0] === FROM ? [[this.at[1]], []] : [[], [this.at[1]]];
    return this.held.map((side, which) => [...side].filter((token) => token < this.count(which)).sort((a, b) => a - b));
  }

  // For each token of a side, the weight between it and the tokens in focus on the other: summed over these, one number a head.
  sums(side, others) {
    return Array.from({ length: this.count(side) }, (_, token) => Array.from({ length: this.heads }, (_, head) => others.reduce(
      (sum, other) => sum + (side === TO ? this.weight(head, other, token) : this.weight(head, token, other)), 0)));
  }

  // ---- Painting ----

  paint() {
    if (!this.header || !this.root.isConnected) return;
    const width = this.canvas.clientWidth;
    if (!width) return;
    const scale = devicePixelRatio;
    const height = this.most * this.row;
    this.canvas.style.height = `${height}px`;
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (this.canvas.width !== w || this.canvas.height !== h) Object.assign(this.canvas, { width: w, height: h });
    const pen = this.canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const focus = this.focus();
    const sums = [focus[TO].length ? this.sums(FROM, focus[TO]) : null, focus[FROM].length ? this.sums(TO, focus[FROM]) : null];
    const left = sums[FROM] || sums[TO] ? this.drawLines(pen, width, focus) : this.drawAll(pen, width, height, scale);
    this.drawSquares(pen, width, sums);
    this.markRows(focus, sums);
    this.summarise(focus, left);
  }

  squareSize(width) { return this.heads > 1 ? Math.max(3, Math.min(9, Math.floor(width * 0.2 / this.heads))) : 0; }

  drawLines(pen, width, focus) {
    const [queries, keys] = focus;
    const strip = this.squareSize(width) * this.heads;
    const ends = [queries.length || !keys.length ? 2 : strip + 4, keys.length || !queries.length ? width - 2 : width - strip - 4];
    const anything = queries.length + keys.length > 0;
    const middle = this.row / 2;
    const { groups, drawn, all } = this.chosen(focus);
    for (const { weight, head, cells } of groups) {
      pen.strokeStyle = this.header.colours[head];
      pen.globalAlpha = anything ? Math.max(0.06, weight ** 0.75) : weight;
      pen.lineWidth = Math.max(1, 0.6 + 2.6 * weight);   // thinner than a pixel is slower and not seen
      for (let start = 0; start < cells.length; start += TOGETHER) {
        pen.beginPath();
        for (const cell of cells.slice(start, start + TOGETHER)) {
          pen.moveTo(ends[0], Math.floor(cell / this.count(TO)) * this.row + middle);
          pen.lineTo(ends[1], (cell % this.count(TO)) * this.row + middle);
        }
        pen.stroke();
      }
    }
    pen.globalAlpha = 1;
    return drawn < all ? `the strongest ${drawn.toLocaleString("en")} of ${all.toLocaleString("en")} lines` : "";
  }

  // The picture with nothing in focus is kept: it comes back whenever the pointer leaves a token.
  drawAll(pen, width, height, scale) {
    const size = `${width} ${height} ${scale}`;
    if (this.all?.size !== size) {
      const canvas = new OffscreenCanvas(Math.max(1, this.canvas.width), Math.max(1, this.canvas.height));
      const own = canvas.getContext("2d");
      own.scale(scale, scale);
      this.all = { size, canvas, left: this.drawLines(own, width, [[], []]) };
    }
    pen.drawImage(this.all.canvas, 0, 0, width, height);
    return this.all.left;
  }

  // Beside each token one small square a head, as strong as its weight.
  drawSquares(pen, width, sums) {
    const size = this.squareSize(width);
    if (!size) return;
    sums.forEach((side, which) => side?.forEach((values, token) => {
      values.forEach((value, head) => {
        const x = which === TO ? width - (this.heads - head) * size : head * size;
        const y = token * this.row + 2;
        pen.fillStyle = this.theme.faint;
        pen.fillRect(x, y, size - 1, this.row - 4);
        pen.globalAlpha = Math.min(1, value);
        pen.fillStyle = this.header.colours[head];
        pen.fillRect(x, y, size - 1, this.row - 4);
        pen.globalAlpha = 1;
      });
    }));
  }

  // Held and reached tokens, and beside each token of the other side the sum as bar and number.
  markRows(focus, sums) {
    this.rows.forEach((rows, side) => {
      const totals = sums[side]?.map((values) => values.reduce((sum, value) => sum + value, 0) / this.heads);
      const largest = totals ? Math.max(...totals, 1e-9) : 1;
      this.sides[side].classList.toggle("enc-lines-summed", Boolean(totals));
      rows.forEach((row, token) => {
        row.classList.toggle("enc-held", this.held[side].has(token));
        row.classList.toggle("enc-at", this.at?.[0] === side && this.at[1] === token);
        const number = row.lastChild.firstChild.firstChild;
        const text = totals ? threeDigits(totals[token]) : "";
        if (number.data !== text) number.data = text;   // a new text in an old node is cheaper than a new node
        const bar = totals ? `${(100 * totals[token] / largest).toFixed(1)}% 100%` : "0% 100%";
        if (row.style.backgroundSize !== bar) row.style.backgroundSize = bar;   // a custom property would be inherited
      });
    });
  }

  // What the numbers are, and whether lines were left out.
  summarise([queries, keys], left) {
    const said = (count, one, many) => (count > 1 ? `${count} ${many} summed` : count ? `1 ${one}` : "");
    const parts = [said(queries.length, "query", "queries"), said(keys.length, "key", "keys")].filter(Boolean);
    const numbers = parts.length ? `Numbers: ${parts.join(", ")}${this.heads > 1 ? `, mean of ${this.heads} heads` : ""}` : "";
    const drawn = left ? `Drawn: ${left}${parts.length ? "" : "; choose a token for all of its lines"}` : "";
    const text = [numbers, drawn].filter(Boolean).join(". ");
    if (this.summary.textContent !== text) this.summary.textContent = text;   // the same text anew lays out the page anew
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
    this.paintSoon();
  }

  onClick(side, event) {
    const token = this.tokenAt(side, event);
    if (token !== null) this.hold(side, token, event.shiftKey);
  }

  // A click holds one token alone, or lets it go; with shift it joins the others or leaves them.
  hold(side, token, shift) {
    const had = this.held[side].has(token);
    if (shift) this.held[side][had ? "delete" : "add"](token);
    else {
      const alone = had && this.held[FROM].size + this.held[TO].size === 1;
      this.held = [new Set(), new Set()];
      if (!alone) this.held[side].add(token);
    }
    this.send();
  }

  send() {
    this.at = null;   // what is held shows at once, not only when the pointer has left
    this.paint();
    const [queries, keys] = this.held.map((side) => [...side].sort((a, b) => a - b));
    this.component.setTriggerValue("select", { queries, keys, id: eventId() });
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [side, token] = this.cursor ?? [FROM, 0];
    const moves = {
      ArrowUp: [side, token - 1], ArrowDown: [side, token + 1], ArrowLeft: [FROM, token], ArrowRight: [TO, token],
      Home: [side, 0], End: [side, Infinity],
    };
    if (event.key === "Escape") {
      this.cursor = null;
      this.held = [new Set(), new Set()];
      this.send();
    } else if (moves[event.key] && this.most) {
      const [newSide, newToken] = this.cursor ? moves[event.key] : [FROM, 0];
      this.cursor = [newSide, Math.max(0, Math.min(this.count(newSide) - 1, newToken))];
      this.move(this.cursor);
      this.rows[this.cursor[0]][this.cursor[1]].scrollIntoView({ block: "nearest" });
      this.announce(...this.cursor);
    } else if (this.cursor && (event.key === "Enter" || event.key === " ")) this.hold(side, token, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  announce(side, token) {
    const sums = this.sums(1 - side, [token]).map((values) => values.reduce((sum, value) => sum + value, 0) / this.heads);
    const strongest = sums.map((value, other) => [value, other]).sort((a, b) => b[0] - a[0]).slice(0, 3);
    const list = strongest.map(([value, other]) => `${this.name(1 - side, other)} ${threeDigits(value)}`).join(", ");
    const name = this.name(side, token);
    this.aloud.textContent = side === FROM ? `${name} attends most to ${list}` : `${name} is attended to most by ${list}`;
  }

  // ---- The picture as a file: the tokens are drawn by the canvas here. ----

  save(kind) {
    const side = 170;
    const middle = Math.max(240, this.canvas.clientWidth);
    const width = middle + 2 * side;
    const columns = Math.max(1, Math.floor((width - 16) / this.legendStep()));
    const top = 8 + 22 * Math.ceil(this.heads / columns);
    savePicture(kind, this.header.name, width, this.most * this.row + top + 8, this.theme.background, (pen) => {
      this.saveLegend(pen, columns);
      pen.translate(side, top);
      const focus = this.focus();
      const sums = [focus[TO].length ? this.sums(FROM, focus[TO]) : null, focus[FROM].length ? this.sums(TO, focus[FROM]) : null];
      this.drawLines(pen, middle, focus);
      this.drawSquares(pen, middle, sums);
      this.saveTokens(pen, middle, side, sums);
    });
  }

  // Room for the longest name of a head, with its colour.
  legendStep() {
    const pen = this.canvas.getContext("2d");
    pen.font = `12px ${this.theme.font}`;
    return 32 + Math.max(...this.header.labels.map((label) => pen.measureText(label).width));
  }

  saveLegend(pen, columns) {
    pen.font = `12px ${this.theme.font}`;
    pen.textBaseline = "middle";
    const step = this.legendStep();
    this.header.labels.forEach((label, head) => {
      const [x, y] = [8 + (head % columns) * step, 8 + 22 * Math.floor(head / columns)];
      pen.fillStyle = this.header.colours[head];
      pen.fillRect(x, y, 11, 11);
      pen.fillStyle = this.theme.text;
      pen.fillText(label, x + 16, y + 6);
    });
  }

  saveTokens(pen, middle, side, sums) {
    pen.font = `13px ${this.theme.font}`;
    this.rows.forEach((_, which) => this.tokens(which).forEach((token, k) => {
      const values = sums[which]?.[k];
      const number = values ? threeDigits(values.reduce((sum, value) => sum + value, 0) / this.heads) : "";
      pen.textAlign = which === FROM ? "right" : "left";
      const x = which === FROM ? -6 : middle + 6;
      const y = (k + 0.5) * this.row;
      pen.fillStyle = this.held[which].has(k) ? this.theme.primary : this.theme.text;
      pen.fillText(fit(pen, token, side - 56), x, y);
      pen.textAlign = which === FROM ? "left" : "right";
      pen.fillText(number, which === FROM ? 6 - side : middle + side - 6, y);
    }));
  }

  destroy() {
    this.paintSoon.cancel();
    this.observer.disconnect();
    this.root.remove();
  }
}

export default mounted(LinesView);
