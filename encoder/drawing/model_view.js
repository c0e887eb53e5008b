// The whole model as one picture: tokens, the residual stream, one layer in full, and what the model is for.
import { arrow, inWords, make, svg, threeDigits, withNorm } from "./drawing.js";
import { crossLines, decoderLegend, drawnHeader, nameStrongest, nextTokens } from "./model_decoder.js";
import { outputStory, outputWords, readDecoder, showOutput } from "./model_decoder.js";
import { curves } from "./model_curves.js";
import { drawEnd } from "./model_end.js";
import { glyphs, placeChips, slideParts, sublayersOf, updateBars } from "./model_glyphs.js";
import { ModelInput } from "./model_input.js";
import { legendOf } from "./model_legend.js";
import { bandPath, FAINTEST_LINE, layout, linkPath, namePlace, NARROWEST } from "./model_layout.js";
import { fitPanel, noMoreBelow } from "./model_panel.js";
import { levelAbove, neighbour, partPanel } from "./model_parts.js";
import { saveModel } from "./model_save.js";
import { readingTime, story } from "./model_story.js";
import { drawSwitches, placePowers } from "./model_switches.js";
import { saveButtons } from "./picture.js";
import { Drawing, everyFrame, readTheme } from "./shared.js";

const MODEL_KEYS =
  "Up and down arrow choose a token, left and right arrow a layer, Enter opens its strongest weight, " +
  "Escape closes. Tab goes to a button for each part.";
const PANEL_KEYS = "Left and right arrow open the part before and after, Escape goes one level up.";
const MOVE_MS = 500; // bands that change with another norm placement or model
const PAN_MS = 120; // a hand that drags the window asks for its last place only
const CONTEXT = 8; // tokens before the query, where not all of them have room
const COLOUR_KEY =
  "Violet: the vector of each token through the layers (residual stream). Blue: what a token attends to. " +
  "Click a part for its arithmetic. Play tells the story.";
const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

export class ModelView extends Drawing {
  // main: the view of the encoder, whose decoder this one draws; null for a view by itself.
  constructor(parent, main = null) {
    const what = main ? "decoder" : "model";
    const bar = make("div", { class: "enc-model-bar" });
    const caption = make("p", { class: "enc-model-caption", "aria-live": "polite" });
    const chips = make("div", { class: "enc-model-chips", role: "group", "aria-label": `Parts of the ${what}` });
    const powers = make("div", { class: "enc-model-powers", role: "group", "aria-label": `Layers of the ${what}` });
    const drawing = make("div", { class: "enc-model-drawing" });
    const stage = make("div", { class: "enc-model-stage" }, powers, chips, drawing);
    const heads = make("div", {
      class: "enc-model-heads",
      role: "group",
      "aria-label": `Heads of the ${what}’s open layer`,
    });
    const legend = make("ul", { class: "enc-model-legend" });
    const body = make("div", { class: "enc-model-body enc-focus", tabindex: "0", role: "application" }, stage);
    const opened = make("section", {
      class: "enc-model-opened",
      hidden: "",
      "aria-label": `The open part of the ${what}`,
    });
    const place = make("div", { class: "enc-model-place" }, body, opened);
    super(
      parent,
      `The ${what}`,
      main ? "enc-model enc-model-second" : "enc-model",
      ...(main ? [] : [bar, heads, legend]),
    );
    Object.assign(this, { bar, caption, chips, powers, stage, drawing, heads, legend, body, opened, main });
    Object.assign(this, { hovered: null, step: -1, part: "", sent: [], scale: 0, slid: 1, start: 0 });
    this.input = new ModelInput(this);
    this.river = place;
    if (main) {
      this.next = make("ol", { class: "enc-model-next", "aria-label": "The most probable next tokens" });
      main.row.before(this.next);
      this.root.prepend(this.input.strip, place);
      main.legend.after(heads, legend);
    } else {
      this.row = make("div", { class: "enc-model-row" }, this.input.element, place);
      bar.after(this.input.strip, this.row);
      this.fillBar();
    }
    this.drawSoon = everyFrame(() => this.header && this.draw());
    this.listenToSize(body, () => this.drawSoon());
    this.listen(stage, "pointermove", (event) => this.hover(this.tokenAt(event)));
    this.listen(stage, "pointerleave", () => this.hover(null));
    this.listen(drawing, "click", (event) => this.clicked(event.target));
    this.listen(opened, "keydown", (event) => this.panelKey(event));
    this.listen(document, "keydown", ({ key }) => this.keyOutside(key));
    this.listen(opened, "scroll", () => noMoreBelow(opened), { passive: true });
    this.listenToKeys(body);
  }

