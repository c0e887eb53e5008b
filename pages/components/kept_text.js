// Keeps texts that are too long for the address, for this tab and until it is closed: its next session gets them.
import { make } from "../../encoder/drawing/drawing.js";
import { unpack } from "../../encoder/drawing/shared.js";
import { keepText } from "./kept.js";
import { mounted } from "./mounted.js";

class KeptText {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.root = make("div", { class: "enc-kept" });
    parent.append(this.root);
  }

  /** @param {Component} component */
  update(component) {
    /** @type {Block<KeptTextHeader>} */
    const { header: { save } } = unpack(component.data);
    for (const [digest, text] of Object.entries(save)) keepText(digest, text);
  }

  destroy() {
    this.root.remove();
  }
}

export default mounted(KeptText);
