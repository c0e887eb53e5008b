// A page on which boxes are drawn, each with its words: the input of models that know places on a page.
import { make } from "../../encoder/drawing/drawing.js";
import { Drawing, sameBytes } from "../../encoder/drawing/shared.js";
import { mounted } from "./mounted.js";

const STEP = 5; // thousandths of the page that an arrow key moves a box or its edge
const LEAST = 6; // a smaller box is a click
const NEW = [60, 40, 200, 30]; // of the keyboard: left and upper edge of the first box, width and height
const PAUSE = 500; // milliseconds after the last arrow key
const MOVES = { ArrowUp: [0, -STEP], ArrowDown: [0, STEP], ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0] };
const HELP =
  "Drag on the page to draw a box, then type its words. They replace the sentence, in the order of the boxes; " +
  "the words of one box share it. Drag a box to move it, a corner to change its size. Keys: arrow keys move a box, Shift " +
  "and arrow keys change its size, Enter edits its words, Delete removes it.";
const CORNERS = [[0, 1], [2, 1], [2, 3], [0, 3]]; // the numbers of a box that each corner moves

const clamp = (value, most) => Math.min(most, Math.max(0, Math.round(value)));
/** @param {number[]} box */
const ordered = ([a, b, c, d]) => [Math.min(a, c), Math.min(b, d), Math.max(a, c), Math.max(b, d)];

