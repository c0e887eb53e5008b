// How a tokenizer splits a text into words: a function for each kind of pre-tokenizer of the library `tokenizers`.
//
// A word is {text, source, added}; source: what the bytes of a byte-level word are, `added` characters of it not from
// the text.
import { CHANGED } from "./unicode.js";

const isPunctuation = (letter) =>
  /[!-/:-@[-`{-~]/.test(letter) || /\p{P}/u.test(letter) !== CHANGED.punctuation.test(letter);
const SPACES = /\p{White_Space}+/u;
// GPT-2's: words, numbers and other characters, each with the space before it.
const GPT2 =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

// The character of each byte in byte-level vocabularies (Radford et al. 2019).
export const BYTE_CHARACTERS = byteCharacters();

function byteCharacters() {
  const isPrintable = (byte) => byte > 32 && byte < 127 || byte > 160 && byte < 173 || byte > 173;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++));
}

// A word as its parts between punctuation, and each sign.
const atPunctuation = (word) =>
  Array.from(word).reduce((parts, letter) => {
    if (isPunctuation(letter)) parts.push(letter, "");
    else parts[parts.length - 1] += letter;
    return parts;
  }, [""]);

const asWords = (parts) => parts.filter(Boolean).map((text) => ({ text }));

function byteLevel({ add_prefix_space: spaced, use_regex: splits }) {
  const utf8 = new TextEncoder();
  return ({ text }) => {
    const isSpaced = spaced && !text.startsWith(" ");
    const whole = isSpaced ? ` ${text}` : text;
    return (splits ?? true ? whole.match(GPT2) ?? [] : [whole]).map((source, at) => ({
      text: Array.from(utf8.encode(source), (byte) => BYTE_CHARACTERS[byte]).join(""),
      source,
      added: isSpaced && at === 0 ? 1 : 0,
    }));
  };
}

function metaspace({ replacement: mark, prepend_scheme: scheme, split }) {
  return ({ text }) => {
    const marked = text.replaceAll(" ", mark);
    const whole = scheme === "always" && !marked.startsWith(mark) ? mark + marked : marked;
    return asWords(split ?? true ? whole.split(new RegExp(`(?=${mark})`, "u")) : [whole]);
  };
}

const SPLITTERS = {
  Sequence: ({ pretokenizers }) => {
    const steps = pretokenizers.map((one) => SPLITTERS[one.type](one));
    return (word) => steps.reduce((parts, step) => parts.flatMap(step), [word]);
  },
  BertPreTokenizer: () => ({ text }) => asWords(text.split(SPACES).flatMap(atPunctuation)),
  WhitespaceSplit: () => ({ text }) => asWords(text.split(SPACES)),
  ByteLevel: byteLevel,
  Metaspace: metaspace,
};

// What a tokenizer.json calls its pre-tokenizer -> a function of a text.
export function splitter(about) {
  const split = about ? SPLITTERS[about.type](about) : (word) => [word];
  return (text) => split({ text });
}
