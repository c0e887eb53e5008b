// All heads of a model as small maps on one canvas: layers down, heads across, or a sorted flow.

const SMALLEST = 14;      // pixels of a map on a narrow screen
const LARGEST = 88;
const PREVIEW = 176;      // pixels of the map under the pointer
const LABEL_FONT = 11;
const FADED = 0.2;        // opacity of a map that a filter leaves out

class GridView {
  constructor(parent) {
    this.parent = parent;
    this.canvas = make("canvas", { class: "enc-focus", tabindex: "0", role: "application", "aria-roledescription": "grid of attention maps" });
    this.scroller = make("div", { class: "enc-grid" }, this.canvas);
    this.legend = make("div", { class: "enc-grid-legend" });
    this.buttons = saveButtons("the grid", (kind) => this.save(kind));
    this.aloud = make("div", { class: "enc-aloud", "aria-live": "polite" });
    this.note = make("div", { class: "enc-note", role: "status", hidden: "" });
    this.bar = make("div", { class: "enc-grid-bar" }, this.legend, this.buttons);
    this.root = make("div", { class: "enc-root enc-saveable" }, this.bar, this.scroller, this.aloud, this.note);
    this.tip = new Tip(this.root);
    this.fillTip();
    this.root.hidden = true;   // until its maps are there
    parent.append(this.root);
    this.focused = null;    // the cell that the arrow keys are on
    this.hovered = null;
    this.paintSoon = everyFrame(() => this.paint());
    this.observer = new ResizeObserver(() => this.root.clientWidth !== this.width && this.paintSoon());
    this.observer.observe(this.root);
    this.canvas.addEventListener("pointermove", (event) => this.hover(this.cellAt(event), event));
    this.canvas.addEventListener("pointerleave", () => this.hover(null));
    this.canvas.addEventListener("click", (event) => this.onClick(event));
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    this.canvas.addEventListener("blur", () => { this.tip.hide(); this.paintSoon(); });
    this.canvas.addEventListener("focus", () => this.paintSoon());
    this.onScroll = () => this.tip.hide();
    window.addEventListener("scroll", this.onScroll, { capture: true, passive: true });
    this.onStored = () => this.component && this.update(this.component);
    window.addEventListener("enc-stored", this.onStored);
  }

  update(component) {
    this.component = component;
    try {
      const { header, arrays: own } = unpack(component.data);
      const maps = stored.get(header.maps.name);
      if (maps?.digest !== header.maps.digest) return;   // they are on their way; `onStored` goes on
      const arrays = { ...maps.arrays, ...own };
      this.header = header;
      this.arrays = arrays;
      this.root.hidden = false;
      this.theme = readTheme(this.parent);
      const known = this.picture && sameBytes(this.picture.thumbnails, arrays.thumbnails.data) && sameBytes(this.picture.colours, arrays.colours.data);
      if (!known) this.picture = { thumbnails: arrays.thumbnails.data, colours: arrays.colours.data, sizes: new Map() };
      const chosenElsewhere = String(header.selected) !== String(this.selected) && document.activeElement !== this.canvas;
      if (!(header.heard < this.opened?.id)) this.opened = null;   // an answer to a click before leaves the newer one be
      this.selected = this.opened?.selected ?? header.selected;
      this.cells = header.order ?? header.layers.flatMap((_, row) => header.heads.map((_, column) => [row, column]));
      if (this.focused !== null && this.focused >= this.cells.length) this.focused = null;
      if (this.focused !== null && chosenElsewhere) this.focused = this.indexOf(this.selected);   // arrows go on from there
      this.canvas.setAttribute("aria-label", `${header.alt} Arrow keys move over the heads, Enter opens one, P pins it, Escape clears.`);
      this.fillLegend();
      this.paint();
      this.note.hidden = true;
    } catch (error) {
      this.note.hidden = false;
      this.note.textContent = `The grid could not be drawn: ${error.message}`;
    }
  }

  // ---- What is where ----

