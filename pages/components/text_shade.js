// A text whose words are shaded by attention: what the held ones attend to, or who attends to them.

const DECADES = 4;        // on the logarithmic scale what is smaller than this is not shaded
const EASE = 0.6;         // faint weights are told apart better than strong ones; the legend is drawn with the same curve

class TextView {
  constructor(parent) {
    this.parent = parent;
    this.top = make("div", { class: "enc-text-top" });
    this.buttons = saveButtons("the text", (kind) => this.save(kind));
    this.body = make("div", { class: "enc-text-body enc-focus", tabindex: "0", role: "application", "aria-roledescription": "text shaded by attention" });
    this.aloud = make("div", { class: "enc-aloud", "aria-live": "polite" });
    this.note = make("div", { class: "enc-note", role: "status", hidden: "" });
    this.root = make("div", { class: "enc-root enc-text" }, this.top, this.body, this.aloud, this.note);
    this.tip = new Tip(this.root);
    parent.append(this.root);
    this.cursor = null;    // the unit that the arrow keys are on
    this.hovered = null;
    this.held = new Set();
    this.shadeSoon = everyFrame(() => this.shade());
    this.body.addEventListener("pointermove", (event) => event.pointerType !== "touch" && this.point(event));
    this.body.addEventListener("pointerleave", () => this.leave());
    this.body.addEventListener("click", (event) => this.onClick(event));
    this.body.addEventListener("keydown", (event) => this.onKey(event));
    this.body.addEventListener("blur", () => this.leave());
    this.onScroll = () => this.tip.hide();
    window.addEventListener("scroll", this.onScroll, { capture: true, passive: true });
  }

  update(component) {
    this.component = component;
    try {
      const { header, arrays } = unpack(component.data);
      this.header = header;
      this.values = arrays.values.data;
      this.rows = arrays.rows.data;         // unit -> row of the map, -1: none
      this.columns = arrays.columns.data;
      this.weights = arrays.weights ?? null;
      this.theme = readTheme(this.parent);
      this.held = new Set(header.held);
      const [from, to] = header.direction === "to" ? [this.theme.query, this.theme.key] : [this.theme.key, this.theme.query];
      this.root.style.setProperty("--enc-from", from);
      this.hue = rgb(to);
      this.ground = rgb(this.theme.background);
      this.text = rgb(this.theme.text);
      this.body.setAttribute("aria-label", `${header.alt} Arrow keys move over the words, Enter holds one, Shift with Enter adds one, Escape clears.`);
      this.fillBody();
      this.shade();
      this.note.hidden = true;
    } catch (error) {
      this.note.hidden = false;
      this.note.textContent = `The text could not be drawn: ${error.message}`;
    }
  }

  fillBody() {
    const key = JSON.stringify([this.header.paragraphs, this.header.special]);
    if (key !== this.drawn) {
      this.drawn = key;
      this.cursor = this.hovered = null;
      this.units = [];
      const special = new Set(this.header.special);
      const paragraphs = this.header.paragraphs.map((pieces) => make("p", { dir: "auto" }, ...pieces.map(([text, unit]) => {
        if (unit < 0) return document.createTextNode(text);
        const element = make("span", { class: `enc-text-unit${special.has(unit) ? " enc-text-special" : ""}`, "data-unit": String(unit) }, text);
        if (special.has(unit)) element.setAttribute("dir", "ltr");
        this.units[unit] = element;
        return element;
      })));
      this.body.replaceChildren(...paragraphs);
    }
    this.units.forEach((element, unit) => {
      element.classList.toggle("enc-text-source", this.isSource(unit));
      element.classList.toggle("enc-text-none", this.target(unit) < 0 && !this.isSource(unit));
    });
  }

  source(unit) { return this.header.direction === "to" ? this.rows[unit] : this.columns[unit]; }

  target(unit) { return this.header.direction === "to" ? this.columns[unit] : this.rows[unit]; }

  isSource(unit) { return this.source(unit) >= 0; }

  // The weight between one source and one target, by their places in the map.
  weight(source, target) {
    const [row, column] = this.header.direction === "to" ? [source, target] : [target, source];
    return this.weights.data[row * this.weights.shape[1] + column];
  }

  // What a unit is looked at for the moment: nothing held, and the pointer or the cursor on a word.
  looked() {
    if (this.held.size || !this.weights) return null;
    const unit = this.hovered ?? this.cursor;
    return unit !== null && this.isSource(unit) ? unit : null;
  }

  // One number a unit: NaN where it is no target.
  shown() {
    const unit = this.looked();
    if (unit === null) return this.values;
    return Float32Array.from(this.units, (_, other) => (this.target(other) < 0 ? NaN : this.weight(this.source(unit), this.target(other))));
  }

