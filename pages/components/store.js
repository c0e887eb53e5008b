// Keeps arrays that another component draws and that seldom change, such as the small maps of all heads. Streamlit sends
// a message that the browser has already by its hash only.
import { make } from "../../encoder/drawing/drawing.js";
import { stored, unpack } from "../../encoder/drawing/shared.js";
import { mounted } from "./mounted.js";

class StoreView {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.root = make("div", { class: "enc-store" });
    parent.append(this.root);
  }

  /** @param {Component} component */
  update(component) {
    /** @type {Block<StoredArrays>} */
    const { header, arrays } = unpack(component.data);
    if (this.name !== header.name) this.destroy();
    this.name = header.name;
    this.entry = { digest: header.digest, arrays };
    stored.set(header.name, this.entry);
    window.dispatchEvent(new CustomEvent("enc-stored", { detail: header.name }));
  }

  destroy() {
    if (stored.get(this.name) === this.entry) stored.delete(this.name); // and not what another store has brought since
  }
}

export default mounted(StoreView);
