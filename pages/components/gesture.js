// A gesture in the app.
import { eventId, unpack } from "../../encoder/drawing/shared.js";
import { drawGesture } from "./gesture_drawing.js";
import { mounted } from "./mounted.js";

class GestureView {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.parent = parent;
  }

  /** @param {Component} component */
  update(component) {
    this.component = component;
    /** @type {Block<GestureHeader>} */
    const { header } = unpack(component.data);
    const asked = JSON.stringify(header);
    if (asked === this.asked) return; // what the reader has begun stays
    this.asked = asked;
    this.root?.remove();
    this.root = drawGesture(header, (answer) => this.component.setTriggerValue("answer", { answer, id: eventId() }));
    this.parent.append(this.root);
  }

  destroy() {
    this.root?.remove();
  }
}

export default mounted(GestureView);
