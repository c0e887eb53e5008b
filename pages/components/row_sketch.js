// A row of attention to draw: one slider for each token; then the model's own row next to it.
import { make, sum } from "../../encoder/drawing/drawing.js";
import { eventId, unpack } from "../../encoder/drawing/shared.js";
import { mounted } from "./mounted.js";

const FULL = 100; // steps of a slider

class SketchView {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.rows = make("div", { class: "enc-sketch-rows" });
    this.button = make("button", { type: "button", class: "enc-save enc-answer" });
    this.status = make("span", { role: "status" });
    this.root = make("div", { class: "enc-root enc-sketch" }, this.rows, this.button, this.status);
    this.button.addEventListener("click", () => this.answer());
    parent.append(this.root);
  }

  /** @param {Component} component */
  update(component) {
    this.component = component;
    /** @type {Block<SketchHeader>} */
    const { header, arrays } = unpack(component.data);
    this.button.textContent = header.button;
    const changed = JSON.stringify([header.labels, header.question]);
    if (changed !== this.changed) {
      this.changed = changed;
      this.sliders = header.labels.map((label) => this.slider(label));
      const heads = ["", "", "yours", "model"].map((text) => make("span", {}, text));
      this.heads = make("div", { class: "enc-sketch-row enc-sketch-heads", hidden: "" }, ...heads);
      this.rows.replaceChildren(this.heads, ...this.sliders.map((slider) => slider.row));
    }
    const { drawn, truth } = arrays;
    if (drawn) {
      const largest = Math.max(...drawn.data);
      this.sliders.forEach(({ input }, at) => (input.value = String(Math.round((FULL * drawn.data[at]) / largest))));
    }
    this.sliders.forEach((slider, at) => this.showTruth(slider, truth?.data[at]));
    this.button.hidden = Boolean(truth);
    this.heads.hidden = !truth;
    this.share();
  }

  slider(label) {
    const input = make("input", { type: "range", min: "0", max: String(FULL), value: "0" });
    input.setAttribute("aria-label", `Attention to ${label}`);
    const share = make("output", {});
    const truth = make("span", { class: "enc-sketch-truth" });
    input.addEventListener("input", () => this.share());
    const row = make("label", { class: "enc-sketch-row" }, make("bdi", {}, label), input, share, truth);
    return { row, input, share, truth };
  }

  showTruth({ input, truth }, weight) {
    input.disabled = weight !== undefined;
    truth.textContent = weight === undefined ? "" : weight.toFixed(2);
    truth.style.setProperty("--share", `${100 * (weight ?? 0)}%`);
  }

  weights() {
    const values = this.sliders.map(({ input }) => Number(input.value));
    const total = sum(values);
    return total ? values.map((value) => value / total) : values;
  }

  // The sliders are relative: beside each is its share of their sum.
  share() {
    const weights = this.weights();
    this.sliders.forEach(({ share, input }, at) => {
      share.value = weights[at].toFixed(2);
      input.setAttribute("aria-valuetext", weights[at].toFixed(2));
    });
    this.button.disabled = !sum(weights);
    this.status.textContent = this.button.hidden || sum(weights) ? "" : "Move at least one slider.";
  }

  answer() {
    const weights = this.weights().map((weight) => Number(weight.toFixed(4)));
    this.component.setTriggerValue("answer", { weights, id: eventId() });
  }

  destroy() {
    this.root.remove();
  }
}

export default mounted(SketchView);