/** @extends {Drawing<BoxesHeader, BoxesEvent>} */
class BoxesView extends Drawing {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    const add = make("button", { type: "button", class: "enc-save" }, "Add a box");
    const words = make("input", { type: "text", autocomplete: "off", placeholder: "Select or draw a box" });
    const remove = make("button", { type: "button", class: "enc-save" }, "Delete the box");
    const help = make("p", {}, HELP);
    const label = make("label", {}, "Words", words);
    const page = make("div", { class: "enc-boxes-page", role: "group", "aria-label": "Page with boxes" });
    const bar = make("div", { class: "enc-boxes-bar" }, add, label, remove);
    super(parent, "The page", "enc-boxes enc-drawn", bar, make("div", { class: "enc-boxes-area" }, page, help));
    this.add = add;
    this.words = words;
    this.remove = remove;
    this.page = page;
    help.id = this.helpId = `enc-boxes-${Math.random().toString(36).slice(2)}`;
    /** @type {DrawnBox[]} */
    this.boxes = [];
    /** @type {string | undefined} */
    this.told = undefined; // the boxes that Python has or was sent, as JSON
    this.selected = -1;
    this.drag = null;
    this.timer = 0;
    this.listen(add, "click", () => this.addByKey());
    this.listen(remove, "click", () => this.removeSelected());
    this.listen(words, "input", () => this.rename());
    this.listen(words, "change", () => this.tell());
    this.listen(words, "keydown", (event) => this.keyInWords(event));
    this.listen(page, "pointerdown", (event) => this.down(event));
    this.listen(page, "pointermove", (event) => this.drag && this.move(event));
    for (const name of ["pointerup", "pointercancel"]) this.listen(page, name, () => this.drag && this.up());
    this.listen(page, "keydown", (event) => this.keyOnBox(event));
    this.listen(page, "focusin", ({ target }) => this.select(this.elements().indexOf(target)));
    this.listen(page, "focusout", () => this.timer && this.tell());
  }

  /** @param {Block<BoxesHeader>} block */
  read({ header, arrays }) {
    this.header = header;
    this.showGround(arrays.ground.data);
    this.page.style.setProperty("--aspect", String(header.aspect));
    const [given, own] = [JSON.stringify(header.boxes), JSON.stringify(this.spoken())];
    // An older answer must not undo a newer change, nor one that is not told yet, such as words that are being typed.
    const isNewer = header.heard >= this.sentId && (this.told === undefined || own === this.told);
    if (isNewer && given !== own) {
      this.boxes = header.boxes.map((one) => ({ ...one }));
      if (this.selected >= this.boxes.length) this.selected = -1;
    }
    if (isNewer) this.told = given;
    this.paint();
  }

  showGround(bytes) {
    if (this.ground && sameBytes(this.ground, bytes)) return;
    this.ground = bytes.slice();
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = bytes.length ? URL.createObjectURL(new Blob([this.ground], { type: "image/jpeg" })) : "";
    this.page.style.backgroundImage = this.url && `url(${this.url})`;
    this.page.classList.toggle("enc-has-ground", Boolean(this.url));
  }

  // The boxes that have words, as Python gets them.
  spoken() {
    const found = this.boxes.map(({ words, box }) => ({ words: words.trim().replace(/\s+/g, " "), box }));
    return found.filter(({ words }) => words);
  }

  elements() {
    return /** @type {HTMLElement[]} */ ([...this.page.querySelectorAll(".enc-box")]);
  }

  // The elements stay where there is one for each box, and with them the focus.
  paint() {
    const elements = this.elements();
    for (const element of elements.splice(this.boxes.length)) element.remove();
    while (elements.length < this.boxes.length) elements.push(this.page.appendChild(this.element()));
    const share = (value) => `${100 * value / this.header.largest}%`;
    this.boxes.forEach(({ words, box: [left, upper, right, lower] }, at) => {
      const element = elements[at];
      const place = `left ${left}, upper ${upper}, right ${right}, lower ${lower}`;
      element.setAttribute("aria-label", `${words.trim() || "No words yet"}. Box ${at + 1}: ${place}`);
      element.setAttribute("aria-pressed", String(at === this.selected));
      element.classList.toggle("enc-empty", !words.trim());
      const size = { left: share(left), top: share(upper), width: share(right - left), height: share(lower - upper) };
      Object.assign(element.style, size);
      const text = /** @type {HTMLElement} */ (element.firstChild);
      text.textContent = words;
      const [across, down] = [(right - left) / 10, (lower - upper) / 10 * this.header.aspect]; // of the page's width
      text.style.fontSize = `${Math.min(0.8 * down, 1.7 * across / Math.max(1, words.length))}cqw`;
    });
    const chosen = this.boxes[this.selected];
    this.words.disabled = this.remove.disabled = !chosen;
    if (this.words.value.trim() !== (chosen?.words ?? "").trim()) this.words.value = chosen?.words ?? "";
    this.words.placeholder = chosen ? "Type the words of this box" : "Select or draw a box";
  }

  element() {
    const button = make("button", { type: "button", class: "enc-box", "aria-describedby": this.helpId });
    button.append(make("span", { class: "enc-box-words" }));
    CORNERS.forEach(([x, y], at) => {
      const corner = make("i", { class: "enc-box-corner", "data-corner": at });
      Object.assign(corner.style, { left: x ? "100%" : "0", top: y > 1 ? "100%" : "0" });
      button.append(corner);
    });
    return button;
  }

  select(at) {
    if (at === this.selected) return;
    this.tell(); // the words of the box before
    this.selected = at;
    this.paint();
  }

  // --- the pointer and fingers

  /** @param {PointerEvent} event */
  place(event) {
    const { left, top, width, height } = this.page.getBoundingClientRect();
    const [x, y] = [(event.clientX - left - 1) / (width - 2), (event.clientY - top - 1) / (height - 2)];
    return [x, y].map((share) => clamp(share * this.header.largest, this.header.largest));
  }

  down(event) {
    if (event.button || this.drag) return;
    event.preventDefault(); // no text is marked, and the focus is set here
    this.page.setPointerCapture(event.pointerId);
    const from = this.place(event);
    const at = this.elements().indexOf(event.target.closest(".enc-box"));
    const corner = event.target.dataset.corner;
    if (at < 0) {
      this.boxes.push({ words: "", box: [...from, ...from] });
      this.select(this.boxes.length - 1);
      this.drag = { from, start: this.boxes.at(-1).box, numbers: CORNERS[2], isNew: true };
      return;
    }
    this.select(at);
    this.elements()[at].focus({ preventScroll: true });
    this.drag = {
      from,
      start: this.boxes[at].box,
      numbers: corner === undefined ? null : CORNERS[corner],
      isNew: false,
    };
  }

  move(event) {
    const { from, start, numbers } = this.drag;
    const [x, y] = this.place(event);
    if (numbers) {
      const box = [...start];
      [box[numbers[0]], box[numbers[1]]] = [start[numbers[0]] + x - from[0], start[numbers[1]] + y - from[1]];
      this.boxes[this.selected].box = ordered(box.map((value) => clamp(value, this.header.largest)));
    } else this.boxes[this.selected].box = this.moved(start, x - from[0], y - from[1]);
    this.paint();
  }

  up() {
    const { start, isNew } = this.drag;
    this.drag = null;
    const { box } = this.boxes[this.selected];
    if (isNew && (box[2] - box[0] < LEAST || box[3] - box[1] < LEAST)) {
      this.boxes.pop();
      this.select(-1);
    } else if (isNew) this.words.focus({ preventScroll: true });
    else if (String(box) !== String(start)) this.tell();
  }

  // A box that keeps its size and stays on the page.
  /** @type {(box: number[], x: number, y: number) => number[]} */
  moved([left, upper, right, lower], x, y) {
    const most = this.header.largest;
    const dx = Math.min(most - right, Math.max(-left, Math.round(x)));
    const dy = Math.min(most - lower, Math.max(-upper, Math.round(y)));
    return [left + dx, upper + dy, right + dx, lower + dy];
  }

  // --- keys

  addByKey() {
    const [x, y, width, height] = NEW;
    const last = this.boxes.at(-1)?.box ?? [x, 0, 0, y];
    const upper = Math.min(last[3] + 20, this.header.largest - height);
    const box = [last[0], upper, Math.min(last[0] + width, this.header.largest), upper + height];
    this.boxes.push({ words: "", box });
    this.select(this.boxes.length - 1);
    this.words.focus();
  }

  keyInWords(event) {
    if (!["Enter", "Escape"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    this.elements()[this.selected]?.focus(); // which makes a change of the words
  }

  /** @param {KeyboardEvent} event */
  keyOnBox(event) {
    const chosen = this.boxes[this.selected];
    if (!chosen || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in MOVES) {
      const [x, y] = MOVES[event.key];
      const [left, upper, right, lower] = chosen.box;
      const most = this.header.largest;
      chosen.box = event.shiftKey
        ? [left, upper, Math.max(left + 1, clamp(right + x, most)), Math.max(upper + 1, clamp(lower + y, most))]
        : this.moved(chosen.box, x, y);
      this.paint();
      this.aloud.textContent = `Left ${chosen.box[0]}, upper ${chosen.box[1]}, right ${chosen.box[2]}, lower ${
        chosen.box[3]
      }`;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.tell(), PAUSE);
    } else if (event.key === "Enter") this.words.focus();
    else if (event.key === "Delete" || event.key === "Backspace") this.removeSelected();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  rename() {
    this.boxes[this.selected].words = this.words.value;
    this.paint();
  }

  removeSelected() {
    const at = this.selected;
    const [gone] = this.boxes.splice(at, 1);
    this.selected = Math.min(at, this.boxes.length - 1);
    this.paint();
    (this.elements()[this.selected] ?? this.add).focus();
    this.aloud.textContent = `Removed: ${gone.words.trim() || "a box without words"}`;
    if (gone.words.trim()) this.tell();
  }

  tell() {
    clearTimeout(this.timer);
    this.timer = 0;
    const boxes = this.spoken();
    if (JSON.stringify(boxes) === this.told) return;
    this.told = JSON.stringify(boxes);
    this.sentId = this.send("boxes", { boxes });
  }

  /** @override */
  destroy() {
    if (this.url) URL.revokeObjectURL(this.url);
    super.destroy();
  }
}

export default mounted(BoxesView);
