// Lets the lines and the shaded text of a report answer: pointing at a token, the arrow keys or a click look at it alone.
"use strict";

const FAINTEST = 1 / 255;   // as in lines.py and shaded.py, which draw the picture as it is at first
const [DECADES, EASE] = [4, 0.6];
const threeDigits = (value) => String(Number(value.toPrecision(3)));

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// The weights [head, query, key]: 32-bit numbers, or 16-bit ones that stand for 0 to 1.
function numbers({ weights, whole }) {
  const { buffer } = Uint8Array.from(atob(weights), (letter) => letter.charCodeAt(0));
  return whole ? Float32Array.from(new Uint16Array(buffer), (value) => value / 65535) : new Float32Array(buffer);
}

// What both pictures share. A token is [side, place]; `show` looks at one, or with null brings back the picture as it was.
class Live {
  constructor(root, data, body, tokens, hint) {
    Object.assign(this, { root, data, body, tokens, hint, weights: numbers(data), held: null, at: null });
    this.before = tokens.flat().map((token) => [token, ["class", "style", "title"].map((name) => [name, token.getAttribute(name)])]);
    this.says = make("p", { class: "caption seen-says", "aria-live": "polite" }, hint);
    root.append(this.says);
    for (const [name, value] of Object.entries({ tabindex: "0", role: "application", "aria-label": hint })) body.setAttribute(name, value);
    body.addEventListener("pointerover", (event) => event.pointerType !== "touch" && this.show(this.under(event) ?? this.held));
    body.addEventListener("pointerleave", () => this.show(this.held));
    body.addEventListener("click", (event) => this.hold(this.under(event)));
    body.addEventListener("keydown", (event) => this.onKey(event));
  }

  weight(head, i, j) { return this.weights[(head * this.data.shape[1] + i) * this.data.shape[2] + j]; }

  under(event) {
    for (const [side, tokens] of this.tokens.entries()) {
      const place = tokens.indexOf(event.target.closest(".seen-side div, .seen-text p span"));
      if (place >= 0) return [side, place];
    }
    return null;
  }

  show(token) {
    if (String(token) === String(this.at)) return;
    this.at = token;
    for (const [element, attributes] of this.before) {
      for (const [name, value] of attributes) value === null ? element.removeAttribute(name) : element.setAttribute(name, value);
    }
    this.restore();
    this.says.textContent = token ? this.look(...token) : this.hint;
    this.says.classList.toggle("looks", Boolean(token));
  }

  hold(token) {
    this.held = String(token) === String(this.held) ? null : token;
    this.show(this.held);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [side, place] = this.at ?? [0, -1];
    const backwards = getComputedStyle(this.tokens[side][Math.max(0, place)].parentElement).direction === "rtl";
    const to = this.step(event.key, side, place, backwards);
    if (to) this.show([to[0], Math.max(0, Math.min(this.tokens[to[0]].length - 1, to[1]))]);
    else if (event.key === "Enter" || event.key === " ") this.hold(this.at);
    else if (event.key === "Escape") this.hold(null);
    else return;
    if (this.at) this.tokens[this.at[0]][this.at[1]].scrollIntoView({ block: "nearest" });
    event.preventDefault();
  }

  // "the (4) attends most to mat 0.31, cat 0.2, on 0.1."
  most(name, verb, values, names) {
    const strongest = values.map((value, place) => [value, place]).filter(([value]) => value > 0).sort((a, b) => b[0] - a[0]).slice(0, 3);
    return `${name} ${verb} ${strongest.map(([value, place]) => `${names[place]} ${threeDigits(value)}`).join(", ") || "nothing shown"}.`;
  }
}

class Lines extends Live {
  constructor(root, data) {
    const tokens = ["from", "to"].map((side) => [...root.querySelectorAll(`.seen-${side} > div`)]);
    super(root, data, root.querySelector(".seen-body"), tokens,
      "Point at a token, click it or use the arrow keys: its lines alone, with their numbers. Escape shows all again.");
    this.svg = this.body.querySelector("svg");
    this.summary = root.querySelector(".seen-top em");
    this.row = parseFloat(root.querySelector(".seen").style.getPropertyValue("--r"));
    this.first = [this.svg.innerHTML, this.summary.textContent, tokens.map((rows) => rows.map((row) => row.innerHTML))];
  }

  step(key, side, place) {
    return { ArrowUp: [side, place - 1], ArrowDown: [side, place + 1], ArrowLeft: [0, Math.max(0, place)], ArrowRight: [1, Math.max(0, place)],
      Home: [side, 0], End: [side, Infinity] }[key];
  }

  restore() {
    const [lines, summary, rows] = this.first;
    this.svg.innerHTML = lines;
    this.summary.textContent = summary;
    this.tokens.forEach((side, k) => side.forEach((row, place) => { row.innerHTML = rows[k][place]; }));
  }

