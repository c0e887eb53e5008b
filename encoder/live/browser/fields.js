// The fields of a page. What a reader types is taken when typing stops, when the field is left and before anything else is
// clicked, so that no choice undoes it.
import { MOST_LETTERS, wholeNumber } from "./view_address.js";

const PAUSE_MS = 600; // without a key: typing has stopped

export class Fields {
  // onTyped(values, {isNew, isCut}): values by their names in the address; isNew: the first ones since the reader came to the
  // field; isCut: a text was longer than MOST_LETTERS.
  constructor(onTyped) {
    this.onTyped = onTyped;
    /** @type {HTMLInputElement[]} */
    this.controls = Array.from(document.querySelectorAll("[data-name]"));
    this.given = new Map(); // control -> its value as the page last wrote or took it
    this.isNew = true;
    this.timer = 0;
    for (const control of this.controls) {
      this.given.set(control, control.value);
      control.addEventListener("focus", () => this.isNew = true);
      control.addEventListener("input", () => this.wait());
      control.addEventListener("change", () => this.take(control));
      if (control.localName === "textarea") control.addEventListener("keydown", (event) => this.enter(event, control));
    }
    // A picture may keep the focus where it is, so a click elsewhere does not always leave the field.
    addEventListener("pointerdown", ({ target }) => {
      const { activeElement } = document;
      if (!(target instanceof Node && activeElement?.contains(target))) this.take();
    }, { capture: true });
  }

  isTyped(control) {
    return control.value !== this.given.get(control);
  }

  wait() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const half = this.controls.filter((one) => one.type === "number" && one.value === ""); // a number is about to follow
      this.take(null, half);
    }, PAUSE_MS);
  }

  enter(event, control) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.take(control);
  }

  // Takes typed values, and the value of one control in any case.
  take(one = null, without = []) {
    clearTimeout(this.timer);
    const typed = this.controls.filter((each) => (each === one || this.isTyped(each)) && !without.includes(each));
    if (!typed.length) return;
    const isCut = typed.some(({ type, value }) => type === "textarea" && value.length > MOST_LETTERS);
    const values = Object.fromEntries(typed.map((each) => [each.dataset.name, valueOf(each)]));
    for (const each of typed) this.given.set(each, each.value);
    const isNew = this.isNew;
    this.isNew = false;
    this.onTyped(values, { isNew, isCut });
  }

  // Writes the state, except over what is typed and not yet taken. all: over that, too.
  fill(state, { all = false } = {}) {
    for (const control of this.controls) {
      const value = String(state[control.dataset.name] ?? "");
      if (!all && this.isTyped(control)) continue;
      if (control.value !== value) control.value = value;
      this.given.set(control, control.value);
    }
  }
}

/** @param {any} control */
function valueOf({ type, value, dataset: { name } }) {
  if (type === "number") return wholeNumber(value) ?? (name.endsWith("_b") ? null : 0);
  return type === "textarea" ? value.slice(0, MOST_LETTERS) : value;
}