  // Sizes in CSS pixels for a width: a table of layers and heads, or rows filled one after the other.
  measure(width) {
    const { heads, layers, order } = this.header;
    const flow = Boolean(order);
    const gutter = flow ? 0 : 26;
    const bar = this.arrays.measure ? 6 : 0;
    const caption = flow ? 15 : 0;
    const room = width - gutter;
    const gapFor = (pitch) => (pitch < 30 ? 2 : pitch < 56 ? 4 : 6);
    let columns = heads.length;
    if (flow) {
      const smallest = 44;
      const wanted = Math.max(heads.length, Math.floor(room / (LARGEST + 6)));
      columns = Math.max(1, Math.min(wanted, Math.floor(room / (smallest + 4)), this.cells.length));
    }
    const gap = gapFor(room / columns);
    const size = this.crisp(Math.max(SMALLEST, Math.min(LARGEST, Math.floor(room / columns) - gap)));
    const rows = flow ? Math.ceil(this.cells.length / columns) : layers.length;
    const top = flow ? 0 : 18;
    const stepX = size + gap;
    const stepY = size + bar + caption + gap;
    return {
      flow, columns, rows, gap, size, bar, caption, gutter, top, stepX, stepY,
      width: gutter + columns * stepX + 3, height: top + rows * stepY + 4,
    };
  }

  // A size at which every block of a thumbnail is as wide as the next, if one lies close by.
  crisp(size) {
    const side = this.arrays.thumbnails.shape[2];
    const whole = Math.floor(size * devicePixelRatio / side) * side / devicePixelRatio;
    return whole >= 0.8 * size ? whole : size;
  }

  // [x, y] of the upper left corner of a cell's map.
  corner(place, k) {
    const [row, column] = place.flow ? [Math.floor(k / place.columns), k % place.columns] : this.cells[k];
    return [place.gutter + column * place.stepX + 2, place.top + row * place.stepY + place.caption + 2];
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const place = this.place;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const found = this.cells.findIndex((_, k) => {
      const [left, top] = this.corner(place, k);
      return x >= left - place.gap / 2 && x < left + place.size + place.gap / 2
        && y >= top - place.caption && y < top + place.size + place.bar + place.gap / 2;
    });
    return found < 0 ? null : found;
  }

  headOf(k) {
    const [row, column] = this.cells[k];
    return { layer: this.header.layers[row], head: this.header.heads[column] };
  }

  nameOf(k) {
    const { layer, head } = this.headOf(k);
    return `L${layer} H${head}`;
  }

  flatIndex(k) {
    const [row, column] = this.cells[k];
    return row * this.header.heads.length + column;
  }

  valueOf(k) {
    return this.arrays.measure ? this.arrays.measure.data[this.flatIndex(k)] : NaN;
  }

  badgeOf(k) {
    const { layer, head } = this.headOf(k);
    return this.header.badges[`L${layer}H${head}`] ?? "";
  }

  isPinned(k) {
    const { layer, head } = this.headOf(k);
    return this.header.pinned.findIndex(([l, h]) => l === layer && h === head);
  }

  // ---- Painting ----

  // All thumbnails in one picture, shrunk to at most `most` blocks a side by taking the strongest of each group of cells:
  // the mean would let a thin diagonal fade.
  atlas(most) {
    const [layers, heads, side] = this.arrays.thumbnails.shape;
    const group = Math.max(1, Math.ceil(side / Math.max(1, most)));
    if (this.picture.sizes.has(group)) return this.picture.sizes.get(group);
    const blocks = Math.ceil(side / group);
    const table = new Uint32Array(256);
    const { colours, thumbnails } = this.picture;
    for (let v = 0; v < 256; v++) table[v] = 0xff000000 | (colours[3 * v + 2] << 16) | (colours[3 * v + 1] << 8) | colours[3 * v];
    const image = new ImageData(heads * blocks, layers * blocks);
    const pixels = new Uint32Array(image.data.buffer);
    for (let map = 0; map < layers * heads; map++) {
      const start = map * side * side;
      const to = Math.floor(map / heads) * blocks * heads * blocks + (map % heads) * blocks;
      for (let row = 0; row < blocks; row++) {
        for (let column = 0; column < blocks; column++) {
          let most = 0;
          const [rowEnd, columnEnd] = [Math.min(side, (row + 1) * group), Math.min(side, (column + 1) * group)];
          for (let i = row * group; i < rowEnd; i++) {
            for (let j = column * group; j < columnEnd; j++) most = Math.max(most, thumbnails[start + i * side + j]);
          }
          pixels[to + row * heads * blocks + column] = table[most];
        }
      }
    }
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext("2d").putImageData(image, 0, 0);
    const made = { canvas, blocks };
    this.picture.sizes.set(group, made);
    return made;
  }

