// Beam search as a tree: a column for each step, in it the candidates, the most probable one first.
import { make, svg, threeDigits } from "../../encoder/drawing/drawing.js";
import { Drawing } from "../../encoder/drawing/shared.js";
import { mounted } from "./mounted.js";

const ROW = 34; // pixels of a candidate; its height is less
const HIGH = 26;
const LEAST = 84; // pixels of a step, at least
const GAP = 22; // from a candidate to the next step's
const TOP = 20; // the number of the step
const THICK = 5; // pixels of the line to a candidate of probability 1
const KEYS = "Arrow keys go to the candidate before, to the next ones and to others of the same step.";
const TURNS = { ArrowLeft: "before", ArrowRight: "after", ArrowUp: "above", ArrowDown: "below" };

/** @extends {Drawing<BeamHeader>} */
class TreeView extends Drawing {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    const lines = svg("svg", { "aria-hidden": "true" });
    const tree = make("div", { class: "enc-beams-tree", role: "group" }, lines);
    const scroll = make("div", { class: "enc-beams-scroll" }, tree);
    const detail = make("p", { class: "enc-beams-detail" });
    super(parent, "The tree", "enc-beams", scroll, detail);
    this.lines = lines;
    this.tree = tree;
    this.scroll = scroll;
    this.detail = detail;
    this.listenToKeys(tree);
    this.listen(tree, "focusin", (event) => this.tell(this.buttons.indexOf(event.target)));
    this.listen(tree, "pointerover", (event) => this.tell(this.buttons.indexOf(event.target.closest("button"))));
    this.listenToSize(scroll, () => this.nodes && this.place());
  }

  /** @param {Block<BeamHeader>} block */
  read({ header }) {
    this.nodes = header.nodes;
    this.tree.setAttribute("aria-label", `${header.alt} ${KEYS}`);
    this.rows = rowsOf(this.nodes);
    this.steps = 1 + Math.max(...this.nodes.map(({ step }) => step));
    this.buttons = this.nodes.map((node) => this.button(node));
    const numbers = Array.from({ length: this.steps }, (_, step) => make("span", { "aria-hidden": "true" }, `${step}`));
    this.numbers = numbers;
    this.tree.replaceChildren(this.lines, ...numbers, ...this.buttons);
    this.place();
    this.tell(Math.max(0, this.nodes.findLastIndex(({ best }) => best)));
  }

  button(node) {
    const state = stateOf(node);
    const button = make("button", { type: "button", class: `enc-beam enc-beam-${state}`, tabindex: "-1" });
    button.classList.toggle("enc-beam-best", node.best);
    // What a screen reader hears contains what is visible.
    const said = make("span", { class: "enc-aloud" }, ` ${this.words(node)}`);
    button.append(make("bdi", {}, node.label), " ", make("small", {}, probability(node)), said);
    return button;
  }

  /** @param {BeamNode} node */
  words(node) {
    const { step, text, label, logP, best } = node;
    const found = [`Step ${step}`, `“${text || label}”`, `probability ${probability({ logP })}`];
    found.push(`log probability ${threeDigits(logP)}`, stateOf(node) + (best ? ", part of the best output" : ""));
    return found.join(" · ");
  }

  place() {
    const wide = Math.max(LEAST, Math.floor(this.scroll.clientWidth / this.steps));
    const [width, height] = [wide * this.steps, TOP + ROW * (1 + Math.max(...this.rows))];
    for (const element of [this.tree, this.lines]) {
      Object.assign(element.style, { width: `${width}px`, height: `${height}px` });
    }
    this.numbers.forEach((number, step) => (number.style.left = `${wide * step}px`));
    const middle = (at) => TOP + ROW * this.rows[at] + HIGH / 2;
    this.nodes.forEach(({ step }, at) => {
      Object.assign(this.buttons[at].style, { left: `${wide * step}px`, width: `${wide - GAP}px` });
      this.buttons[at].style.top = `${middle(at) - HIGH / 2}px`;
    });
    const drawn = this.nodes.map(({ step, parent, logP, ...node }, at) => {
      if (parent === null) return "";
      const [x, y, end] = [wide * step - GAP, middle(parent), middle(at)];
      const name = node.best ? "enc-beams-best" : node.kept || node.ended ? "" : "enc-beams-pruned";
      const half = x + GAP / 2;
      const path = svg("path", { d: `M${x} ${y}C${half} ${y} ${half} ${end} ${x + GAP} ${end}`, class: name });
      path.style.strokeWidth = `${Math.max(1, THICK * Math.exp(logP))}px`;
      return path;
    });
    this.lines.replaceChildren(...drawn.filter(Boolean));
  }

  // The line under the tree says what its candidate is; only this one is in the tab order.
  tell(at) {
    if (at < 0) return;
    this.buttons[this.shown]?.setAttribute("tabindex", "-1");
    this.shown = at;
    this.buttons[at].setAttribute("tabindex", "0");
    this.detail.textContent = this.words(this.nodes[at]);
  }

  key(event) {
    const next = TURNS[event.key] && this.beside(this.buttons.indexOf(event.target), TURNS[event.key]);
    if (next === undefined || next < 0) return next !== undefined;
    this.buttons[next].focus();
    return true;
  }

  beside(at, turn) {
    const { step, parent } = this.nodes[at];
    if (turn === "before") return parent ?? -1;
    if (turn === "after") return this.nodes.findIndex((node) => node.parent === at);
    const row = this.rows[at] + (turn === "above" ? -1 : 1);
    return this.nodes.findIndex((node, other) => node.step === step && this.rows[other] === row);
  }
}

const probability = ({ logP }) => logP < Math.log(0.0005) ? Math.exp(logP).toExponential(0) : Math.exp(logP).toFixed(3);
/** @type {(node: BeamNode) => string} */
const stateOf = ({ kept, ended }) => kept ? "kept" : ended ? "ended" : "pruned";

// The place of each candidate in its step.
function rowsOf(nodes) {
  const count = new Map();
  return nodes.map(({ step }) => {
    const row = count.get(step) ?? 0;
    count.set(step, row + 1);
    return row;
  });
}

export default mounted(TreeView);
