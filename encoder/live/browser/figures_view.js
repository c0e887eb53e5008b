// Several figures side by side, each with a caption.
import { make } from "../../drawing/drawing.js";
import { FigureView } from "../../drawing/figure_view.js";
import { unpack } from "../../drawing/shared.js";
import { pack } from "./pack.js";

export class FiguresView {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.root = make("div", { class: "site-figures" });
    parent.append(this.root);
    this.views = [];
  }

  /** @param {Component} component */
  update({ data, setStateValue }) {
    const { figures } = unpack(data).header;
    if (figures.length !== this.views.length) this.clear();
    while (this.views.length < figures.length) this.views.push(this.added()); // before any is drawn: they share the width
    figures.forEach(({ caption = "", ...header }, at) => {
      const { view, place, text } = this.views[at];
      text.textContent = caption;
      const chosen = (name, events) => {
        const { query, key, ...event } = events.at(-1); // the values of a row, and of a column
        setStateValue(name, [{ ...event, values: { ...query, ...key } }]);
      };
      view.update({ data: pack(header, {}), parentElement: place, setStateValue: chosen });
    });
  }

  added() {
    const [place, text] = [make("div"), make("figcaption")];
    this.root.append(make("figure", {}, place, text));
    return { view: new FigureView(place), place, text };
  }

  clear() {
    for (const { view } of this.views) view.destroy();
    this.views = [];
    this.root.replaceChildren();
  }

  destroy() {
    this.clear();
    this.root.remove();
  }
}
