// Makes the lines and the shaded text of a report interactive: pointer, arrow keys or a click show one token alone.
import { FAINTEST, legendStart, lineStyle, make, shadeStrength, strongest, sum, threeDigits } from "./drawing.js";

const LINES_HELP =
  "Point at a token, click it or use the arrow keys: its lines alone, with their numbers. Escape shows all again.";
const TEXT_HELP =
  "Point at a word, click it or use the arrow keys: the text is shaded by that word. Escape shows all again.";

// The weights [head, query, key]: 32-bit numbers, or 16-bit ones that mean 0 to 1.
function decode({ weights, whole }) {
  const { buffer } = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
  return whole ? Float32Array.from(new Uint16Array(buffer), (value) => value / 65535) : new Float32Array(buffer);
}

// What both pictures share. A token is [side, place]. `show` takes a token, or null for the picture as it was at first.
class Interactive {
  constructor(root, data, body, tokens, help) {
    Object.assign(this, { root, data, body, tokens, help, weights: decode(data), selected: null, at: null });
    const attributes = (token) => ["class", "style", "title"].map((name) => [name, token.getAttribute(name)]);
    this.before = tokens.flat().map((token) => [token, attributes(token)]);
    this.sentence = make("p", { class: "caption seen-says", "aria-live": "polite" }, help);
    root.append(this.sentence);
    body.setAttribute("tabindex", "0");
    body.setAttribute("role", "application");
    body.setAttribute("aria-label", help);
    body.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "touch") this.show(this.tokenUnder(event) ?? this.selected);
    });
    body.addEventListener("pointerleave", () => this.show(this.selected));
    body.addEventListener("click", (event) => this.select(this.tokenUnder(event)));
    body.addEventListener("keydown", (event) => this.onKey(event));
  }

  weight(head, i, j) {
    return this.weights[(head * this.data.shape[1] + i) * this.data.shape[2] + j];
  }

  tokenUnder(event) {
    const element = event.target.closest(".seen-side div, .seen-text p span");
    const side = this.tokens.findIndex((tokens) => tokens.includes(element));
    return side < 0 ? null : [side, this.tokens[side].indexOf(element)];
  }

  show(token) {
    if (String(token) === String(this.at)) return;
    this.at = token;
    for (const [element, attributes] of this.before) {
      for (const [name, value] of attributes) {
        if (value === null) element.removeAttribute(name);
        else element.setAttribute(name, value);
      }
    }
    this.restore();
    this.sentence.textContent = token ? this.draw(...token) : this.help;
    this.sentence.classList.toggle("looks", Boolean(token));
  }

  select(token) {
    this.selected = String(token) === String(this.selected) ? null : token;
    this.show(this.selected);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [side, place] = this.at ?? [0, -1];
    const to = this.next(event.key, side, place);
    if (to) this.show([to[0], Math.max(0, Math.min(this.tokens[to[0]].length - 1, to[1]))]);
    else if ([" ", "Enter"].includes(event.key)) this.select(this.at);
    else if (event.key === "Escape") this.select(null);
    else return;
    if (this.at) this.tokens[this.at[0]][this.at[1]].scrollIntoView({ block: "nearest" });
    event.preventDefault();
  }

  // The token that a key goes to; it may lie beyond the ends.
  next(key, side, place) {
    const moves = { ArrowUp: [side, place - 1], ArrowDown: [side, place + 1], Home: [side, 0], End: [side, Infinity] };
    return { ...moves, ...this.sideways(side, place) }[key];
  }
}

class Lines extends Interactive {
  constructor(root, data) {
    const tokens = ["from", "to"].map((side) => [...root.querySelectorAll(`.seen-${side} > div`)]);
    super(root, data, root.querySelector(".seen-body"), tokens, LINES_HELP);
    this.svg = this.body.querySelector("svg");
    this.summary = root.querySelector(".seen-top em");
    this.row = parseFloat(root.querySelector(".seen").style.getPropertyValue("--r"));
    this.first = [this.svg, this.summary, ...tokens.flat()].map((element) => [element, element.innerHTML]);
  }

  sideways(_, place) {
    return { ArrowLeft: [0, Math.max(0, place)], ArrowRight: [1, Math.max(0, place)] };
  }

  restore() {
    for (const [element, content] of this.first) element.innerHTML = content;
  }

  draw(side, place) {
    const { heads, names } = this.data;
    const weight = (head, other) => side === 0 ? this.weight(head, place, other) : this.weight(head, other, place);
    const weights = this.tokens[1 - side].map((_, other) => heads.map((_, head) => weight(head, other)));
    this.svg.innerHTML = this.paths(side, place, weights);
    const means = weights.map((values) => sum(values) / heads.length);
    const largest = Math.max(...means, 1e-9);
    this.tokens[side].forEach((row, other) => this.writeName(row, other === place));
    this.tokens[1 - side].forEach((row, other) => this.writeWeights(row, weights[other], means[other], largest));
    const mean = heads.length > 1 ? `, mean of ${heads.length} heads` : "";
    this.summary.textContent = `Numbers: 1 ${side === 0 ? "query" : "key"}${mean}.`;
    return strongest(names[side][place], side === 0, means, names[1 - side]);
  }