  paint() {
    if (!this.header) return;
    if (!this.header || !this.root.isConnected) return;
    this.width = this.root.clientWidth;
    if (!this.width) return;
    const place = this.place = this.measure(this.width);
    const scale = devicePixelRatio;
    const [w, h] = [Math.round(place.width * scale), Math.round(place.height * scale)];
    if (this.canvas.width !== w || this.canvas.height !== h) Object.assign(this.canvas, { width: w, height: h });
    Object.assign(this.canvas.style, { width: `${place.width}px`, height: `${place.height}px` });
    this.draw(this.canvas.getContext("2d"), place, scale);
  }

  draw(pen, place, scale) {
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, place.width, place.height);
    pen.imageSmoothingEnabled = false;
    const atlas = this.atlas(Math.floor(place.size * scale));
    this.drawLabels(pen, place);
    this.cells.forEach(([row, column], k) => {
      const [x, y] = this.corner(place, k);
      const dim = this.arrays.dim?.data[this.flatIndex(k)];
      if (place.caption) this.text(pen, this.nameOf(k), x + place.size / 2, y - 8, "center", dim ? this.theme.muted : this.theme.text);
      pen.globalAlpha = dim ? FADED : 1;
      pen.drawImage(atlas.canvas, column * atlas.blocks, row * atlas.blocks, atlas.blocks, atlas.blocks, x, y, place.size, place.size);
      if (place.bar) this.drawMeasure(pen, place, k, x, y + place.size + 1);
      pen.globalAlpha = dim ? 0.5 : 1;   // still to be read
      this.drawBadge(pen, place, k, x, y);
      pen.globalAlpha = 1;
    });
    if (this.hovered !== null) this.frame(pen, place, this.hovered, this.theme.text, 1.5);
    this.cells.forEach((_, k) => this.isPinned(k) >= 0 && this.drawPin(pen, place, k));
    const chosen = this.indexOf(this.selected);
    if (chosen !== null) this.frame(pen, place, chosen, this.theme.primary, 3);
    // After a click of the mouse the chosen head's own frame says it; dashes over it are for the keyboard.
    if (this.focused !== null && this.canvas.matches(":focus-visible")) this.frame(pen, place, this.focused, this.theme.text, 2, [4, 3]);
  }

  drawLabels(pen, place) {
    if (place.flow) return;
    const narrow = place.stepX < 26;   // "H10" no longer fits over a map: the number alone, and one H in the corner
    if (narrow) this.text(pen, "H", place.gutter - 6, 9, "right", this.theme.muted);
    this.header.heads.forEach((head, column) => {
      this.text(pen, narrow ? String(head) : `H${head}`, place.gutter + column * place.stepX + 2 + place.size / 2, 9, "center", this.theme.text);
    });
    this.header.layers.forEach((layer, row) => {
      this.text(pen, `L${layer}`, place.gutter - 5, place.top + row * place.stepY + 2 + place.size / 2, "right", this.theme.text);
    });
  }

  text(pen, text, x, y, align, colour, font = LABEL_FONT) {
    pen.font = `${font}px ${this.theme.font}`;
    pen.textAlign = align;
    pen.textBaseline = "middle";
    pen.fillStyle = colour;
    pen.fillText(text, x, y);
  }

  drawMeasure(pen, place, k, x, y) {
    const value = this.valueOf(k);
    pen.fillStyle = this.theme.faint;
    pen.fillRect(x, y, place.size, 4);
    if (!Number.isFinite(value)) return;
    const share = this.share(value);
    pen.fillStyle = this.measureColour(share);
    pen.fillRect(x, y, Math.max(2, share * place.size), 4);
  }

  share(value) {
    const [low, high] = this.header.measureRange;
    return high > low ? Math.max(0, Math.min(1, (value - low) / (high - low))) : 1;
  }

  // One hue from pale to strong, away from the colours of the maps.
  measureColour(share) {
    return this.theme.dark ? `hsl(36 95% ${38 + 30 * share}%)` : `hsl(26 95% ${66 - 28 * share}%)`;
  }

  drawBadge(pen, place, k, x, y) {
    const badge = this.badgeOf(k);
    if (!badge) return;
    if (place.size < 40) {   // no room for words: a dot says that there are some
      const radius = Math.max(2, place.size / 10);
      pen.fillStyle = "#fff";
      pen.beginPath(); pen.arc(x + radius + 2, y + radius + 2, radius + 1, 0, 7); pen.fill();
      pen.fillStyle = "#d6336c";
      pen.beginPath(); pen.arc(x + radius + 2, y + radius + 2, radius, 0, 7); pen.fill();
      return;
    }
    pen.font = `600 10px ${this.theme.font}`;
    const shown = fit(pen, badge, place.size - 12);
    pen.fillStyle = "rgba(20,20,24,0.82)";
    pen.beginPath(); pen.roundRect(x + 2, y + 2, pen.measureText(shown).width + 8, 14, 4); pen.fill();
    pen.textAlign = "left"; pen.textBaseline = "middle"; pen.fillStyle = "#fff";
    pen.fillText(shown, x + 6, y + 9.5);
  }

  drawPin(pen, place, k) {
    const [x, y] = this.corner(place, k);
    const radius = place.size < 30 ? 4 : 7;
    const [cx, cy] = [x + place.size - radius - 1, y + radius + 1];
    pen.fillStyle = "#fff";
    pen.beginPath(); pen.arc(cx, cy, radius + 1, 0, 7); pen.fill();
    pen.fillStyle = this.theme.primary;
    pen.beginPath(); pen.arc(cx, cy, radius, 0, 7); pen.fill();
    if (radius < 6) return;
    pen.font = `700 10px ${this.theme.font}`;
    pen.textAlign = "center"; pen.textBaseline = "middle";
    pen.fillStyle = luminance(this.theme.primary) > 0.35 ? "#111" : "#fff";
    pen.fillText(String(this.isPinned(k) + 1), cx, cy + 0.5);
  }

  frame(pen, place, k, colour, width, dash = []) {
    const [x, y] = this.corner(place, k);
    const at = width / 2;
    pen.strokeStyle = this.theme.background;
    pen.lineWidth = width + 1.5;
    pen.strokeRect(x - at, y - at, place.size + width, place.size + width);
    pen.setLineDash(dash);
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.strokeRect(x - at, y - at, place.size + width, place.size + width);
    pen.setLineDash([]);
  }

  indexOf(head) {
    if (!head) return null;
    const found = this.cells.findIndex(([row, column]) => this.header.layers[row] === head[0] && this.header.heads[column] === head[1]);
    return found < 0 ? null : found;
  }

  fillLegend() {
    this.legend.replaceChildren();
    if (!this.arrays.measure) return;
    const [low, high] = this.header.measureRange;
    const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => this.measureColour(share)).join(",");
    const scale = make("i", { style: `background: linear-gradient(90deg, ${stops})` });
    this.legend.append(make("span", {}, this.header.measureLabel), make("span", {}, threeDigits(low)), scale, make("span", {}, threeDigits(high)));
  }

  // ---- The label under the pointer ----

  fillTip() {
    this.preview = make("canvas", { width: "1", height: "1" });
    this.tipName = make("strong");
    this.tipText = make("span");
    this.tip.element.append(make("div", { class: "enc-grid-tip" }, this.preview, make("div", {}, this.tipName, this.tipText)));
  }

  details(k) {
    const lines = [];
    const value = this.valueOf(k);
    if (this.arrays.measure) lines.push(`${this.header.measureLabel || "measure"}: ${Number.isFinite(value) ? threeDigits(value) : "no value"}`);
    if (this.badgeOf(k)) lines.push(this.badgeOf(k));
    if (this.isPinned(k) >= 0) lines.push(`pinned, ${this.isPinned(k) + 1}`);
    if (this.arrays.dim?.data[this.flatIndex(k)]) lines.push("filtered out");
    return lines;
  }

  showTip(k, x, y) {
    const [row, column] = this.cells[k];
    const { canvas, blocks } = this.atlas(PREVIEW);
    Object.assign(this.preview, { width: blocks, height: blocks });
    const size = Math.min(PREVIEW, Math.max(1, Math.floor(PREVIEW / blocks)) * blocks);
    Object.assign(this.preview.style, { width: `${size}px`, height: `${size}px` });
    this.preview.getContext("2d").drawImage(canvas, column * blocks, row * blocks, blocks, blocks, 0, 0, blocks, blocks);
    this.tipName.textContent = this.nameOf(k);
    this.tipText.textContent = this.details(k).join("\n");
    this.tip.show(x, y);
  }

  hover(k, event) {
    if (k === null) this.tip.hide();
    else if (event.pointerType !== "touch") this.showTip(k, event.clientX, event.clientY);
    if (k !== this.hovered) {
      this.hovered = k;
      this.paintSoon();
    }
  }

  // ---- Clicks and keys ----

  onClick(event) {
    const k = this.cellAt(event);
    if (k === null) return;
    this.focused = k;
    this.open(k, event.shiftKey);
  }

  open(k, shift) {
    const head = this.headOf(k);
    if (!shift) this.selected = [head.layer, head.head];   // seen at once; Python's answer follows
    this.paint();
    const id = this.send({ event: "open", ...head, shift });
    if (shift) return;
    this.opened = { id, selected: this.selected };
    window.dispatchEvent(new CustomEvent("enc-open", { detail: { grid: this.header.name, id, ...head } }));
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const columns = this.place?.columns ?? 1;
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns, Home: -Infinity, End: Infinity };
    const k = this.focused;
    if (event.key in moves) this.moveFocus(moves[event.key]);
    else if (event.key === "Escape") {
      this.focused = null;
      this.tip.hide();
      this.paint();
      this.send({ event: "clear" });
    } else if (k !== null && (event.key === "Enter" || event.key === " ")) this.open(k, event.shiftKey);
    else if (k !== null && event.key.toLowerCase() === "p") this.send({ event: "pin", ...this.headOf(k) });
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // The first key only shows where the focus is: on the selected head.
  moveFocus(by) {
    const last = this.cells.length - 1;
    if (this.focused === null) this.focused = this.indexOf(this.selected) ?? 0;
    else if (Math.abs(by) === Infinity) this.focused = by < 0 ? 0 : last;
    else if (this.focused + by >= 0 && this.focused + by <= last) this.focused += by;
    this.paint();
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = this.corner(this.place, this.focused);
    this.reveal(box.top + y, x);
    const now = this.canvas.getBoundingClientRect();
    this.showTip(this.focused, now.left + x + this.place.size, now.top + y + this.place.size);
    this.aloud.textContent = [this.nameOf(this.focused).replace("L", "layer ").replace("H", "head "), ...this.details(this.focused)].join(", ");
  }

  // Scrolls so that the cell with the focus is seen.
  reveal(top, left) {
    const bottom = top + this.place.size;
    if (left < this.scroller.scrollLeft || left + this.place.size > this.scroller.scrollLeft + this.scroller.clientWidth) this.scroller.scrollLeft = left - 40;
    if (top >= 60 && bottom <= innerHeight) return;
    const anchor = make("div", { style: `position:absolute; width:1px; height:${this.place.size}px; top:${top - this.root.getBoundingClientRect().top}px` });
    this.root.append(anchor);
    anchor.scrollIntoView({ block: "center" });
    anchor.remove();
  }

  send(value) {
    const id = eventId();
    this.component.setTriggerValue("grid", { ...value, id });
    return id;
  }

  // The grid as it stands, with its legend, without hover and focus, on the theme's background.
  save(kind) {
    const place = this.measure(Math.max(this.width, 900));
    const top = this.arrays.measure ? 24 : 0;
    const [hovered, focused] = [this.hovered, this.focused];
    this.hovered = this.focused = null;
    savePicture(kind, this.header.name, place.width + 4, place.height + top, this.theme.background, (pen) => {
      const [w, h] = [Math.ceil(place.width * FILE_SCALE), Math.ceil(place.height * FILE_SCALE)];
      const grid = kind === "png" ? new OffscreenCanvas(w, h) : new SvgPen(w, h);
      this.draw(kind === "png" ? grid.getContext("2d") : grid, place, FILE_SCALE);
      pen.drawImage(grid, 0, top, w / FILE_SCALE, h / FILE_SCALE);
      if (top) this.drawLegend(pen);
    });
    [this.hovered, this.focused] = [hovered, focused];
  }

  drawLegend(pen) {
    const [low, high] = this.header.measureRange.map(threeDigits);
    const start = `${this.header.measureLabel} ${low}`.trim();
    this.text(pen, start, 8, 12, "left", this.theme.text, 12);
    const left = 14 + pen.measureText(start).width;
    for (let x = 0; x < 84; x++) {
      pen.fillStyle = this.measureColour(x / 83);
      pen.fillRect(left + x, 8, 1, 8);
    }
    this.text(pen, high, left + 90, 12, "left", this.theme.text, 12);
  }

  destroy() {
    this.paintSoon.cancel();
    this.observer.disconnect();
    window.removeEventListener("scroll", this.onScroll, { capture: true });
    window.removeEventListener("enc-stored", this.onStored);
    this.root.remove();
  }
}

export default mounted(GridView);