  // ---- Shading ----

  largest(values) {
    if (!this.header.own) return Math.max(1, this.held.size);
    let most = 0;
    for (const value of values) if (value > most) most = value;
    return most || 1;
  }

  strength(value, top) {
    if (!(value > 0)) return 0;
    const share = Math.min(1, value / top);
    return this.header.log ? Math.max(0, 1 + Math.log10(share) / DECADES) : share ** EASE;
  }

  colour(strength) {
    return this.ground.map((channel, k) => Math.round(channel + (this.hue[k] - channel) * strength));
  }

  // The theme's own text colour while it can be read there, else black or white.
  ink(colour) {
    const [text, ground] = [lightness(this.text), lightness(colour)];
    if ((Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05) >= 4.5) return "";
    return ground > 0.179 ? "#000" : "#fff";
  }

  shade() {
    if (!this.header || !this.root.isConnected) return;
    const values = this.shown();
    const top = this.largest(values);
    this.units.forEach((element, unit) => {
      const strength = this.strength(values[unit], top);
      const colour = this.colour(strength);
      element.style.backgroundColor = strength > 0.005 ? `rgb(${colour})` : "";
      element.style.color = strength > 0.005 ? this.ink(colour) : "";
      element.classList.toggle("enc-held", this.held.has(unit));
      element.classList.toggle("enc-at", this.cursor === unit && this.body.matches(":focus-visible"));
    });
    this.fillTop(top);
  }

  fillTop(top) {
    const stops = Array.from({ length: 17 }, (_, k) => {
      const value = this.header.log ? top * 10 ** (DECADES * (k / 16 - 1)) : top * k / 16;
      return `rgb(${this.colour(this.strength(value, top))}) ${(100 * k / 16).toFixed(1)}%`;
    });
    const low = this.header.log ? `≤ ${threeDigits(top / 10 ** DECADES)}` : "0";
    const bar = make("i", { style: `background: linear-gradient(90deg, ${stops.join(", ")})` });
    const looked = this.looked();
    const unit = looked === null ? "" : this.header.direction === "to" ? `what “${this.label(looked)}” attends to` : `who attends to “${this.label(looked)}”`;
    this.top.replaceChildren(make("span", {}, this.header.title), make("span", {}, low), bar, make("span", {}, threeDigits(top)), make("em", {}, unit), this.buttons);
  }

  label(unit) { return this.header.labels[unit]; }

  // ---- Pointer and keys ----

  unitAt(event) {
    const element = event.target.closest?.(".enc-text-unit");
    return element ? Number(element.dataset.unit) : null;
  }

  point(event) {
    const unit = this.unitAt(event);
    if (unit !== this.hovered) {
      this.hovered = unit;
      this.shadeSoon();
    }
    if (unit === null) this.tip.hide();
    else this.showTip(unit, event.clientX, event.clientY);
  }

  leave() {
    this.hovered = null;
    this.tip.hide();
    this.shadeSoon();
  }

  showTip(unit, x, y) {
    this.tip.element.textContent = this.says(unit);
    this.tip.show(x, y);
  }

  // The number of a unit, in words.
  says(unit) {
    const name = this.label(unit);
    if (this.looked() === unit) {
      return this.target(unit) < 0 ? name : `${name} attends to itself: ${threeDigits(this.weight(this.source(unit), this.target(unit)))}`;
    }
    const value = this.values[unit];
    if (Number.isNaN(value)) return `${name}: not shown as a ${this.header.direction === "to" ? "key" : "query"}`;
    const held = [...this.held].map((other) => this.label(other));
    if (!held.length) return `${name}: ${threeDigits(value)} on average`;
    const those = held.length > 3 ? `${held.length} tokens` : held.join(" + ");
    return this.header.direction === "to" ? `${those} → ${name}: ${threeDigits(value)}` : `${name} → ${those}: ${threeDigits(value)}`;
  }

  onClick(event) {
    const unit = this.unitAt(event);
    if (unit !== null) this.hold(unit, event.shiftKey);
  }

  hold(unit, shift) {
    if (!this.isSource(unit)) return;
    const had = this.held.has(unit);
    if (shift) this.held[had ? "delete" : "add"](unit);
    else this.held = new Set(had && this.held.size === 1 ? [] : [unit]);
    this.cursor = unit;
    this.send();
  }

  send() {
    this.tip.hide();
    if (this.weights) this.values = this.summed();   // seen at once; Python's answer follows
    this.shade();
    this.component.setTriggerValue("select", { units: [...this.held].sort((a, b) => a - b), id: eventId() });
  }