  // The lines of one token, the strongest on top.
  paths(side, place, weights) {
    const least = Math.max(this.data.least, FAINTEST);
    const lines = weights.flatMap((values, other) => values.map((weight, head) => ({ weight, head, other })));
    const drawn = lines.filter(({ weight }) => weight >= least).sort((a, b) => a.weight - b.weight);
    const y = (token) => (token + 0.5) * this.row;
    return drawn.map(({ weight, head, other }) => {
      const [from, to] = side === 0 ? [place, other] : [other, place];
      const [opacity, width] = lineStyle(weight, true);
      const stroke = `stroke="${this.data.colours[head]}" stroke-opacity="${opacity}" stroke-width="${width}"`;
      return `<path d="M0 ${y(from)}L100 ${y(to)}" ${stroke}/>`;
    }).join("");
  }

  writeName(row, isSelected) {
    row.className = isSelected ? "selected" : "";
    row.removeAttribute("style");
    row.replaceChildren(row.querySelector("b"));
  }

  // A square a head, the token, and the mean as a number and a bar.
  writeWeights(row, values, mean, largest) {
    const { colours, heads } = this.data;
    row.className = "";
    row.setAttribute("style", `--s: ${mean / largest}`);
    const lines = heads.map((head, k) => `${head ? `${head}: ` : ""}${threeDigits(values[k])}`);
    row.title = [row.title, ...lines].join("\n");
    const parts = [row.querySelector("b"), make("u", {}, threeDigits(mean))];
    if (values.length > 1) {
      const share = (value) => `${100 * Math.min(1, value)}%`;
      const colour = (value, k) => `background:color-mix(in srgb,${colours[k]} ${share(value)},var(--s-faint))`;
      const squares = values.map((value, k) => make("i", { style: colour(value, k) }));
      parts.unshift(make("span", { class: `seen-squares${values.length > 4 ? " many" : ""}` }, ...squares));
    }
    row.replaceChildren(...parts);
  }
}

class Text extends Interactive {
  constructor(root, data) {
    const spans = [...root.querySelectorAll(".seen-text p span")];
    const tokens = [];
    for (const [k, unit] of data.order.entries()) tokens[unit] = spans[k];
    super(root, data, root.querySelector(".seen-text"), [tokens], TEXT_HELP);
    const [title, scale] = root.querySelector(".seen-top").children;
    this.texts = [title.firstChild, scale.firstChild, scale.lastChild];
    this.first = this.texts.map((text) => text.data);
  }

  sideways(side, place) {
    const paragraph = this.tokens[0][Math.max(0, place)].parentElement;
    const by = getComputedStyle(paragraph).direction === "rtl" ? -1 : 1;
    return { ArrowLeft: [side, place - by], ArrowRight: [side, place + by] };
  }

  write(texts) {
    for (const [k, text] of texts.entries()) this.texts[k].data = text;
  }

  restore() {
    this.write(this.first);
  }

  draw(_, unit) {
    const { names, rows, columns, direction, scale_to_max: scaleToMax, log, inks } = this.data;
    const isTo = direction === "to";
    const [source, targets] = isTo ? [rows[unit], columns] : [columns[unit], rows];
    if (source < 0) return `${names[unit]} is not shown as a ${isTo ? "query" : "key"}.`;
    const weight = (target) => isTo ? this.weight(0, source, target) : this.weight(0, target, source);
    const values = targets.map((target) => target < 0 ? 0 : weight(target));
    const top = scaleToMax ? Math.max(...values) || 1 : 1;
    this.write(["attention weight", legendStart(top, log), threeDigits(top)]);
    this.tokens[0].forEach((element, other) => {
      const share = 100 * shadeStrength(values[other], top, log);
      const special = element.classList.contains("special") ? " special" : "";
      element.className = `${inks[Math.round(share)]}${other === unit ? " selected" : ""}${special}`;
      element.style.setProperty("--a", `${share}%`);
      const [from, to] = isTo ? [unit, other] : [other, unit];
      const pair = `${names[from]} → ${names[to]}: ${threeDigits(values[other])}`;
      element.title = targets[other] < 0 ? names[other] : pair;
    });
    return strongest(names[unit], isTo, values, names);
  }
}

const KINDS = { lines: Lines, text: Text };
for (const root of document.querySelectorAll(".live")) {
  const data = JSON.parse(document.getElementById(root.dataset.source).textContent);
  new KINDS[data.kind](root, data);
}
