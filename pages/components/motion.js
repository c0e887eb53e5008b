// A calculation as a short animation: frames that play, pause, step and scrub. A scene draws each frame from the
// numbers that Python sends; nothing is computed here.
import { make, svg } from "../../encoder/export/drawing/drawing.js";
import { AttentionScene } from "./motion_attention.js";
import { Drawing, readTheme } from "../../encoder/export/drawing/shared.js";
import { mounted } from "./mounted.js";

const SCENES = { attention: AttentionScene };
const KEYS = "Space plays and pauses, left and right arrow step, Home and End go to the first and last frame.";
const ICONS = {
  first: "M2 2h3v12H2zM14 2v12L6 8z",
  back: "M11 2v12L3 8z",
  forward: "M5 2v12l8-6z",
  play: "M4 2v12l10-6z",
  pause: "M3 2h4v12H3zM9 2h4v12H9z",
};
const still = matchMedia("(prefers-reduced-motion: reduce)");

function setIcon(button, name) {
  if (button.dataset.icon === name) return;
  button.dataset.icon = name;
  const icon = svg("svg", {
    viewBox: "0 0 16 16",
    width: 16,
    height: 16,
    fill: "currentColor",
    "aria-hidden": "true",
  });
  icon.append(svg("path", { d: ICONS[name] }));
  button.replaceChildren(icon);
}

class MotionView extends Drawing {
  constructor(parent) {
    const stage = make("div", { class: "enc-motion-stage" });
    const says = make("p", { class: "enc-motion-says" });
    const bar = make("div", { class: "enc-motion-bar" });
    const look = { class: "enc-motion-body enc-focus", tabindex: "0", role: "group" };
    const body = make("div", look, bar, says, stage);
    super(parent, "The animation", "enc-motion", body);
    Object.assign(this, { stage, says, bar, body });
    this.frame = 0;
    this.fillBar();
    this.listenToKeys(body);
    this.listenToSize(stage, () => this.scene && this.show(this.frame));
    this.listen(still, "change", () => this.pause());
  }

  fillBar() {
    const button = (name, text, action) => {
      const element = make("button", { type: "button", class: `enc-motion-${name}`, "aria-label": text, title: text });
      setIcon(element, name);
      this.listen(element, "click", action);
      this.bar.append(element);
      return element;
    };
    this.first = button("first", "First frame", () => this.step(-Infinity));
    this.back = button("back", "One frame back", () => this.step(-1));
    this.playButton = button("play", "Play", () => (this.timer ? this.pause() : this.play()));
    this.forward = button("forward", "One frame forward", () => this.step(1));
    this.slider = make("input", { type: "range", min: "0", step: "1", "aria-label": "Frame" });
    this.listen(this.slider, "input", () => this.goTo(Number(this.slider.value)));
    this.count = make("span", { class: "enc-motion-count" });
    this.bar.append(this.slider, this.count);
  }

  read({ header, arrays }) {
    const isNew = header.id !== this.header?.id;
    this.header = header;
    this.theme = readTheme(this.parent);
    if (isNew || !this.scene) {
      this.pause();
      this.scene = new SCENES[header.scene](this.stage, header, arrays);
      const { frames } = this.scene;
      this.slider.max = String(frames.length - 1);
      const start = frames.findIndex((frame) => frame.phase === header.start);
      this.frame = still.matches ? frames.length - 1 : Math.max(0, start);
    }
    this.body.setAttribute("aria-label", `${header.alt} ${KEYS}`);
    this.show(this.frame);
  }

  show(frame) {
    const { frames } = this.scene;
    this.frame = Math.max(0, Math.min(frames.length - 1, frame));
    this.scene.draw(frames[this.frame], this.theme);
    this.body.dataset.frame = String(this.frame);
    this.body.dataset.phase = frames[this.frame].phase;
    this.says.setAttribute("aria-live", this.timer ? "off" : "polite");
    const text = frames[this.frame].says;
    if (this.says.textContent !== text) this.says.textContent = text;
    this.slider.value = String(this.frame);
    this.slider.setAttribute("aria-valuetext", `Frame ${this.frame + 1} of ${frames.length}. ${text}`);
    this.count.textContent = `${this.frame + 1} / ${frames.length}`;
    this.first.disabled = this.back.disabled = this.frame === 0;
    this.forward.disabled = this.frame === frames.length - 1;
    this.playButton.hidden = still.matches;
    const name = this.timer ? "Pause" : "Play";
    this.playButton.setAttribute("aria-label", name);
    this.playButton.title = name;
    setIcon(this.playButton, name.toLowerCase());
  }

  play() {
    if (still.matches) return;
    const { frames } = this.scene;
    if (this.frame === frames.length - 1) this.frame = 0;
    const next = () => {
      this.timer = setTimeout(() => {
        const isLast = this.frame + 1 >= frames.length - 1;
        if (!isLast) next();
        else this.timer = null;
        this.show(this.frame + 1);
      }, frames[this.frame].ms);
    };
    next();
    this.show(this.frame);
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.scene) this.show(this.frame);
  }

  goTo(frame) {
    clearTimeout(this.timer);
    this.timer = null;
    this.show(frame);
  }

  step(by) {
    this.goTo(this.frame + by);
  }

  key(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    // A button takes Space and the slider takes the arrow keys by themselves.
    if (event.target !== this.body || !this.scene) return false;
    if (by) this.step(by);
    else if (event.key === " ") this.timer ? this.pause() : this.play();
    else return false;
    return true;
  }

  destroy() {
    clearTimeout(this.timer);
    super.destroy();
  }
}

export default mounted(MotionView);
