// The input as a whole next to the rows of the model's picture: a strip of all tokens, the patches of an image, or the
// waveform of a sound. What the pointer marks here is marked there, and the reverse.
/** @import { ModelView } from "./model_view.js" */
import { make, threeDigits } from "./drawing.js";
import { everyFrame } from "./shared.js";

const WAVE_HEIGHT = 84;
const IMAGE_SIDE = 224;
// Kind of input -> what is shown, and a part of it.
const INPUT_WORDS = {
  image: ["The image, as patches", "patch"],
  video: ["The first frame of each time step, as tubelets", "tubelet"],
  sound: ["The sound, as a waveform", "part"],
};
const AROUND = 4; // tokens on each side of the one under the pointer
const BLUE = "59 130 230"; // as the lines of the open head
const STRIP_KEYS =
  "Arrow keys move the window by one token, Page up and Page down by a window, Home and End to an end.";

export class ModelInput {
  /** @type {ModelHeader} */
  header;
  /** @type {Arrays} */
  arrays;
  /** @type {InputHeader} */
  input;
  /** @type {number | null} */
  marked = null; // the position under the pointer
  moved = false; // whether a press on the strip became a drag

  /** @param {ModelView} view */
  constructor(view) {
    this.view = view;
    this.strip = this.canvas("enc-model-window enc-focus", { role: "slider", tabindex: "0", "aria-valuemin": "0" });
    this.whole = this.canvas("enc-model-whole", { role: "img" });
    this.words = make("p", { class: "enc-model-words" });
    this.element = make("figure", { class: "enc-model-input", hidden: "" }, this.whole, this.words);
    this.paintSoon = everyFrame(() => this.paint());
    for (const canvas of [this.strip, this.whole]) {
      view.listen(canvas, "pointermove", (event) => this.point(canvas, event));
      view.listen(canvas, "pointerleave", () => this.mark(null));
      view.listen(canvas, "pointerdown", (event) => this.press(canvas, event));
      view.listen(canvas, "click", (event) => this.click(canvas, event));
      view.listenToSize(canvas, () => this.paintSoon());
    }
    view.listen(this.strip, "keydown", (event) => this.key(event));
  }

  canvas = (style, attributes) => make("canvas", { class: style, hidden: "", ...attributes });

  read(header, arrays) {
    Object.assign(this, { header, arrays, input: header.input, marked: null });
    const { kind, uri, of, spans } = this.input;
    this.top = arrays.received.data.reduce((most, value) => Math.max(most, value), 0) || 1;
    const isShown = Boolean(uri ? true : arrays.wave);
    this.element.hidden = this.whole.hidden = !isShown;
    this.element.classList.toggle("enc-model-sound", kind === "sound");
    const [shown, part] = INPUT_WORDS[kind] ?? INPUT_WORDS.sound;
    this.whole.setAttribute("aria-label", shown);
    const subject = of === null ? "mean weight that it receives here" : `weight of ${this.nameOf(of)} on it`;
    this.words.textContent = `The bluer a ${part}, the larger the ${subject}, up to ${threeDigits(this.top)}.`;
    this.spans = spans ?? null;
    if (uri && uri !== this.uri) this.load(uri);
    this.paintSoon();
  }

  load(uri) {
    this.uri = uri;
    this.image = new Image();
    this.image.onload = () => this.paintSoon();
    this.image.src = uri;
  }

  nameOf(position) {
    const known = this.input.labels?.[position] ?? this.header.labels[position - this.header.first];
    if (known !== undefined) return `“${known}”`;
    const patch = this.input.patches?.indexOf(position) ?? -1;
    if (patch >= 0) {
      return `r${Math.floor(patch / this.input.columns)} c${patch % this.input.columns}`;
    }
    return `token ${position}`;
  }

  // ---- Drawing ----

  paint() {
    const { view, header } = this;
    if (!header || !view.place) return;
    const isLong = header.count > view.place.count;
    this.strip.hidden = !isLong;
    if (isLong) this.paintStrip();
    if (this.whole.hidden) return;
    this.input.patches ? this.paintImage() : this.paintSound();
  }

  pen(canvas, width, height) {
    const scale = devicePixelRatio;
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
  }

