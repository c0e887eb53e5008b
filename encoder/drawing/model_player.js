// The bar of the story: Play, one step back and forward, and the caption. A decoder's view follows that of its encoder.
/** @import { ModelView } from "./model_view.js" */
import { make } from "./drawing.js";
import { outputStory, showOutput } from "./model_decoder.js";
import { readingTime, story } from "./model_story.js";

const COLOUR_KEY =
  "Violet: the vector of each token through the layers (residual stream). Blue: what a token attends to. " +
  "Click a part for its arithmetic. Play tells the story.";
const stillStory = matchMedia("(prefers-reduced-motion: reduce)");

export class StoryPlayer {
  /** @param {ModelView} view */
  constructor(view) {
    this.view = view;
    this.step = -1; // of the story; -1: before it
    /** @type {StoryStep[]} */
    this.story = [];
    this.changed = ""; // what changed with another placement of the norms
    /** @type {number | null} */
    this.timer = null; // while it plays
    /** @type {HTMLButtonElement | null} */
    this.outputButton = null;
    this.playButton = this.button(
      "▶ Play",
      "Play the story of this sentence",
      () => this.timer ? this.pause() : this.play(),
    );
    const back = this.button("◀", "One step back", () => this.show(this.step - 1));
    const forward = this.button("▶", "One step forward", () => this.show(this.step + 1));
    this.scrubber = make("input", {
      type: "range",
      min: "0",
      max: "12",
      value: "0",
      "aria-label": "Step of the story",
    });
    view.listen(this.scrubber, "input", () => this.show(Number(this.scrubber.value) - 1));
    this.caption = make("p", { class: "enc-model-caption", "aria-live": "polite" });
    this.elements = [this.playButton, back, this.scrubber, forward, this.caption];
  }

  /** @param {string} text @param {string} label @param {() => void} action */
  button(text, label, action) {
    const element = make("button", { type: "button", "aria-label": label, title: label }, text);
    this.view.listen(element, "click", action);
    return element;
  }

  // After a new header: the step stays, told with the new numbers.
  read() {
    const { header, arrays } = this.view;
    this.story = story(header, arrays);
    if (header.decoder) this.story.push(...outputStory(header.decoder));
    this.offerOutput(Boolean(header.decoder));
    this.scrubber.max = String(this.story.length);
  }

  // A button that plays the steps of the output only.
  /** @param {boolean} hasOutput */
  offerOutput(hasOutput) {
    if (hasOutput === Boolean(this.outputButton)) return;
    this.outputButton?.remove();
    this.outputButton = !hasOutput ? null : this.button("▶ Output", "Output: play it token by token", () => {
      this.show(this.story.findIndex(({ output }) => output !== undefined) - 1);
      this.play();
    });
    if (this.outputButton) this.playButton.after(this.outputButton);
  }

  // What the caption is about.
  get told() {
    return this.story[this.step];
  }

  play() {
    if (this.step >= this.story.length - 1) this.step = -1;
    this.show(this.step + 1);
    if (stillStory.matches) return;
    this.playButton.textContent = "❚❚ Pause";
    this.playOn();
  }

  // The next step comes when the sentence of this one has been read; after the last, the whole picture.
  playOn() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const isOver = this.step >= this.story.length - 1;
      if (isOver) this.pause();
      this.show(isOver ? -1 : this.step + 1);
    }, this.told.ms ?? readingTime(this.caption.textContent));
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.playButton.textContent = "▶ Play";
  }

  /** @param {number} step */
  show(step) {
    const { view, story } = this;
    this.step = Math.max(-1, Math.min(story.length - 1, step));
    view.root.dataset.step = String(this.step);
    const { told } = this;
    const changes = [view.header.effect, this.changed].filter(Boolean).join(" ");
    this.caption.textContent = told ? `${this.step + 1} ${told.text}` : changes || COLOUR_KEY;
    this.scrubber.value = String(this.step + 1);
    this.scrubber.setAttribute("aria-valuetext", told ? `${this.step + 1} of ${story.length}` : "before the story");
    if (this.timer) this.playOn();
    showOutput(view.decoder, told);
    view.emphasise();
  }
}
