// The formulas of encoder/explain/latex.py as MathML, which browsers typeset themselves.

const MATHML = "http://www.w3.org/1998/Math/MathML";
const SIGNS = {
  cdot: "·",
  sum: "∑",
  alpha: "α",
  beta: "β",
  theta: "θ",
  mu: "μ",
  sigma: "σ",
  tau: "τ",
  varepsilon: "ε",
  infty: "∞",
  leftarrow: "←",
  to: "→",
  Longleftrightarrow: "⟺",
  odot: "⊙",
  Vert: "‖",
  lVert: "‖",
  rVert: "‖",
  dots: "…",
  cdots: "⋯",
  in: "∈",
  "{": "{",
  "}": "}",
  bmod: "mod",
};
const GREEK = /^[α-ω]$/;
const WORDS = ["sin", "cos", "tanh", "max", "exp", "log"];
const SPACES = { quad: "1em", qquad: "2em", ",": "0.17em", ";": "0.28em", "!": "0", " ": "0.3em" };
const NAMED = { textbackslash: "\\", textasciicircum: "^", textasciitilde: "~", textasciigrave: "`" };
const PIECE = /\\[a-zA-Z]+|\\.|[0-9]+(?:\.[0-9]+)?|[\s\S]/gu;

function math(tag, attributes, ...children) {
  const element = document.createElementNS(MATHML, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const row = (nodes) => nodes.length === 1 ? nodes[0] : math("mrow", {}, ...nodes);

// A formula as a <math> element. Colours of q, k and v are classes: "enc-q".
export function formula(latex) {
  const reader = { pieces: latex.match(PIECE) ?? [], at: 0 };
  return math("math", { display: "block" }, ...nodesUntil(reader, () => false));
}

function nodesUntil(reader, ends) {
  const nodes = [];
  while (reader.at < reader.pieces.length && !ends(reader.pieces[reader.at])) {
    const piece = reader.pieces[reader.at];
    if (/^\s$/u.test(piece)) reader.at++;
    else if (piece === "_" || piece === "^") nodes.push(scripted(reader, nodes.pop()));
    else nodes.push(node(reader));
  }
  return nodes;
}

// The base with the index and the exponent that follow it.
function scripted(reader, base = math("mrow", {})) {
  const found = {};
  while (["_", "^"].includes(reader.pieces[reader.at])) found[reader.pieces[reader.at++]] = argument(reader);
  const under = ["∑", "max"].includes(base.textContent);
  const parts = ["_", "^"].filter((sign) => found[sign]).map((sign) => found[sign]);
  const [both, below, above] = under ? ["munderover", "munder", "mover"] : ["msubsup", "msub", "msup"];
  return math(parts.length === 2 ? both : found._ ? below : above, {}, base, ...parts);
}

function argument(reader) {
  while (reader.pieces[reader.at] === " ") reader.at++;
  return node(reader);
}

// The letters of the next group in braces, as they are.
function raw(reader) {
  let depth = 0;
  let text = "";
  do {
    const piece = reader.pieces[reader.at++];
    depth += piece === "{" ? 1 : piece === "}" ? -1 : 0;
    text += piece;
  } while (depth && reader.at < reader.pieces.length);
  return text.slice(1, -1);
}

const unescaped = (text) =>
  text.replace(/\\([a-zA-Z]+) ?|\\(.)|[{}]/g, (_, name, letter) => NAMED[name] ?? letter ?? "");

function node(reader) {
  const piece = reader.pieces[reader.at++];
  if (piece === "{") {
    const nodes = nodesUntil(reader, (next) => next === "}");
    reader.at++;
    return row(nodes);
  }
  if (piece.startsWith("\\")) return command(reader, piece.slice(1));
  if (/^[0-9]/.test(piece)) return math("mn", {}, piece);
  if (/^\p{L}$/u.test(piece)) return math("mi", {}, piece);
  return math("mo", "[]()|".includes(piece) ? { stretchy: "false" } : {}, piece === "-" ? "−" : piece);
}

function command(reader, name) {
  if (name === "frac" || name === "tfrac") {
    const over = argument(reader);
    return math("mfrac", {}, over, argument(reader));
  }
  if (name === "sqrt") return math("msqrt", {}, argument(reader));
  if (name === "hat") return math("mover", { accent: "true" }, argument(reader), math("mo", {}, "^"));
  if (name === "text") return math("mtext", {}, unescaped(raw(reader)).replace(/^ | $/g, "\u00a0"));
  if (name === "mathrm") return math("mi", { mathvariant: "normal" }, raw(reader));
  if (name === "textcolor") {
    const role = raw(reader);
    return math("mrow", { class: `enc-${role}` }, argument(reader));
  }
  if (name === "underset") {
    const below = argument(reader);
    return math("munder", {}, argument(reader), below);
  }
  if (name === "begin") return table(reader, raw(reader));
  if (name in SPACES) return math("mspace", { width: SPACES[name] });
  if (WORDS.includes(name)) return math("mi", { mathvariant: "normal" }, name);
  const sign = SIGNS[name];
  if (!sign) return math("mrow", {}); // \textstyle and what else changes no sign
  return math(GREEK.test(sign) ? "mi" : "mo", {}, sign);
}

// Rows of an environment; `aligned` alternates right and left.
function table(reader, kind) {
  const rows = [[]];
  const ends = (piece) => ["&", "\\\\", "\\end"].includes(piece);
  while (reader.at < reader.pieces.length) {
    rows.at(-1).push(math("mtd", {}, ...nodesUntil(reader, ends)));
    const end = reader.pieces[reader.at++];
    if (end === "\\end") break;
    if (end === "\\\\") {
      rows.push([]);
      if (reader.pieces[reader.at] === "[") reader.at = reader.pieces.indexOf("]", reader.at) + 1;
    }
  }
  raw(reader);
  const body = math(
    "mtable",
    { class: `enc-${kind}`, displaystyle: "true" },
    ...rows.map((cells) => math("mtr", {}, ...cells)),
  );
  const [left, right] = { pmatrix: "()", bmatrix: "[]" }[kind] ?? [];
  return left ? math("mrow", {}, math("mo", {}, left), body, math("mo", {}, right)) : body;
}
