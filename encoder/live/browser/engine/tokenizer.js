// Text -> tokens, by the parts of a tokenizer.json, as the library `tokenizers` does it: added tokens are cut out, what is
// between them is normalised, split into words, and each word into pieces. `encoder/live/tokenizer.py` refuses any part
// that is not here.
import { BYTE_CHARACTERS, splitter } from "./splitting.js";
import { normaliser } from "./normalising.js";
import { MODELS } from "./pieces.js";

const SPACES_BEFORE = /\p{White_Space}*$/u;
const SPACES_AFTER = /^\p{White_Space}*/u;
const IN_WORD = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]/u;
const VISIBLE = { " ": "␣", "\n": "⏎", "\r": "⏎", "\t": "⇥", "\u00a0": "␣", "\u3000": "␣" };
const BYTE_OF = new Map(BYTE_CHARACTERS.map((character, byte) => [character, byte]));

export class Tokenizer {
  // about: of `encoder/live/tokenizer.py`.
  constructor(about) {
    this.about = about;
    this.normalised = normaliser(about.normalizer);
    this.split = splitter(about.pre_tokenizer);
    this.model = new MODELS[about.model.type](about.model);
    this.raw = seeker(about.added.filter((token) => !token.normalized));
    this.changed = seeker(about.added.filter((token) => token.normalized));
    this.names = this.model.names.slice();
    for (const { id, content } of about.added) this.names[id] = content;
  }

  // [{id, label, special}] with the special tokens around the text; at most `most`.
  tokens(text, most) {
    const { before, after, cut } = this.about;
    const found = [];
    for (const part of cutOut(text.replace(/\p{Surrogate}/gu, "?"), this.raw)) {
      if (part.token) found.push(asToken(part.token));
      else found.push(...this.ofPart(part.text));
    }
    const room = most - before.length - after.length;
    const kept = found.length <= room ? found : cut === "left" ? found.slice(-room) : found.slice(0, room);
    const special = (ends) => ends.map(([id, label]) => ({ id, label, special: true }));
    return [...special(before), ...kept, ...special(after)];
  }

  ofPart(text) {
    const found = [];
    for (const part of cutOut(this.normalised(text), this.changed)) {
      if (part.token) found.push(asToken(part.token));
      else for (const word of this.split(part.text)) found.push(...this.ofWord(word));
    }
    return found;
  }

  // word: {text, source}: source is the text before its bytes became characters, with `added` characters before it.
  ofWord(word) {
    let at = 0; // bytes of the word
    return this.model.pieces(word.text).map(({ id, piece }) => {
      const label = this.about.bytes ? byteLabel(piece, word, at) : plainLabel(piece);
      at += piece.length;
      return { id, label };
    });
  }
}

const asToken = ({ id, content }) => ({ id, label: plainLabel(content) });

// What a person reads of a piece; encoder/inputs/token_labels.py has the same rules.
function plainLabel(piece) {
  const text = piece.replaceAll("▁", " ");
  return trimmed(text) || Array.from(text, (one) => VISIBLE[one] ?? one).join("");
}

const trimmed = (text) => text.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, "");

// A piece of bytes as text; a part of a character shows the characters that it covers, and "…".
function byteLabel(piece, { source, added }, start) {
  if (source === undefined || !Array.from(piece).every((one) => BYTE_OF.has(one))) return plainLabel(piece);
  const bytes = Uint8Array.from(piece, (one) => BYTE_OF.get(one));
  try {
    return plainLabel(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    let end = 0;
    const covered = Array.from(source).filter((character, at) => {
      const begin = end;
      end += new TextEncoder().encode(character).length;
      return at >= added && begin < start + bytes.length && end > start;
    });
    return `${plainLabel(covered.join(""))}…`;
  }
}

// ---- Added tokens ----

// {pattern, tokens}: the longest of these tokens at each place.
function seeker(tokens) {
  const sought = new Map(tokens.filter((token) => token.sought).map((token) => [token.sought, token]));
  const escaped = [...sought.keys()].sort((a, b) => b.length - a.length)
    .map((text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"));
  return { pattern: escaped.length ? new RegExp(escaped.join("|"), "gu") : null, sought };
}

// [{text} or {token}, ...]: a text cut at its added tokens, without empty parts.
/** @returns {{ text?: string, token?: any }[]} */
function cutOut(text, { pattern, sought }) {
  /** @type {{ text?: string, token?: any }[]} */
  const parts = [];
  let from = 0;
  const upTo = (end) => end > from && parts.push({ text: text.slice(from, end) });
  for (const match of pattern ? text.matchAll(pattern) : []) {
    const token = sought.get(match[0]);
    let [start, end] = [match.index, match.index + match[0].length];
    if (start < from) continue;
    if (
      token.single_word && (isWord(Array.from(text.slice(0, start)).at(-1)) || isWord(Array.from(text.slice(end))[0]))
    ) {
      continue;
    }
    if (token.lstrip) start = Math.max(from, start - SPACES_BEFORE.exec(text.slice(0, start))[0].length);
    if (token.rstrip) end += SPACES_AFTER.exec(text.slice(end))[0].length;
    upTo(start);
    parts.push({ token });
    from = end;
  }
  upTo(text.length);
  return parts;
}

const isWord = (character) => character !== undefined && IN_WORD.test(character);