  look(side, place) {
    const { heads, colours, names, least } = this.data;
    const sums = this.tokens[1 - side].map((_, other) => heads.map((_, head) => (
      side === 0 ? this.weight(head, place, other) : this.weight(head, other, place))));
    const lines = sums.flatMap((values, other) => values.map((weight, head) => ({ weight, head, other })))
      .filter(({ weight }) => weight >= Math.max(least, FAINTEST)).sort((a, b) => a.weight - b.weight);
    const y = (token) => token * this.row + this.row / 2;
    this.svg.innerHTML = lines.map(({ weight, head, other }) => `<path d="M0 ${y(side === 0 ? place : other)}L100 ${y(side === 0 ? other : place)}"
      stroke="${colours[head]}" stroke-opacity="${Math.max(0.06, weight ** 0.75)}" stroke-width="${Math.max(1, 0.6 + 2.6 * weight)}"/>`).join("");
    const means = sums.map((values) => values.reduce((sum, value) => sum + value, 0) / heads.length);
    const largest = Math.max(...means, 1e-9);
    for (const [k, rows] of this.tokens.entries()) {
      rows.forEach((row, other) => this.write(row, k === side ? null : sums[other], means[other], largest, k === side && other === place));
    }
    this.summary.textContent = `Numbers: 1 ${side === 0 ? "query" : "key"}${heads.length > 1 ? `, mean of ${heads.length} heads` : ""}.`;
    return this.most(names[side][place], side === 0 ? "attends most to" : "is attended to most by", means, names[1 - side]);
  }

  // A row with its weights: a square a head, its name, the mean as number and bar; without weights its name alone.
  write(row, values, mean, largest, chosen) {
    const { colours, heads } = this.data;
    row.className = chosen ? "held" : "";
    row.removeAttribute("style");
    const name = row.querySelector("b");
    if (!values) return row.replaceChildren(name);
    row.style.setProperty("--s", mean / largest);
    row.title += `\n${heads.map((head, k) => `${head ? `${head}: ` : ""}${threeDigits(values[k])}`).join("\n")}`;
    const squares = values.map((value, k) => make("i", { style: `background:color-mix(in srgb,${colours[k]} ${100 * Math.min(1, value)}%,var(--s-faint))` }));
    const many = make("span", { class: `seen-squares${values.length > 4 ? " many" : ""}` }, ...squares);
    return row.replaceChildren(...(values.length > 1 ? [many] : []), name, make("u", {}, threeDigits(mean)));
  }
}

class Text extends Live {
  constructor(root, data) {
    const spans = [...root.querySelectorAll(".seen-text p span")];
    const tokens = [];
    data.order.forEach((unit, k) => { tokens[unit] = spans[k]; });
    super(root, data, root.querySelector(".seen-text"), [tokens],
      "Point at a word, click it or use the arrow keys: the text is shaded by that word. Escape brings the shades back.");
    const top = root.querySelector(".seen-top");
    [this.title, this.scale] = [top.firstChild, top.children[1]];
    this.first = [this.title.textContent, this.scale.firstChild.data, this.scale.lastChild.data];
  }

  step(key, side, place, backwards) {
    const by = backwards ? -1 : 1;
    return { ArrowUp: [0, place - 1], ArrowDown: [0, place + 1], ArrowLeft: [0, place - by], ArrowRight: [0, place + by], Home: [0, 0], End: [0, Infinity] }[key];
  }

  restore() {
    [this.title.textContent, this.scale.firstChild.data, this.scale.lastChild.data] = this.first;
  }

  strength(value, top) {
    if (!(value > 0)) return 0;
    const share = Math.min(1, value / top);
    return this.data.log ? Math.max(0, 1 + Math.log10(share) / DECADES) : share ** EASE;
  }

  look(_, unit) {
    const { names, rows, columns, direction, scale_to_max, log, inks } = this.data;
    const [source, targets] = direction === "to" ? [rows[unit], columns] : [columns[unit], rows];
    if (source < 0) return `${names[unit]} is not shown as a ${direction === "to" ? "query" : "key"}.`;
    const values = targets.map((target) => (target < 0 ? 0 : direction === "to" ? this.weight(0, source, target) : this.weight(0, target, source)));
    const top = scale_to_max ? Math.max(...values) || 1 : 1;
    this.title.textContent = "attention weight";
    if (log) this.scale.firstChild.data = `≤ ${threeDigits(top / 10 ** DECADES)}`;
    this.scale.lastChild.data = threeDigits(top);
    this.tokens[0].forEach((element, other) => {
      const share = this.strength(values[other], top);
      const special = element.classList.contains("special") ? " special" : "";
      element.className = `${inks[Math.round(100 * share)]}${other === unit ? " held" : ""}${special}`;
      element.style.setProperty("--a", `${100 * share}%`);
      const [from, to] = direction === "to" ? [unit, other] : [other, unit];
      element.title = targets[other] < 0 ? names[other] : `${names[from]} → ${names[to]}: ${threeDigits(values[other])}`;
    });
    return this.most(names[unit], direction === "to" ? "attends most to" : "is attended to most by", values, names);
  }
}

for (const root of document.querySelectorAll(".live")) {
  const data = JSON.parse(document.getElementById(root.dataset.source).textContent);
  new { lines: Lines, text: Text }[data.kind](root, data);
}