  summed() {
    if (!this.held.size) return this.values;
    return Float32Array.from(this.units, (_, other) => (this.target(other) < 0 ? NaN
      : [...this.held].reduce((sum, unit) => sum + this.weight(this.source(unit), this.target(other)), 0)));
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      this.cursor = null;
      this.held = new Set();
      this.send();
    } else if (/^(Arrow|Home$|End$)/.test(event.key)) this.move(event.key);
    else if (this.cursor !== null && (event.key === "Enter" || event.key === " ")) this.hold(this.cursor, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  move(key) {
    const last = this.units.length - 1;
    const here = this.cursor;
    if (here === null) this.cursor = [...this.held][0] ?? 0;
    else if (key === "Home" || key === "End") this.cursor = key === "Home" ? 0 : last;
    else if (key === "ArrowUp" || key === "ArrowDown") this.cursor = this.nextLine(here, key === "ArrowDown" ? 1 : -1);
    else {
      const leftwards = getComputedStyle(this.units[here].closest("p")).direction === "rtl";
      this.cursor = Math.max(0, Math.min(last, here + ((key === "ArrowRight") !== leftwards ? 1 : -1)));
    }
    const element = this.units[this.cursor];
    element.scrollIntoView({ block: "nearest" });
    this.shade();
    const box = element.getBoundingClientRect();
    this.showTip(this.cursor, box.right, box.bottom);
    this.aloud.textContent = this.says(this.cursor);
  }

  // The unit of the next line that lies nearest below or above.
  nextLine(unit, by) {
    const box = this.units[unit].getBoundingClientRect();
    const middle = (box.left + box.right) / 2;
    let [best, distance] = [unit, Infinity];
    this.units.forEach((element, other) => {
      const there = element.getBoundingClientRect();
      const down = by * (there.top - box.top);
      if (down < box.height / 2) return;
      const far = 10 * down + Math.abs((there.left + there.right) / 2 - middle);
      if (far < distance) [best, distance] = [other, far];
    });
    return best;
  }

  // ---- The text as a picture, drawn where the browser has set it. ----

  save(kind) {
    const frame = this.root.getBoundingClientRect();
    const height = this.body.getBoundingClientRect().bottom - frame.top + 16;
    savePicture(kind, this.header.name, frame.width + 16, height, this.theme.background, (pen) => {
      pen.translate(8 - frame.left, 8 - frame.top);
      pen.textBaseline = "middle";
      this.units.forEach((element, unit) => this.saveGround(pen, element, unit));
      const walker = document.createTreeWalker(this.root, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        if (!walker.currentNode.parentElement.closest("button, .enc-aloud, .enc-note, .enc-tip")) this.saveText(pen, walker.currentNode);
      }
      this.saveLegend(pen);
    });
  }

  saveGround(pen, element, unit) {
    for (const box of element.getClientRects()) {
      pen.beginPath();
      pen.roundRect(box.left, box.top, box.width, box.height, 3);
      pen.fillStyle = getComputedStyle(element).backgroundColor;
      pen.fill();
      pen.strokeStyle = this.root.style.getPropertyValue("--enc-from");
      pen.lineWidth = 2.5;
      if (this.held.has(unit)) pen.stroke();
    }
  }

  // A run of text, line by line as it was broken.
  saveText(pen, node) {
    const style = getComputedStyle(node.parentElement);
    pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    pen.fillStyle = style.color;
    pen.direction = style.direction;
    pen.textAlign = style.direction === "rtl" ? "right" : "left";
    const range = document.createRange();
    for (const word of node.data.matchAll(/\S+/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const box = range.getBoundingClientRect();
      pen.fillText(word[0], style.direction === "rtl" ? box.right : box.left, box.top + box.height / 2);
    }
  }

  saveLegend(pen) {
    const box = this.top.querySelector("i").getBoundingClientRect();
    const top = this.largest(this.shown());
    for (let x = 0; x < box.width; x++) {
      const share = x / box.width;
      const value = this.header.log ? top * 10 ** (DECADES * (share - 1)) : top * share;
      pen.fillStyle = `rgb(${this.colour(this.strength(value, top))})`;
      pen.fillRect(box.left + x, box.top, 1.5, box.height);
    }
  }

  destroy() {
    this.shadeSoon.cancel();
    window.removeEventListener("scroll", this.onScroll, { capture: true });
    this.root.remove();
  }
}

// A CSS colour as [red, green, blue].
function rgb(colour) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.fillStyle = colour;
  pen.fillRect(0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3);
}

// Relative luminance (WCAG 2) of [red, green, blue].
function lightness(channels) {
  const linear = channels.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

export default mounted(TextView);
