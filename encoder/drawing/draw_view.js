// A square to draw a digit in: white ink on black, a bitmap of 32 x 32 as in the data of the digits.
import { make } from "./drawing.js";
import { eventId, unpack } from "./shared.js";

const PEN = 1.7; // radius in pixels of the bitmap
const PEN_KEYS = "Arrow keys move the pen, Space puts it down or lifts it, Delete clears the square.";
const MOVES = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

export class DrawView {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.canvas = make("canvas", { class: "enc-focus", tabindex: "0", role: "application" });
    this.canvas.setAttribute("aria-label", `Draw a digit here. ${PEN_KEYS}`);
    this.clear = make("button", { type: "button", class: "enc-save" }, "Clear");
    this.status = make("span", { role: "status" });
    const bar = make("div", { class: "enc-draw-bar" }, this.clear, this.status);
    this.root = make("div", { class: "enc-root enc-draw enc-drawn" }, this.canvas, bar);
    parent.append(this.root);
    this.last = null; // where the pen was, while it is down
    this.pen = [16, 16]; // of the keyboard
    this.canvas.addEventListener("pointerdown", (event) => this.down(event));
    this.canvas.addEventListener("pointermove", (event) => this.last && this.stroke(this.place(event)));
    for (const name of ["pointerup", "pointercancel"]) this.canvas.addEventListener(name, () => this.up());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("focus", () => this.paint());
    this.canvas.addEventListener("blur", () => {
      this.up();
      this.paint();
    });
    this.clear.addEventListener("click", () => this.wipe());
  }

  /** @param {Component} component */
  update(component) {
    this.component = component;
    /** @type {Block<DigitHeader>} */
    const { header: { side }, arrays: { start } } = unpack(component.data);
    if (this.side === side) return;
    this.side = side;
    this.ink = start.data.slice();
    this.isStart = true; // the first stroke replaces it
    Object.assign(this.canvas, { width: side * 8, height: side * 8 });
    this.paint();
  }

  /** @param {PointerEvent} event */
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    const share = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
    return share.map((part) => part * this.side - 0.5);
  }

  down(event) {
    if (event.button) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.last = this.place(event);
    this.stroke(this.last);
  }

  up() {
    if (this.last) this.send();
    this.last = null;
    this.isPenDown = false;
  }

  // Ink along the line from the pen's last place to this one.
  /** @param {number[]} place */
  stroke([x, y]) {
    if (this.isStart) this.ink.fill(0);
    this.isStart = false;
    const [fromX, fromY] = this.last;
    const steps = Math.max(1, Math.ceil(2 * Math.hypot(x - fromX, y - fromY)));
    for (let step = 0; step <= steps; step++) {
      this.dot(fromX + ((x - fromX) * step) / steps, fromY + ((y - fromY) * step) / steps);
    }
    this.last = [x, y];
    this.paint();
  }

  dot(x, y) {
    for (let row = Math.floor(y - PEN); row <= y + PEN + 1; row++) {
      for (let column = Math.floor(x - PEN); column <= x + PEN + 1; column++) {
        const isInside = row >= 0 && column >= 0 && row < this.side && column < this.side;
        if (isInside && Math.hypot(row - y, column - x) <= PEN) this.ink[row * this.side + column] = 1;
      }
    }
  }

  paint() {
    const pen = this.canvas.getContext("2d");
    const size = this.canvas.width / this.side;
    pen.fillStyle = "#000";
    pen.fillRect(0, 0, this.canvas.width, this.canvas.height);
    pen.fillStyle = "#fff";
    this.ink.forEach((inked, at) => {
      if (inked) pen.fillRect((at % this.side) * size, Math.floor(at / this.side) * size, size, size);
    });
    const isEmpty = !this.ink.some(Boolean);
    this.status.textContent = this.isStart ? "Draw your own." : isEmpty ? "Draw a large digit." : "";
    if (!this.canvas.matches(":focus-visible")) return;
    pen.strokeStyle = this.isPenDown ? "#ff4b4b" : "#8ab4ff";
    pen.lineWidth = 2;
    pen.strokeRect((this.pen[0] - 1) * size, (this.pen[1] - 1) * size, 3 * size, 3 * size);
  }

  key(event) {
    if (event.key in MOVES) {
      const [x, y] = MOVES[event.key];
      const limit = (value) => Math.min(this.side - 1, Math.max(0, value));
      this.pen = [limit(this.pen[0] + x), limit(this.pen[1] + y)];
      if (this.isPenDown) this.stroke(this.pen);
    } else if (event.key === " ") {
      if (this.isPenDown) this.up();
      else {
        this.isPenDown = true;
        this.last = this.pen;
        this.stroke(this.pen);
      }
    } else if (event.key === "Delete" || event.key === "Backspace") this.wipe();
    else return;
    event.preventDefault();
    this.paint();
  }

  wipe() {
    this.ink.fill(0);
    this.isStart = false;
    this.last = null;
    this.isPenDown = false;
    this.paint();
  }

  send() {
    let bits = "";
    for (let at = 0; at < this.ink.length; at += 4) {
      bits += (8 * this.ink[at] + 4 * this.ink[at + 1] + 2 * this.ink[at + 2] + this.ink[at + 3]).toString(16);
    }
    this.component.setTriggerValue("drawing", { bits, id: eventId() });
  }

  destroy() {
    this.root.remove();
  }
}