  paintStrip() {
    const { view, header, strip, arrays } = this;
    const [width, tall, n] = [strip.clientWidth, strip.clientHeight, header.count];
    const pen = this.pen(strip, width, tall);
    const [first, count] = view.pan.shown;
    pen.fillStyle = view.theme.faint;
    pen.fillRect(first * width / n, 0, count * width / n, tall);
    pen.fillStyle = `rgb(${BLUE})`;
    arrays.received.data.forEach((weight, token) => {
      const height = Math.max(1, (tall - 6) * Math.sqrt(weight / this.top));
      pen.fillRect(token * width / n, tall - height, Math.max(0.6, width / n - 0.5), height);
    });
    pen.lineWidth = 2;
    pen.strokeStyle = view.theme.primary;
    pen.strokeRect(first * width / n + 1, 1, Math.max(6, count * width / n - 2), tall - 2);
    const at = this.atPosition;
    if (at !== null) {
      pen.fillStyle = view.theme.text;
      pen.fillRect(at * width / n, 0, Math.max(1.5, width / n), tall);
    }
    strip.setAttribute("aria-valuemax", String(n - count));
    strip.setAttribute("aria-valuenow", String(first));
    strip.setAttribute("aria-valuetext", `tokens ${first} to ${first + count - 1} of ${n}`);
    strip.setAttribute("aria-label", `Window of the whole input. ${STRIP_KEYS}`);
  }

  paintImage() {
    const { input, view, arrays, whole } = this;
    const longer = Math.min(IMAGE_SIDE * (input.tile ? 2 : 1) * view.theme.scale, view.root.clientWidth);
    const side = longer / Math.max(input.columns, input.rows); // of a patch
    const [across, down] = [side * input.columns, side * input.rows];
    Object.assign(whole.style, { width: `${across}px`, height: `${down}px` });
    const pen = this.pen(whole, across, down);
    pen.imageSmoothingEnabled = input.smooth;
    if (this.image.complete) pen.drawImage(this.image, 0, 0, across, down);
    const [first, count] = view.pan.shown;
    const boxOf = (patch) => [patch % input.columns * side, Math.floor(patch / input.columns) * side, side, side];
    for (const [patch, token] of input.patches.entries()) {
      const box = boxOf(patch);
      pen.fillStyle = `rgb(${BLUE} / ${0.75 * arrays.received.data[token] / this.top})`;
      pen.fillRect(...box);
      pen.lineWidth = 1;
      pen.strokeStyle = token >= first && token < first + count ? "rgb(128 128 128 / 60%)" : "rgb(128 128 128 / 20%)";
      pen.strokeRect(...box);
    }
    if (input.tile) this.paintFrames(pen, side);
    for (const [token, colour] of this.marks()) {
      const patch = input.patches.indexOf(token);
      if (patch < 0) continue;
      const box = boxOf(patch);
      for (const [style, line] of [["#000", 5], [colour, 2.5]]) {
        Object.assign(pen, { strokeStyle: style, lineWidth: line });
        pen.strokeRect(...box);
      }
    }
  }

  // A gap between the time steps of a video. side: of a patch.
  paintFrames(pen, side) {
    const { rows, columns, tile } = this.input;
    pen.fillStyle = this.view.theme.background;
    for (let line = tile; line < columns; line += tile) pen.fillRect(line * side - 2, 0, 4, rows * side);
    for (let line = tile; line < rows; line += tile) pen.fillRect(0, line * side - 2, columns * side, 4);
  }

  paintSound() {
    const { arrays, view, input, whole } = this;
    const width = whole.clientWidth;
    const pen = this.pen(whole, width, WAVE_HEIGHT);
    const [parts, middle] = [arrays.wave.shape[1], WAVE_HEIGHT / 2];
    const most = arrays.wave.data.reduce((top, value) => Math.max(top, Math.abs(value)), 0) || 1;
    this.spans.forEach((span, token) => {
      if (!span) return;
      pen.fillStyle = `rgb(${BLUE} / ${0.7 * arrays.received.data[token] / this.top})`;
      pen.fillRect(...this.boxOf(span, width));
    });
    pen.fillStyle = view.theme.text;
    for (let part = 0; part < parts; part++) {
      const [low, high] = [arrays.wave.data[part], arrays.wave.data[parts + part]];
      const [top, bottom] = [middle - high / most * (middle - 2), middle - low / most * (middle - 2)];
      pen.fillRect(part * width / parts, top, Math.max(0.7, width / parts - 0.4), Math.max(1, bottom - top));
    }
    for (const [token, colour] of this.marks()) {
      if (!this.spans[token]) continue;
      Object.assign(pen, { strokeStyle: colour === "#fff" ? view.theme.text : colour, lineWidth: 2 });
      pen.strokeRect(...this.boxOf(this.spans[token], width));
    }
    this.seconds = input.seconds;
  }

