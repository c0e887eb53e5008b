// The whole model as one picture: tokens, the residual stream, one layer in full, and what the model is for.
//
// A view has parts that change together: `pan`, the window of a long input; `player`, the story; `choice`, what the reader
// has chosen, and its events; `panel`, the open part; `input`, the input next to the rows. model_river.js draws.
import { make, svg } from "./drawing.js";
import { drawChange, largestChange } from "./model_change.js";
import { ModelChoice } from "./model_choice.js";
import { curves } from "./model_curves.js";
import { crossLines, decoderLegend, drawnHeader, nameStrongest, nextTokens } from "./model_decoder.js";
import { readDecoder, showOutput } from "./model_decoder.js";
import { drawEnd } from "./model_end.js";
import { glyphs, placeChips } from "./model_glyphs.js";
import { drawHeads } from "./model_heads.js";
import { ModelInput } from "./model_input.js";
import { legendOf } from "./model_legend.js";
import { layout, NARROWEST } from "./model_layout.js";
import { PartPanel } from "./model_panel.js";
import { StoryPlayer } from "./model_player.js";
import { drawBands, drawEmbeddings, drawNames, drawParts, drawSlices, drawWeights } from "./model_river.js";
import { strongestNeurons } from "./model_river.js";
import { saveModel } from "./model_save.js";
import { drawSwitches, placePowers } from "./model_switches.js";
import { TokenWindow } from "./model_window.js";
import { saveButtons } from "./picture.js";
import { Drawing, everyFrame, readTheme } from "./shared.js";

const MODEL_KEYS =
  "Up and down arrow choose a token, left and right arrow a layer, Enter opens its strongest weight, " +
  "Escape closes. Tab goes to a button for each part.";
const STAGE_GAIN = 170; // pixels of the window that a stage has more than a page with controls
const LOW = 1; // pixels of a window in which rows are as low as their names allow
const BOTH_RIVERS = 1800; // pixels in which two rivers are open next to each other

/** @extends {Drawing<ModelHeader, Sent<ModelEvent>>} */
export class ModelView extends Drawing {
  /** @type {Arrays} */
  arrays;
  /** @type {ModelPlace} */
  place; // where everything is drawn
  /** @type {Record<string, number>} */
  drawnParts; // where the parts of the open layer were when they were drawn
  /** @type {Numbers} */
  shownStream; // the lengths of all vectors, between two passes while bands move
  /** @type {ModelView | null} */
  decoder = null; // the second river
  /** @type {number | null} */
  hovered = null; // the token under the pointer
  /** @type {number | null} */
  told = null; // the token of the output that the story is at
  scale = 0; // the length of a full band
  widest = 1; // the largest length of now
  isMoving = false; // while bands change with another pass, from one scale to the other
  slid = 1; // how far the norms have slid from the other placement, 0 to 1

  // main: the view of the encoder, whose decoder this one draws; null for a view by itself.
  /** @param {HTMLElement} parent @param {ModelView | null} main */
  constructor(parent, main = null) {
    const what = main ? "decoder" : "model";
    super(parent, `The ${what}`, main ? "enc-model enc-model-second" : "enc-model");
    this.main = main;
    const group = (style, label) => make("div", { class: style, role: "group", "aria-label": label });
    this.chips = group("enc-model-chips", `Parts of the ${what}`);
    this.powers = group("enc-model-powers", `Layers of the ${what}`);
    this.heads = group("enc-model-heads", `Heads of the ${what}’s open layer`);
    this.drawing = make("div", { class: "enc-model-drawing" });
    this.stage = make("div", { class: "enc-model-stage" }, this.powers, this.chips, this.drawing);
    this.legend = make("ul", { class: "enc-model-legend" });
    this.body = make("div", { class: "enc-model-body enc-focus", tabindex: "0", role: "application" }, this.stage);
    this.choice = new ModelChoice(this);
    this.pan = new TokenWindow(this);
    this.panel = new PartPanel(this, what);
    this.input = new ModelInput(this);
    this.river = make("div", { class: "enc-model-place" }, this.body, this.panel.element);
    main ? this.placeSecond(main) : this.placeFirst();
    this.drawSoon = everyFrame(() => this.header && this.draw());
    this.listenToSize(this.body, () => this.drawSoon());
    this.listen(this.stage, "pointermove", (event) => this.hover(this.tokenAt(event)));
    this.listen(this.stage, "pointerleave", () => this.hover(null));
    this.listen(this.drawing, "click", (event) => this.choice.clicked(/** @type {Element} */ (event.target)));
    this.listenToKeys(this.body);
  }

  // A bar, the picture, its heads and its legend.
  placeFirst() {
    this.player = new StoryPlayer(this);
    this.switches = make("div", { class: "enc-model-switches", role: "group", "aria-label": "Change the model" });
    const save = saveButtons("the picture", (kind) => saveModel(this, kind));
    this.bar = make("div", { class: "enc-model-bar" }, ...this.player.elements, this.switches, save);
    this.lowBar = make("div", { class: "enc-model-bar", hidden: "" });
    this.row = make("div", { class: "enc-model-row" }, this.input.element, this.river);
    this.root.prepend(this.bar, this.input.strip, this.row, this.lowBar, this.heads, this.legend);
  }

