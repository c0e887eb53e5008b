// The story: Play, one step back and forward, and the caption at the lit part. Each step waits for its reader. A
// decoder's view follows that of its encoder.
/** @import { ModelView } from "./model_view.js" */
import { make } from "./drawing.js";
import { outputStory, showOutput } from "./model_decoder.js";
import { flowTo } from "./model_flow.js";
import { story } from "./model_story.js";

const COLOUR_KEY =
  "Violet: the vector of each token through the layers (residual stream). Blue: what a token attends to. " +
  "Click a part for its arithmetic. Play tells the story.";
const stillStory = matchMedia("(prefers-reduced-motion: reduce)");
const CAPTION_GAP = 8; // pixels between a caption and its part

export class StoryPlayer {
  /** @param {ModelView} view */
  constructor(view) {
    this.view = view;
    this.step = -1; // of the story; -1: before it
    /** @type {StoryStep[]} */
    this.story = [];
    this.changed = ""; // what changed with another placement of the norms
    /** @type {number | null} */
    this.timer = null; // while the output appears by itself
    /** @type {HTMLButtonElement | null} */
    this.outputButton = null;
    this.playButton = this.button(
      "▶ Play",
      "Play the story of this sentence",
      () => this.goOn(this.told ? -1 : 0),
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
    this.words = make("span", {});
    this.next = this.button(
      "Next ▶",
      "Next step",
      () => this.goOn(this.step + 1 < this.story.length ? this.step + 1 : -1),
    );
    this.caption = make("p", { class: "enc-model-caption", "aria-live": "polite" }, this.words, this.next);
    this.colours = make("p", { class: "enc-model-colours" }, "Violet: the vector of a token. Blue: attention.");
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
      this.show(this.story.findIndex(({ output }) => output !== undefined));
      if (!stillStory.matches) this.playOutput();
    });
    if (this.outputButton) this.playButton.after(this.outputButton);
  }

  // What the caption is about.
  get told() {
    return this.story[this.step];
  }

  // Shows a step where its reader is: the caption comes into view, and its button has the focus.
  /** @param {number} step */
  goOn(step) {
    this.show(step);
    (this.told ? this.next : this.playButton).focus({ preventScroll: true });
    this.caption.scrollIntoView({ block: "nearest" });
  }

  // The output appears token by token, as it was written.
  playOutput() {
    this.timer = setTimeout(() => {
      const isOver = this.step >= this.story.length - 1;
      this.show(this.step + (isOver ? 0 : 1));
      if (!isOver) this.playOutput();
    }, this.told.ms);
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
  }

  /** @param {number} step */
  show(step) {
    const { view, story } = this;
    this.pause();
    this.step = Math.max(-1, Math.min(story.length - 1, step));
    view.root.dataset.step = String(this.step);
    const { told } = this;
    const changes = [view.header.effect, this.changed].filter(Boolean).join(" ");
    this.words.textContent = told ? `${this.step + 1} ${told.text}` : changes || COLOUR_KEY;
    this.next.hidden = !told;
    this.next.textContent = this.step < story.length - 1 ? "Next ▶" : "End";
    this.playButton.textContent = told ? "✕ End" : "▶ Play";
    this.scrubber.value = String(this.step + 1);
    this.scrubber.setAttribute("aria-valuetext", told ? `${this.step + 1} of ${story.length}` : "before the story");
    showOutput(view.decoder, told);
    view.emphasise();
    this.place();
  }

  // Puts the caption next to the part that it is about: below it, or above, or at the end of the picture. Before the
  // story, and in a picture that is not drawn yet, it is in the bar.
  place() {
    const { caption, view, told } = this;
    const boxes = told && view.drawing.isConnected ? litBoxes(view, told.part) : [];
    caption.classList.toggle("enc-at-part", boxes.length > 0);
    Object.assign(caption.style, { left: "", top: "" });
    if (view.drawing.firstElementChild) flowTo(view, told?.flows && !stillStory.matches);
    if (!boxes.length) return;
    const root = view.root.getBoundingClientRect(), own = caption.getBoundingClientRect();
    const lit = {
      left: Math.min(...boxes.map((box) => box.left)) - root.left,
      right: Math.max(...boxes.map((box) => box.right)) - root.left,
      top: Math.min(...boxes.map((box) => box.top)) - root.top,
      bottom: Math.max(...boxes.map((box) => box.bottom)) - root.top,
    };
    const beside = root.width - lit.right - CAPTION_GAP >= own.width
      ? lit.right + CAPTION_GAP
      : lit.left - CAPTION_GAP - own.width >= 0
      ? lit.left - CAPTION_GAP - own.width
      : null;
    const middle = (lit.left + lit.right - own.width) / 2;
    const left = beside ?? Math.max(0, Math.min(root.width - own.width, middle));
    const top = beside === null ? lit.bottom + CAPTION_GAP : (lit.top + lit.bottom - own.height) / 2;
    Object.assign(caption.style, { left: `${left}px`, top: `${Math.max(0, top)}px` });
  }
}

// Where the lit part is in the window.
/** @param {ModelView} view @param {string} part */
function litBoxes(view, part) {
  const found = part === "heads" ? [view.heads] : [...view.marked(`[data-part="${part}"]`)];
  return found.map((one) => one.getBoundingClientRect()).filter(({ width, height }) => width && height);
}