  fillBar() {
    const button = (text, label, action) => {
      const element = make("button", { type: "button", "aria-label": label, title: label }, text);
      this.listen(element, "click", action);
      return element;
    };
    this.playButton = button(
      "▶ Play",
      "Play the story of this sentence",
      () => this.timer ? this.pause() : this.play(),
    );
    const back = button("◀", "One step back", () => this.show(this.step - 1));
    const forward = button("▶", "One step forward", () => this.show(this.step + 1));
    this.scrubber = make("input", {
      type: "range",
      min: "0",
      max: "12",
      value: "0",
      "aria-label": "Step of the story",
    });
    this.listen(this.scrubber, "input", () => this.show(Number(this.scrubber.value) - 1));
    this.switches = make("div", { class: "enc-model-switches", role: "group", "aria-label": "Change the model" });
    this.bar.append(this.playButton, back, this.scrubber, forward, this.caption, this.switches);
    this.bar.append(saveButtons("the picture", (kind) => saveModel(this, kind)));
  }

  read({ header, arrays }) {
    const same = this.arrays && this.header.labels.join("\n") === header.labels.join("\n") &&
      this.header.layers === header.layers;
    const before = same ? this.arrays.stream.data.slice() : null;
    const moved = before && this.header.norm !== header.norm;
    if (!before) this.scale = 0;
    if (moved) this.changed = this.largestChange(before, arrays, header);
    else if (!before || this.header.effect !== header.effect) this.changed = "";
    Object.assign(this, { header, arrays, theme: readTheme(this.parent) });
    if (!(this.main ?? this).isRestyled) Object.assign(this, { query: header.query, keyToken: header.key });
    this.story = story(header, arrays);
    if (this.side === undefined || header.side !== this.followedSide) this.side = header.side;
    this.followedSide = header.side;
    if (header.decoder) this.story.push(...outputStory(header.decoder));
    if (!this.main) this.scrubber.max = String(this.story.length);
    if (!this.asked || !(same || this.isHere)) {
      const isInside = this.start >= header.first && this.start < header.first + header.labels.length;
      if (!before || !isInside) this.start = header.first + Math.max(0, (header.query ?? 0) - CONTEXT);
    }
    // Another update may come before the window that the reader moved to.
    if (!same || this.isHere) this.asked = clearTimeout(this.asked);
    this.input.read(header, arrays);
    this.body.setAttribute("aria-label", `${header.alt} ${MODEL_KEYS}`);
    this.shownStream = arrays.stream.data;
    this.follow(header.part ?? "");
    this.drawHeads();
    if (!this.main) {
      this.show(this.step);
      drawSwitches(this);
    }
    if (before && before.length === arrays.stream.data.length && !reducedMotion.matches) this.moveFrom(before, moved);
    else this.draw();
    this.drawOpened();
    readDecoder(this, header, arrays);
  }

  // The open part is the reader's newest choice: an answer to an older one of hers changes nothing, a link does.
  follow(part) {
    const answered = this.sent.indexOf(part);
    if (answered >= 0) this.sent.splice(0, answered + 1);
    else if (part !== this.followed && !this.sent.length) this.part = part;
    this.followed = part;
  }

  // The numbers of a token at a stage, by row-major arrays.
  stream(stage, token) {
    return this.shownStream[stage * this.header.labels.length + token];
  }

  weight(query, key) {
    return this.arrays.weights.data[query * this.header.labels.length + key];
  }

  largestChange(before, arrays, { labels, stages, norm }) {
    const now = arrays.stream.data;
    if (before.length !== now.length) return "";
    let most = 0;
    const change = (at) => Math.abs(Math.log(now[at] / before[at]));
    for (let at = 1; at < now.length; at++) if (change(at) > change(most)) most = at;
    const [stage, token] = [Math.floor(most / labels.length), most % labels.length];
    const where = norm === "pre" ? "LayerNorm before each sublayer" : "LayerNorm after each addition";
    const longest = now.reduce((top, value) => Math.max(top, value), 0);
    const scale = this.scale < longest ? ` Full band: ${threeDigits(this.scale)} → ${threeDigits(longest)}.` : "";
    return `${where}: “${labels[token]}” changes most, length ${threeDigits(before[most])} → ${
      threeDigits(now[most])
    } ` +
      `${stageName(stages[stage], this.header)}.${scale}`;
  }