  // Low frequencies are at the bottom; a part without a band has the whole height.
  boxOf([start, end, band], width) {
    const [left, right] = [start, Math.min(end, this.input.seconds)].map((time) => time / this.input.seconds * width);
    if (band === null) return [left, 1, right - left, WAVE_HEIGHT - 2];
    const height = WAVE_HEIGHT / this.bands;
    return [left, WAVE_HEIGHT - (band + 1) * height, right - left, height];
  }

  get bands() {
    return 1 + this.spans.reduce((most, span) => Math.max(most, span?.[2] ?? 0), 0);
  }

  // Tokens with a frame: the selected query, and what the pointer is at.
  /** @returns {[number, string][]} */
  marks() {
    const { view } = this;
    const { query } = view.choice;
    /** @type {[number, string][]} */
    const found = query === null ? [] : [[view.header.first + query, view.theme.primary]];
    if (this.atPosition !== null) found.push([this.atPosition, "#fff"]);
    return found;
  }

  get atPosition() {
    return this.marked ?? (this.view.hovered === null ? null : this.view.header.first + this.view.hovered);
  }

  // ---- Pointing, clicks and keys ----

  positionAt(canvas, event) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    if (x < 0 || x >= 1 || y < 0 || y >= 1) return null;
    if (canvas === this.strip) return Math.floor(x * this.header.count);
    if (this.input.patches) {
      const { rows, columns, patches } = this.input;
      return patches[Math.floor(y * rows) * columns + Math.floor(x * columns)];
    }
    const [time, band] = [x * this.input.seconds, Math.floor((1 - y) * this.bands)];
    const found = this.spans.findIndex((span) =>
      span && span[0] <= time && time < span[1] && (span[2] === null || span[2] === band)
    );
    return found < 0 ? null : found;
  }

  // A drag along the strip goes on where the pointer leaves it.
  press(canvas, event) {
    this.moved = false;
    if (canvas === this.strip) canvas.setPointerCapture(event.pointerId);
  }

  point(canvas, event) {
    const position = this.positionAt(canvas, event);
    if (canvas === this.strip && event.buttons === 1) {
      const x = (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth;
      this.moved = true;
      this.mark(null);
      return this.centre(Math.floor(x * this.header.count));
    }
    this.mark(position, event);
  }

  mark(position, event) {
    if (!this.header || position === this.marked) return;
    const { view, header } = this;
    this.marked = position;
    const token = position === null ? null : position - header.first;
    view.hover(token !== null && token >= 0 && token < header.labels.length ? token : null);
    if (position === null) view.tip.hide();
    else {
      view.tip.element.textContent = `${this.around(position)}\ntoken ${position}: ${
        threeDigits(this.arrays.received.data[position])
      }`;
      view.tip.show(event.clientX, event.clientY);
    }
    this.paintSoon();
  }

  around(position) {
    const { labels, patches } = this.input;
    if (!labels || patches) return this.nameOf(position);
    const before = labels.slice(Math.max(0, position - AROUND), position).join(" ");
    return `${before} [ ${labels[position]} ] ${labels.slice(position + 1, position + 1 + AROUND).join(" ")}`;
  }

  click(canvas, event) {
    const position = this.positionAt(canvas, event);
    if (position === null) return;
    if (canvas === this.strip) return this.moved ? void (this.moved = false) : this.centre(position);
    this.view.choice.choosePosition(position);
  }

  centre(position) {
    const [, count] = this.view.pan.shown;
    this.view.pan.panTo(position - Math.floor(count / 2));
  }

  key(event) {
    const [first, count] = this.view.pan.shown;
    const steps = {
      ArrowLeft: -1,
      ArrowDown: -1,
      ArrowRight: 1,
      ArrowUp: 1,
      PageUp: -count,
      PageDown: count,
      Home: -Infinity,
      End: Infinity,
    };
    if (!(event.key in steps)) return;
    event.preventDefault();
    event.stopPropagation();
    this.view.pan.panTo(first + steps[event.key]);
  }
}