  // On a phone, words and switches are below the picture, which then begins on the first screen; its two colours are said
  // above it.
  /** @param {boolean} turned */
  placeBar(turned) {
    if (!this.player || this.lowBar.hidden !== turned) return;
    const save = /** @type {Element} */ (this.root.querySelector(".enc-saves"));
    this.lowBar.hidden = !turned;
    (turned ? this.lowBar : this.bar).append(this.player.caption, this.switches, save);
    if (turned) this.bar.append(this.player.colours);
    else this.player.colours.remove();
  }

  // In the row of the first river; heads and legend are below those of the first.
  /** @param {ModelView} main */
  placeSecond(main) {
    this.next = make("ol", { class: "enc-model-next", "aria-label": "The most probable next tokens" });
    main.row.before(this.next);
    this.root.prepend(this.input.strip, this.river);
    main.legend.after(this.heads, this.legend);
  }

  /** @param {Block<ModelHeader>} block */
  read({ header, arrays }) {
    const isSame = Boolean(this.arrays) && this.header.labels.join("\n") === header.labels.join("\n") &&
      this.header.layers === header.layers;
    const before = isSame ? this.arrays.stream.data.slice() : null;
    const moved = isSame && this.header.norm !== header.norm;
    const hasEffect = Boolean(before) && this.header.effect === header.effect;
    const change = moved ? largestChange(this, before, arrays.stream.data, header) : null;
    Object.assign(this, { header, arrays, theme: readTheme(this.parent) });
    this.choice.read((this.main ?? this).isRestyled);
    if (!(this.main ?? this).isRestyled) this.pan.read(isSame);
    this.input.read(header, arrays);
    this.body.setAttribute("aria-label", `${header.alt} ${MODEL_KEYS}`);
    this.shownStream = arrays.stream.data;
    drawHeads(this);
    if (this.player) {
      if (change !== null || !hasEffect) this.player.changed = change ?? "";
      this.player.read();
      this.player.show(this.player.step);
      drawSwitches(this);
    }
    drawChange(this, before, moved);
    this.panel.draw();
    readDecoder(this, header, arrays);
  }

  // The numbers of a token at a stage, by row-major arrays.
  /** @param {number} stage @param {number} token */
  stream(stage, token) {
    return this.shownStream[stage * this.header.labels.length + token];
  }

  /** @param {number} query @param {number} key */
  weight(query, key) {
    return this.arrays.weights.data[query * this.header.labels.length + key];
  }

  // The length of the longest vector, whose band is full.
  get longest() {
    return this.arrays.stream.data.reduce((most, value) => Math.max(most, value), 0) || 1;
  }

  // Whether a head of the open layer is switched off: its weights are computed, and nothing uses them.
  /** @param {number} head */
  isHeadOff(head) {
    return Boolean(this.header.off?.includes(head));
  }

  // Of two rivers one is open, unless both have room.
  get isClosed() {
    const main = this.main ?? this;
    if (!main.header.decoder) return false;
    const own = this.main ? "decoder" : "encoder";
    return main.choice.side !== own && main.row.clientWidth < BOTH_RIVERS * this.theme.scale;
  }

  // ---- The picture ----

  draw() {
    const { theme, isClosed } = this;
    const header = drawnHeader(this);
    if (!this.isMoving) this.scale = this.widest = this.longest;
    const width = Math.max(this.body.clientWidth, NARROWEST);
    const place = layout(header, width, theme.scale, this.slid, this.pan.from, this.tall);
    Object.assign(this, { place, drawnParts: place.parts });
    this.root.classList.toggle("enc-model-turned", place.turned);
    this.placeBar(place.turned);
    this.root.dataset.off = (header.switches?.power ?? []).filter(({ on }) => !on).map(({ name }) => name).join(" ");
    if (this.header.decoder || this.main) this.shareRow(place.turned, isClosed);
    const picture = svg("svg", { width: place.width, height: place.height, "aria-hidden": "true" });
    picture.append(drawSlices(this));
    if (header.curves) picture.append(drawEmbeddings(this), curves(this));
    else if (isClosed) picture.append(drawBands(this), drawEmbeddings(this));
    else {
      picture.append(drawBands(this), drawEmbeddings(this), drawWeights(this), glyphs(header, place), drawParts(this));
    }
    if (this.main && !header.curves) picture.append(crossLines(this));
    picture.append(drawNames(this), drawEnd(this), svg("g", { class: "enc-model-strongest" }));
    this.drawing.replaceChildren(picture);
    this.input.paintSoon();
    placeChips(this);
    placePowers(this);
    this.panel.fit();
    this.legend.replaceChildren(...(this.main ? decoderLegend(this) : legendOf(this)));
    if (this.main) showOutput(this, this.main.player.told);
    else {
      this.emphasise();
      this.player.place();
    }
    this.decoder?.draw();
  }