  // Bands go from their thickness before to that of now; moved norms slide to their place.
  moveFrom(before, moved) {
    const [after, start] = [this.arrays.stream.data, performance.now()];
    let isFirst = true;
    const frame = (now) => {
      if (this.removed.signal.aborted || after !== this.arrays.stream.data) return;
      // The last frame makes all parts again, which would lose a click that has begun.
      const share = Math.max(0, Math.min(this.press ? 0.99 : 1, (now - start) / MOVE_MS));
      this.slid = moved ? share : 1;
      this.shownStream = share === 1 ? after : after.map((value, at) => before[at] + (value - before[at]) * share);
      isFirst || share === 1 ? this.draw() : this.drawMoving(moved);
      isFirst = false;
      if (share < 1) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  }

  // Of two rivers one is open, unless both have room.
  get isClosed() {
    const main = this.main ?? this;
    if (!main.header.decoder) return false;
    return main.side !== (this.main ? "decoder" : "encoder") && main.row.clientWidth < 1800 * this.theme.scale;
  }

  // A frame between two drawings: nothing is made again. A whole drawing takes several frames' time.
  drawMoving(moved) {
    const { header, theme } = this;
    if (header.curves || this.isClosed) return this.draw();
    if (moved) {
      this.place = layout(drawnHeader(this), this.place.width, theme.scale, this.slid, this.from, this.tall);
      slideParts(this.drawing, this.drawnParts, this.place);
      placeChips(this);
    }
    for (const band of this.drawing.querySelectorAll(".enc-model-bands path")) {
      band.setAttribute("d", this.bandOf(Number(band.dataset.token)));
    }
  }

  // ---- The picture ----

  draw() {
    const { theme, isClosed } = this;
    const header = drawnHeader(this);
    // One scale for a sentence: with the norms elsewhere, the same length stays the same width.
    this.widest = this.arrays.stream.data.reduce((most, value) => Math.max(most, value), 0) || 1;
    this.scale = Math.max(this.scale, this.widest);
    const place = layout(
      header,
      Math.max(this.body.clientWidth, NARROWEST),
      theme.scale,
      this.slid,
      this.from,
      this.tall,
    );
    Object.assign(this, { place, drawnParts: place.parts });
    this.root.classList.toggle("enc-model-turned", place.turned);
    this.root.dataset.off = (header.switches?.power ?? []).filter(({ on }) => !on).map(({ name }) => name).join(" ");
    if (this.header.decoder || this.main) this.shareRow(place.turned, isClosed);
    const picture = svg("svg", { width: place.width, height: place.height, "aria-hidden": "true" });
    picture.append(this.slices());
    if (header.curves) picture.append(this.embeddings(), curves(this));
    else if (isClosed) picture.append(this.bands(), this.embeddings());
    else picture.append(this.bands(), this.embeddings(), this.lines(), glyphs(header, place), this.parts());
    if (this.main && !header.curves) picture.append(crossLines(this));
    picture.append(this.names(), drawEnd(this), svg("g", { class: "enc-model-strongest" }));
    this.drawing.replaceChildren(picture);
    this.input.paintSoon();
    placeChips(this);
    placePowers(this);
    this.placeOpened();
    this.writeLegend();
    if (this.main) showOutput(this, this.main.story?.[this.main.step]);
    else this.emphasise();
    this.decoder?.draw();
  }

  // The room of one of two rivers: next to the other, or in a picture with columns above and below it.
  shareRow(turned, isClosed) {
    const own = this.main ? this.root : this.river;
    own.style.flex = turned ? "1 1 100%" : isClosed ? `0 0 ${(this.main ? 380 : 290) * this.theme.scale}px` : "1 1 0";
    for (const element of [this.heads, this.legend, this.powers]) element.hidden = isClosed;
  }

  // A page with the picture only is as high as its content.
  get tall() {
    return this.isAlone ? 0 : globalThis.innerHeight;
  }

  // The other layers: thin, with their number; a click opens one.
  slices() {
    const { place } = this;
    const header = drawnHeader(this);
    const group = svg("g", { class: "enc-model-slices", "data-part": "slices" });
    place.layers.forEach((span, layer) => {
      const isOpen = layer === header.layer;
      const slice = svg("g", { class: isOpen ? "enc-model-slice enc-open" : "enc-model-slice" });
      slice.append(
        svg("rect", {
          ...place.box(
            span.start + 1,
            place.top - 8,
            Math.max(2, span.end - span.start - 2),
            place.bottom - place.top + 14,
          ),
          rx: Math.min(5, (span.end - span.start) / 5),
        }),
        svg("title", {}, isOpen ? `Layer ${layer}` : `Open layer ${layer}`),
      );
      if (!isOpen) {
        if (layer % this.numbered === 0) slice.append(this.numberOf(span, layer));
        slice.dataset.layer = String(layer);
      }
      group.append(slice);
    });
    return group;
  }

  // The number of a thin layer; where they are too thin, not each has one.
  numberOf({ start, end }, layer) {
    const [x, y] = this.place.point(
      (start + end) / 2,
      this.place.turned ? this.place.top - 20 : this.place.bottom + 18,
    );
    return svg("text", { x, y: this.place.turned ? y + 4 : y, "text-anchor": "middle" }, String(layer));
  }

  get numbered() {
    const thin = this.place.layers.reduce((least, { start, end }) => Math.min(least, end - start), Infinity);
    return Math.ceil((this.place.turned ? 14 : 18) * this.theme.scale / thin);
  }

  bands() {
    const group = svg("g", { class: "enc-model-bands", "data-part": "river" });
    this.header.labels.forEach((_, token) => {
      if (this.place.shows(token)) group.append(svg("path", { d: this.bandOf(token), "data-token": token }));
    });
    return group;
  }

  bandOf(token) {
    const { place, scale } = this;
    const half = (_, stage) => Math.max(0.4, (this.stream(stage, token) / scale) * place.row * 0.44);
    return bandPath(place, token, place.stages.map(half));
  }

  // The lengths of the token's and of its position's vector.
  embeddings() {
    const { header, place } = this;
    const group = svg("g", { "data-part": "embed" });
    const parts = ["tokens", "positions"].filter((name) => this.arrays[name]);
    const most = Math.max(...parts.map((name) => this.arrays[name].data.reduce((size, one) => Math.max(size, one), 0)));
    parts.forEach((name, index) =>
      header.labels.forEach((_, token) => {
        const value = this.arrays[name].data[token];
        if (!place.shows(token)) return;
        const breadth = Math.max(1, (value / most) * place.row * 0.7);
        const bar = place.box(
          place.embed + (place.turned ? 18 : 4) + 18 * index,
          place.y(token) - breadth / 2,
          9,
          breadth,
        );
        group.append(svg(
          "rect",
          { ...bar, class: `enc-model-${name}`, "data-token": token },
          svg("title", {}, `length ${threeDigits(value)}`),
        ));
      })
    );
    return group;
  }

  // The open head: a line from each key to each query, as strong as its weight.
  lines() {
    const { header, place } = this;
    const group = svg("g", { class: "enc-model-lines", "data-part": "lines" });
    header.labels.forEach((_, query) =>
      header.labels.forEach((_, key) => {
        const weight = this.weight(query, key);
        if (weight < FAINTEST_LINE || !place.shows(query) || !place.shows(key)) return;
        const line = svg("path", {
          d: linkPath(place, place.parts.v + 6, place.y(key), place.parts.q - 6, place.y(query)),
          "data-token": query,
          "data-key": key,
          "stroke-width": (0.6 + 3 * weight).toFixed(2),
          "stroke-opacity": Math.min(1, 0.08 + weight).toFixed(3),
        });
        group.append(line);
      })
    );
    if (this.isHeadOff(header.head)) group.append(this.offWords());
    return group;
  }

  // Whether a head of the open layer is switched off: its weights are computed, and nothing uses them.
  isHeadOff(head) {
    return Boolean(this.header.off?.includes(head));
  }

  offWords() {
    const { header, place } = this;
    const [x, y] = place.point(place.parts.softmax, place.middle);
    return svg("text", { x, y, class: "enc-model-off", "text-anchor": "middle" }, `head ${header.head} is off`);
  }

  // What the sublayers of the open layer add, and the strongest neurons of the selected token.
  parts() {
    return svg("g", { class: "enc-model-parts" }, updateBars(this), ...this.neurons());
  }

  neurons() {
    const { place, arrays, token } = this;
    if (token === null || !place.shows(token)) return [];
    const count = arrays.neurons.shape[1];
    const pitch = 15 * this.theme.scale;
    const [width, height] = [112 * this.theme.scale, count * pitch + 4];
    const edge = place.turned ? width / 2 : 1.5 * pitch;
    const across = Math.max(place.top + edge, Math.min(place.bottom - edge, place.y(token)));
    const [x, middle] = place.point(place.parts.ffn, across);
    const box = svg("g", { class: "enc-model-neuron", "data-stop": "ffn", "data-part": "ffn", "data-open": "ffn" });
    box.append(svg("rect", { x: x - width / 2, y: middle - height / 2, width, height, rx: 4 }));
    for (let row = 0; row < count; row++) {
      const at = token * count + row;
      const y = middle + (row - (count - 1) / 2) * pitch + 4;
      const said = `neuron ${arrays.neurons.data[at]}: ${threeDigits(arrays.hidden.data[at])}`;
      box.append(svg("text", { x, y, "text-anchor": "middle" }, said));
    }
    return [box];
  }

  names() {
    const { header, place } = this;
    const group = svg("g", { class: "enc-model-names", "data-part": "names" });
    header.labels.forEach((label, token) => {
      if (!place.shows(token)) return;
      const text = svg("text", {
        ...namePlace(place, token),
        "data-token": token,
        style: `font-size:${place.type}px`,
      });
      if (token < header.starts && !header.first) text.append("start "); // the decoder begins with it
      text.append([...label].length > 13 ? `${[...label].slice(0, 12).join("")}…` : label);
      text.append(svg("title", {}, label));
      text.dataset.name = String(token);
      group.append(text);
    });
    return group;
  }

  drawHeads() {
    const { header, arrays, heads } = this;
    const maps = arrays.crossMaps ?? arrays.maps;
    const [count, n, across] = maps.shape;
    const [red, green, blue] = this.theme.dark ? [96, 165, 250] : [31, 99, 196];
    const said = `Heads of layer ${header.layer}, as ${this.main ? "cross-attention" : "attention"} maps. ` +
      "Row: query. Column: key. Bluer: larger weight.";
    const buttons = Array.from({ length: count }, (_, head) => {
      const map = make("canvas", { width: across, height: n, "aria-hidden": "true" });
      const pen = map.getContext("2d");
      const image = pen.createImageData(across, n);
      const own = maps.data.subarray(head * n * across, (head + 1) * n * across);
      own.forEach((value, at) => image.data.set([red, green, blue, value], 4 * at));
      pen.putImageData(image, 0, 0);
      const off = this.isHeadOff(head) ? " off" : "";
      const pressed = { type: "button", "aria-pressed": String(head === header.head), class: off && "enc-off" };
      const button = make("button", pressed, map, `H${head}${off}`);
      button.setAttribute("aria-label", `H${head}${off}, layer ${header.layer}${this.main ? ", cross-attention" : ""}`);
      button.addEventListener("click", () => this.openLayer(header.layer, head));
      return button;
    });
    heads.replaceChildren(make("p", {}, said), ...buttons);
  }

  writeLegend() {
    this.legend.replaceChildren(...(this.main ? decoderLegend(this) : legendOf(this)));
  }

  // ---- Pointing and choosing ----

  // The token that all words and numbers are about. The pointer only previews another one.
  get token() {
    return this.told ?? this.query ?? this.hovered ?? null;
  }

  tokenAt(event) {
    if (!this.place) return null;
    const { left, top } = this.stage.getBoundingClientRect();
    const { place } = this;
    const at = [event.clientX - left, event.clientY - top];
    const [across, along] = place.turned ? at : at.reverse();
    // Between the columns of values and queries run the lines of the selected token, and cross the rows of others.
    if ((this.query ?? null) !== null && along > place.parts.v && along < place.parts.q) return null;
    const token = Math.floor((across - place.top) / place.row);
    return token >= 0 && token < place.count ? place.first + token : null;
  }

  // ---- The window of a long input ----

  // The first token that is shown, in the header's window: where the reader moved to, else around the query.
  get from() {
    return this.start - this.header.first;
  }

  // [position of the first token that is shown, their number]; while the host is asked for others, theirs.
  get shownTokens() {
    return [this.asked ? this.start : this.header.first + this.place.first, this.place.count];
  }

  // The first token of the host's window, so that it stays; null where all tokens are here.
  get window() {
    return this.header.count > this.header.labels.length ? this.header.first : null;
  }

  // Whether the host's window holds all tokens that the reader moved to.
  get isHere() {
    const { first, labels } = this.header;
    return this.start >= first && this.start + this.place.count <= first + labels.length;
  }

  // Shows other tokens: at once where their numbers are here, else the host is asked for them.
  panTo(position) {
    const { header, place } = this;
    const start = Math.max(0, Math.min(position, header.count - place.count));
    this.start = start;
    const spare = header.labels.length - place.count;
    this.asked = clearTimeout(this.asked);
    if (this.isHere) return this.draw();
    this.asked = setTimeout(() => this.send("pan", { first: Math.max(0, start - Math.floor(spare / 2)) }), PAN_MS);
    this.input.paintSoon();
  }

  // Selects a token of the whole input as the query.
  choosePosition(position) {
    const token = position - this.header.first;
    if (token >= 0 && token < this.header.labels.length) this.choose(token, null);
    else this.send("select", { query: position, key: null });
  }

  hover(token) {
    if (token === this.hovered || !this.header) return;
    this.hovered = token;
    this.drawing.querySelector(".enc-model-neuron")?.remove();
    this.drawing.querySelector(".enc-model-parts")?.append(...this.neurons());
    this.input.paintSoon();
    this.emphasise();
  }

  // The token's way lights up; in the story, the part that the sentence is about.
  emphasise() {
    const part = this.main ? "" : this.story?.[this.step]?.part;
    const token = this.token;
    if (this.main) nameStrongest(this);
    this.next?.replaceChildren(...nextTokens(this));
    for (const element of this.stage.querySelectorAll("[data-token]")) {
      const its = Number(element.dataset.token);
      const [own, previewed] = [its === token, its === this.hovered && its !== token];
      element.classList.toggle("enc-on", own);
      element.classList.toggle("enc-preview", previewed);
      element.classList.toggle("enc-off", token !== null && !own && !previewed);
    }
    for (const name of this.drawing.querySelectorAll(".enc-model-names text")) {
      name.classList.toggle("enc-key", Boolean(this.part) && Number(name.dataset.name) === this.keyToken);
    }
    for (const element of this.stage.querySelectorAll("[data-part]")) {
      element.classList.toggle("enc-model-dim", Boolean(part) && element.dataset.part !== part);
    }
    this.heads.classList.toggle("enc-model-dim", Boolean(part) && part !== "heads");
  }

  choose(query, key) {
    Object.assign(this, { query, keyToken: key });
    const { first } = this.header;
    this.send("select", { query: first + query, key: key === null ? null : first + key, first: this.window });
    this.input.paintSoon();
    this.emphasise();
    const named = this.main ? outputWords(this) : this.header.labels[query];
    this.aloud.textContent = key === null ? named : this.nameOfWeight();
    if (key !== null && !this.part) this.open("softmax");
    else this.drawOpened();
  }

  nameOfWeight() {
    const { labels } = this.header;
    return `${arrow(labels[this.query], labels[this.keyToken])}: ${inWords(this.weight(this.query, this.keyToken))}`;
  }

  // ---- The open part ----

  // Whether the numbers that came with the picture are those of this pair.
  isPartsOf(query, key) {
    const { partsOf, first } = this.header;
    const source = this.sourceToken ?? null;
    return partsOf && first + query === partsOf.query && (key === null || first + key === partsOf.key) &&
      (source === null || source === partsOf.source);
  }

  // One listener for all parts of the drawing, which is made again with each change.
  clicked(target) {
    const places = "[data-open], [data-key], [data-source], [data-name], [data-layer]";
    const { dataset } = target.closest(places) ?? { dataset: {} };
    const { open, key, name, layer, token, source } = dataset;
    if (open) this.openAt(target.closest("[data-open]"));
    else if (key) this.choose(Number(token), Number(key));
    else if (source) this.chooseSource(Number(token), this.header.inputFirst + Number(source));
    else if (name) this.choose(Number(name), null);
    else if (layer) this.openLayer(Number(layer), this.header.head);
  }

  // A line of cross-attention was clicked: its weight opens.
  chooseSource(query, source) {
    Object.assign(this, { query, keyToken: null, sourceToken: source });
    this.send("select", { query: this.header.first + query, key: null, first: this.window });
    this.open("cross");
  }

  // Of two rivers, the one with this layer is open then.
  openLayer(layer, head) {
    const main = this.main ?? this;
    if (main.header.decoder) {
      const side = this.main ? "decoder" : "encoder";
      const other = this.main ? main : main.decoder;
      if (main.side !== side && other.part) other.close();
      main.side = side;
      main.draw();
    }
    this.send("open", { layer, head });
  }

  // The view of a decoder sends its events as the picture that it is a part of.
  send(name, value) {
    if (!this.main) return super.send(name, value);
    const { header } = this;
    const first = header.count > header.labels.length ? { first: null } : {};
    return this.main.send(name, { ...value, ...first, source: this.sourceToken ?? null, side: "decoder" });
  }

  // A mark of a token opens its part for this token: a key or a value belongs to the key token.
  openAt(mark) {
    if (!mark) return;
    const key = mark.dataset.open;
    const token = mark.dataset.token === undefined ? null : Number(mark.dataset.token);
    if (token !== null && ["k", "v"].includes(key)) this.keyToken = token;
    else if (token !== null && token !== this.query) Object.assign(this, { query: token, keyToken: null });
    this.open(key);
  }

  open(key) {
    const { labels } = this.header;
    this.query ??= Math.min(1, labels.length - 1);
    const other = this.main ?? this.decoder;
    if (other?.part) other.close();
    this.part = key;
    if ((key === "softmax" || key === "scores") && this.keyToken === null) this.keyToken = this.strongestKey();
    this.ask({});
    this.aloud.textContent = PANEL_KEYS;
    this.drawOpened();
    this.opened.querySelector("h2")?.focus({ preventScroll: true });
  }

  strongestKey() {
    const weights = this.header.labels.map((_, key) => this.weight(this.query, key));
    return weights.indexOf(Math.max(...weights));
  }

  // Tells the host what is open, of which tokens; it answers with the numbers. more: a component or a neuron.
  ask(more) {
    const { first, check } = this.header;
    this.sent.push(this.part);
    this.send("part", {
      part: this.part,
      query: this.query === null ? null : first + this.query,
      key: this.keyToken === null ? null : first + this.keyToken,
      first: this.window,
      check: Boolean(check),
      ...more,
    });
  }

  toggleCheck() {
    this.ask({ check: !this.header.check });
  }

  // A row or a cell of the open part was clicked: another component, neuron, head or token.
  choosePlace(place, at) {
    const { first, layer, labels } = this.header;
    const inside = at >= first && at < first + labels.length;
    if (place === "head") this.openLayer(layer, at);
    else if (place === "source") this.chooseSource(this.query, at);
    else if (place === "component" || place === "neuron") this.ask({ [place]: at });
    else if (place === "key" && inside) this.choose(this.query, at - first);
    else if (place === "query" && inside) this.choose(at - first, null);
  }

  drawOpened() {
    this.opened.hidden = !this.part;
    this.root.dataset.opened = this.part;
    if (!this.part) return this.opened.replaceChildren();
    const focus = this.opened.contains(document.activeElement) ? focusPlace(this.opened) : null;
    const { scrollTop } = this.opened;
    this.opened.replaceChildren(...partPanel(this));
    this.opened.scrollTop = scrollTop;
    if (focus) (this.opened.querySelectorAll("button, h2")[focus.at] ?? this.opened.querySelector("h2"))?.focus();
    this.placeOpened();
    this.emphasise();
    for (const chip of this.chips.children) {
      chip.setAttribute("aria-expanded", String(chip.dataset.key === this.part));
    }
  }

  // Next to the part that it explains, so that the part stays visible.
  placeOpened() {
    if (!this.part || !this.place) return;
    const chip = this.chips.querySelector(`[data-key="${this.part === "scores" ? "softmax" : this.part}"]`);
    const x = chip ? Number(chip.dataset.at) : 0;
    if (this.place.turned) return this.placeBelow(x);
    const width = this.body.clientWidth;
    const right = x < width / 2;
    const beside = (right ? width - x : x) - 34; // pixels next to the part
    this.opened.style.width = `max(min(calc(36rem * var(--enc-type, 1)), 96%), min(46rem, ${beside}px))`;
    const away = Math.max(0, Math.min((right ? x : width - x) + 34, width - this.opened.offsetWidth));
    this.opened.style.left = right ? `${away}px` : "auto";
    this.opened.style.right = right ? "auto" : `${away}px`;
    fitPanel(this.opened, this.place.top - 10);
  }

  // A picture with columns has no room next to a part: what is open is below it.
  placeBelow(x) {
    Object.assign(this.opened.style, { left: "0", right: "auto", width: "" });
    fitPanel(this.opened, x + 26, x + 26);
    // A class, and a reader of a lesson, see question and result first.
    const isTold = document.querySelector(".enc-in-room, .st-key-lesson-panel");
    const isOwn = this.root.matches(":hover, :focus-within");
    if (isOwn || !isTold) this.opened.scrollIntoView({ block: "nearest" });
  }

  panelKey(event) {
    const offset = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const next = offset && neighbour(this, offset);
    if (event.key === "Escape") this.back();
    else if (next) this.open(next);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // A part that a link opened has no focus, and neither has one whose picture Streamlit has made again.
  keyOutside(key) {
    if (key === "Escape" && this.part && document.activeElement === document.body) this.back();
  }

  // Escape: to the part that this one is a detail of, else to the whole picture.
  back() {
    const above = levelAbove(this.part);
    above ? this.open(above) : this.close();
  }

  close() {
    this.part = "";
    this.ask({});
    this.drawOpened();
    this.emphasise();
    this.body.focus({ preventScroll: true });
  }

  // ---- The story ----

  play() {
    if (this.step >= this.story.length - 1) this.step = -1;
    this.show(this.step + 1);
    if (reducedMotion.matches) return;
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
    }, this.story[this.step].ms ?? readingTime(this.caption.textContent));
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.playButton.textContent = "▶ Play";
  }

