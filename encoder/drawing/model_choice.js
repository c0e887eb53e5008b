// What the reader has chosen in the model's picture: tokens, a river, the open part. Each choice is an event for the host.
/** @import { ModelView } from "./model_view.js" */
import { arrow, inWords } from "./drawing.js";
import { outputWords } from "./model_decoder.js";
import { levelAbove } from "./model_parts.js";

const PANEL_KEYS = "Left and right arrow open the part before and after, Escape goes one level up.";

export class ModelChoice {
  /** @param {ModelView} view */
  constructor(view) {
    this.view = view;
    // Tokens, by their rows in the header's window; null: none.
    /** @type {number | null} */
    this.query = null;
    /** @type {number | null} */
    this.key = null;
    /** @type {number | null} */
    this.source = null; // of a decoder: a token of the input, by its position
    this.part = ""; // the open one
    /** @type {string[]} */
    this.sent = []; // parts that the host has not answered yet
    /** @type {ModelHeader["side"]} */
    this.side = undefined; // of two rivers, the one that is open
  }

  // After a new header. isRestyled: it is the one before, so what the reader chose stays.
  /** @param {boolean} isRestyled */
  read(isRestyled) {
    const { query, key, side, part } = this.view.header;
    if (!isRestyled) Object.assign(this, { query, key });
    if (this.side === undefined || side !== this.followedSide) this.side = side;
    this.followedSide = side;
    this.follow(part ?? "");
  }

  // The open part is the reader's newest choice: an answer to an older one of hers changes nothing, a link does.
  /** @param {string} part */
  follow(part) {
    const answered = this.sent.indexOf(part);
    if (answered >= 0) this.sent.splice(0, answered + 1);
    else if (part !== this.followed && !this.sent.length) this.part = part;
    this.followed = part;
  }

  // The tokens of now, to be chosen again in the next header: a file answers a click on a layer without them.
  kept() {
    const { query, key, side } = this;
    return () => Object.assign(this, { query, key, side });
  }

  // ---- Tokens ----

  // A token, and one of its weights or null, become those that all words and numbers are about.
  /** @param {number} query @param {number | null} key */
  choose(query, key) {
    const { view } = this;
    Object.assign(this, { query, key });
    const { first } = view.header;
    view.send("select", { query: first + query, key: key === null ? null : first + key, first: view.pan.first });
    view.input.paintSoon();
    view.emphasise();
    const named = view.main ? outputWords(view) : view.header.labels[query];
    view.aloud.textContent = key === null ? named : this.nameOfWeight();
    if (key !== null && !this.part) this.open("softmax");
    else view.panel.draw();
  }

  // Selects a token of the whole input as the query.
  /** @param {number} position */
  choosePosition(position) {
    const { first, labels } = this.view.header;
    const token = position - first;
    if (token >= 0 && token < labels.length) this.choose(token, null);
    else this.view.send("select", { query: position, key: null });
  }

  // A line of cross-attention was clicked: its weight opens.
  /** @param {number} query @param {number} source */
  chooseSource(query, source) {
    const { view } = this;
    Object.assign(this, { query, key: null, source });
    view.send("select", { query: view.header.first + query, key: null, first: view.pan.first });
    this.open("cross");
  }

  nameOfWeight() {
    const { view, query, key } = this;
    const { labels } = view.header;
    return `${arrow(labels[query], labels[key])}: ${inWords(view.weight(query, key))}`;
  }

  strongestKey() {
    const { view, query } = this;
    const weights = view.header.labels.map((_, key) => view.weight(query, key));
    return weights.indexOf(Math.max(...weights));
  }

  // Whether the numbers that came with the picture are those of the chosen pair.
  get hasParts() {
    const { query, key, source, view: { header: { partsOf, first } } } = this;
    // Of a link that selects no token, the host chose one.
    return Boolean(partsOf) && (query === null || first + query === partsOf.query) &&
      (key === null || first + key === partsOf.key) &&
      (source === null || source === partsOf.source);
  }

  // ---- Layers ----

  // Of two rivers, the one with this layer is open then.
  /** @param {number} layer @param {number} head */
  openLayer(layer, head) {
    const { view } = this;
    const main = view.main ?? view;
    if (main.header.decoder) {
      const side = view.main ? "decoder" : "encoder";
      const other = view.main ? main : main.decoder;
      if (main.choice.side !== side && other.choice.part) other.choice.close();
      main.choice.side = side;
      main.draw();
    }
    view.send("open", { layer, head });
  }

  // ---- The open part ----

  /** @param {string} part */
  open(part) {
    const { view } = this;
    this.query ??= Math.min(1, view.header.labels.length - 1);
    const other = view.main ?? view.decoder;
    if (other?.choice.part) other.choice.close();
    this.part = part;
    if ((part === "softmax" || part === "scores") && this.key === null) this.key = this.strongestKey();
    this.ask({});
    view.aloud.textContent = PANEL_KEYS;
    view.panel.draw();
    view.panel.focusTitle();
  }

  // A mark of a token opens its part for this token: a key or a value belongs to the key token.
  /** @param {HTMLElement | SVGElement} mark */
  openAt({ dataset }) {
    const part = dataset.open;
    const token = dataset.token === undefined ? null : Number(dataset.token);
    if (token !== null && ["k", "v"].includes(part)) this.key = token;
    else if (token !== null && token !== this.query) Object.assign(this, { query: token, key: null });
    this.open(part);
  }

  close() {
    const { view } = this;
    this.part = "";
    this.ask({});
    view.panel.draw();
    view.emphasise();
    view.body.focus({ preventScroll: true });
  }

  // Escape: to the part that this one is a detail of, else to the whole picture.
  back() {
    const above = levelAbove(this.part);
    above ? this.open(above) : this.close();
  }

  // Tells the host what is open, of which tokens; it answers with the numbers. more: a component or a neuron.
  /** @param {Partial<ModelEvent>} more */
  ask(more) {
    const { view, query, key } = this;
    const { first, check } = view.header;
    this.sent.push(this.part);
    view.send("part", {
      part: this.part,
      query: query === null ? null : first + query,
      key: key === null ? null : first + key,
      first: view.pan.first,
      check: Boolean(check),
      ...more,
    });
  }

  toggleCheck() {
    this.ask({ check: !this.view.header.check });
  }

  // A row or a cell of the open part was clicked: another component, neuron, head or token.
  /** @param {RowPlace} place @param {number} at */
  choosePlace(place, at) {
    const { first, layer, labels } = this.view.header;
    const inside = at >= first && at < first + labels.length;
    if (place === "head") this.openLayer(layer, at);
    else if (place === "source") this.chooseSource(this.query, at);
    else if (place === "component" || place === "neuron") this.ask({ [place]: at });
    else if (place === "key" && inside) this.choose(this.query, at - first);
    else if (place === "query" && inside) this.choose(at - first, null);
  }

  // One listener for all parts of the drawing, which is made again with each change.
  /** @param {Element} target */
  clicked(target) {
    const places = "[data-open], [data-key], [data-source], [data-name], [data-layer]";
    const mark = /** @type {SVGElement | null} */ (target.closest(places));
    if (!mark) return;
    const { open, key, name, layer, token, source } = mark.dataset;
    const { inputFirst, head } = this.view.header;
    if (open) this.openAt(mark);
    else if (key) this.choose(Number(token), Number(key));
    else if (source) this.chooseSource(Number(token), inputFirst + Number(source));
    else if (name) this.choose(Number(name), null);
    else if (layer) this.openLayer(Number(layer), head);
  }
}