  // The room of one of two rivers: next to the other, or in a picture with columns above and below it.
  /** @param {boolean} turned @param {boolean} isClosed */
  shareRow(turned, isClosed) {
    const own = this.main ? this.root : this.river;
    own.style.flex = turned ? "1 1 100%" : isClosed ? `0 0 ${(this.main ? 380 : 290) * this.theme.scale}px` : "1 1 0";
    for (const element of [this.heads, this.legend, this.powers]) element.hidden = isClosed;
  }

  // A page with the picture only is as high as its content; on one that is printed an open part needs room below it.
  get tall() {
    const { isStage, textAbove, tall } = this.theme;
    if (this.isAlone) return tall && this.choice?.part ? LOW : tall;
    return globalThis.innerHeight * (1 - textAbove) + (isStage ? STAGE_GAIN : 0);
  }

  // ---- Pointing, keys, events ----

  // The token that all words and numbers are about. The pointer only previews another one.
  get token() {
    return this.told ?? this.choice.query ?? this.hovered ?? null;
  }

  /** @param {PointerEvent} event */
  tokenAt(event) {
    if (!this.place) return null;
    const { left, top } = this.stage.getBoundingClientRect();
    const { place } = this;
    const at = [event.clientX - left, event.clientY - top];
    const [across, along] = place.turned ? at : at.reverse();
    // Between the columns of values and queries run the lines of the selected token, and cross the rows of others.
    if ((this.choice.query ?? null) !== null && along > place.parts.v && along < place.parts.q) return null;
    const { decoder, isDecoder } = this.header;
    if (!decoder && !isDecoder && along > place.ending) return null; // the vector of the whole input has no rows
    const token = Math.floor((across - place.top) / place.row);
    return token >= 0 && token < place.count ? place.first + token : null;
  }

  /** @param {number | null} token */
  hover(token) {
    if (token === this.hovered || !this.header) return;
    this.hovered = token;
    this.drawing.querySelector(".enc-model-neuron")?.remove();
    this.drawing.querySelector(".enc-model-parts")?.append(...strongestNeurons(this));
    this.input.paintSoon();
    this.emphasise();
  }

  // The token's way lights up; in the story, the part that the sentence is about.
  emphasise() {
    const part = this.player?.told?.part;
    const { token, choice } = this;
    if (this.main) nameStrongest(this);
    this.next?.replaceChildren(...nextTokens(this));
    for (const element of this.marked("[data-token]")) {
      const its = Number(element.dataset.token);
      const [own, previewed] = [its === token, its === this.hovered && its !== token];
      element.classList.toggle("enc-on", own);
      element.classList.toggle("enc-preview", previewed);
      element.classList.toggle("enc-off", token !== null && !own && !previewed);
    }
    for (const name of this.marked(".enc-model-names text")) {
      name.classList.toggle("enc-key", Boolean(choice.part) && Number(name.dataset.name) === choice.key);
    }
    const isLit = (name) => name === part || (this.player?.told?.flows && name === "lines");
    for (const element of this.marked("[data-part]")) {
      element.classList.toggle("enc-model-dim", Boolean(part) && !isLit(element.dataset.part));
    }
    this.heads.classList.toggle("enc-model-dim", Boolean(part) && part !== "heads");
  }

  // What is drawn of a kind.
  /** @param {string} selector */
  marked(selector) {
    return /** @type {NodeListOf<SVGElement>} */ (this.stage.querySelectorAll(selector));
  }

  // The view of a decoder sends its events as the picture that it is a part of.
  /** @override @param {ModelEvent["event"]} name @param {Sent<ModelEvent>} value @returns {number} */
  send(name, value) {
    if (!this.main) return super.send(name, value);
    const { header } = this;
    const first = header.count > header.labels.length ? { first: null } : {};
    return this.main.send(name, { ...value, ...first, source: this.choice.source, side: "decoder" });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { choice, place } = this;
    const { labels, layer, layers, head } = this.header;
    const [vertical, horizontal] = [{ ArrowUp: -1, ArrowDown: 1 }, { ArrowLeft: -1, ArrowRight: 1 }];
    const [tokens, ways] = place.turned ? [horizontal, vertical] : [vertical, horizontal];
    const [along, across] = [tokens[event.key], ways[event.key]];
    if (event.target !== this.body && event.key !== "Escape") return false; // a button has its own keys
    if (along) {
      choice.choose(Math.max(0, Math.min(labels.length - 1, (choice.query ?? -along) + along)), null);
    } else if (across) {
      const next = Math.max(0, Math.min(layers - 1, layer + across));
      if (next !== layer) choice.openLayer(next, head);
    } else if (event.key === "Enter" && choice.query !== null) {
      choice.choose(choice.query, choice.strongestKey());
    } else if (event.key === "Escape") {
      if (!choice.part && this.hovered === null && !(this.player?.step >= 0)) return false;
      this.hover(null);
      choice.part ? choice.back() : this.player?.show(-1);
    } else return false;
    return true;
  }

  /** @override */
  destroy() {
    if (this.main) [this.next, this.heads, this.legend].forEach((element) => element.remove());
    else this.player.pause();
    this.decoder?.destroy();
    this.pan.forget();
    super.destroy();
  }
}