  show(step) {
    this.step = Math.max(-1, Math.min(this.story.length - 1, step));
    this.root.dataset.step = String(this.step);
    const told = this.story[this.step];
    const changes = [this.header.effect, this.changed].filter(Boolean).join(" ");
    const otherwise = changes || COLOUR_KEY;
    this.caption.textContent = told ? `${this.step + 1} ${told.text}` : otherwise;
    this.scrubber.value = String(this.step + 1);
    this.scrubber.setAttribute(
      "aria-valuetext",
      told ? `${this.step + 1} of ${this.story.length}` : "before the story",
    );
    if (this.timer) this.playOn();
    showOutput(this.decoder, told);
    this.emphasise();
  }

  key(event) {
    const { labels, layer, layers, head } = this.header;
    const [vertical, horizontal] = [{ ArrowUp: -1, ArrowDown: 1 }, { ArrowLeft: -1, ArrowRight: 1 }];
    const [tokens, ways] = this.place.turned ? [horizontal, vertical] : [vertical, horizontal];
    const [along, across] = [tokens[event.key], ways[event.key]];
    if (event.target !== this.body && event.key !== "Escape") return false; // a button has its own keys
    if (along) {
      this.choose(Math.max(0, Math.min(labels.length - 1, (this.query ?? -along) + along)), null);
    } else if (across) {
      const next = Math.max(0, Math.min(layers - 1, layer + across));
      if (next !== layer) this.openLayer(next, head);
    } else if (event.key === "Enter" && this.query !== null) {
      this.choose(this.query, this.strongestKey());
    } else if (event.key === "Escape") {
      if (!this.part && !this.hovered && this.step < 0) return false;
      this.hover(null);
      this.part ? this.back() : this.show(-1);
    } else return false;
    return true;
  }

  destroy() {
    if (this.main) [this.next, this.heads, this.legend, this.playOutput].forEach((element) => element.remove());
    else this.pause();
    this.decoder?.destroy();
    clearTimeout(this.asked);
    super.destroy();
  }
}

// "layers.5.after_ffn" -> "after layer 5".
function stageName(stage, header) {
  const [, layer, sublayer] = stage.match(/^layers\.(\d+)\.after_(\w+)$/) ?? [];
  const within = { attention: "attention in ", cross: "cross-attention in ", ffn: "the FFN in " };
  if (layer) return `after ${sublayersOf(header).at(-1) === sublayer ? "" : within[sublayer]}layer ${layer}`;
  return stage === "output" ? withNorm("after the last LayerNorm", header) : `at the ${stage}`;
}

// Which of the buttons of a panel has the keyboard's focus, to give it back after the numbers have changed.
function focusPlace(panel) {
  return { at: [...panel.querySelectorAll("button, h2")].indexOf(document.activeElement) };
}
