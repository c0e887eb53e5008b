// How a tokenizer changes a text before it is split: a function for each kind of normaliser of the library `tokenizers`.
import { CHANGED } from "./unicode.js";

const isMark = (letter) => /\p{Mn}/u.test(letter) !== CHANGED.mark.test(letter);
const isCombining = (letter) => /\p{M}/u.test(letter) !== CHANGED.combining.test(letter);
const isControl = (letter) => /[\p{Cc}\p{Cf}\p{Co}]/u.test(letter) !== CHANGED.control.test(letter);
const KEPT_CONTROL = /[\t\n\r]/;
const SPACE = /\p{White_Space}/u;
// As the library has it, without 2B820 to 2B91F.
const CHINESE =
  /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2B81F}\u{2B920}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/u;
const without = (text, is) => Array.from(text).filter((letter) => !is(letter)).join("");

// A form of Unicode, in which some characters stay as they are.
const inForm = (form, kept) => {
  const parts = new RegExp(`(${kept.source})`, "u");
  return (text) => text.split(parts).map((part, at) => at % 2 ? part : part.normalize(form)).join("");
};
const decomposed = inForm("NFD", CHANGED.NFD);

// Each letter by itself: a whole text would get the final form of sigma.
const lowered = (text) => Array.from(text, (letter) => letter.toLowerCase()).join("");

// BERT's: control characters go, white space is one kind of space, Chinese characters are words by themselves.
function ofBert({ clean_text: cleans, handle_chinese_chars: parts, strip_accents: strips, lowercase }) {
  const cleaned = (text) =>
    Array.from(text, (one) => isControl(one) && !KEPT_CONTROL.test(one) ? "" : SPACE.test(one) ? " " : one).join("");
  return (text) => {
    let found = cleans ? cleaned(text) : text;
    if (parts) found = Array.from(found, (one) => CHINESE.test(one) ? ` ${one} ` : one).join("");
    if (strips ?? lowercase) found = without(decomposed(found), isMark);
    return lowercase ? lowered(found) : found;
  };
}

// SentencePiece's table: a trie over bytes (Yata et al. 2007, darts-clone) and the texts that replace what is found.
function ofTable({ precompiled_charsmap: encoded }) {
  const bytes = Uint8Array.from(atob(encoded), (letter) => letter.charCodeAt(0));
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const units = new Uint32Array(bytes.slice(4, 4 + size).buffer);
  const texts = bytes.subarray(4 + size);
  const utf8 = new TextEncoder();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const offset = (unit) => (unit >>> 10) << ((unit & 512) >>> 6);
  // The replacement of the shortest beginning of these bytes that is in the table, or null.
  const replacement = (key) => {
    let at = offset(units[0]);
    for (const byte of key) {
      if (byte === 0) return null;
      at ^= byte;
      const unit = units[at];
      if (unit === undefined || ((unit & 0x800000FF) >>> 0) !== byte) return null;
      at ^= offset(unit);
      if ((unit >>> 8) & 1) {
        const start = units[at] & 0x7FFFFFFF;
        return decoder.decode(texts.subarray(start, texts.indexOf(0, start)));
      }
    }
    return null;
  };
  const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });
  return (text) => {
    let found = "";
    for (const { segment } of graphemes.segment(text)) {
      const whole = utf8.encode(segment);
      const replaced = whole.length < 6 ? replacement(whole) : null;
      found += replaced ?? Array.from(segment, (one) => replacement(utf8.encode(one)) ?? one).join("");
    }
    return found;
  };
}

const NORMALISERS = {
  Sequence: ({ normalizers }) => {
    const steps = normalizers.map(normaliser);
    return (text) => steps.reduce((changed, step) => step(changed), text);
  },
  BertNormalizer: ofBert,
  Lowercase: () => lowered,
  NFC: () => (text) => text.normalize("NFC"),
  NFD: () => decomposed,
  NFKC: () => inForm("NFKC", CHANGED.NFKD),
  NFKD: () => inForm("NFKD", CHANGED.NFKD),
  StripAccents: () => (text) => without(text, isCombining),
  Strip: ({ strip_left: left, strip_right: right }) => (text) => {
    const begun = left ? text.replace(/^\p{White_Space}+/u, "") : text;
    return right ? begun.replace(/\p{White_Space}+$/u, "") : begun;
  },
  Prepend: ({ prepend }) => (text) => text && prepend + text,
  Replace: ({ pattern: { String: part, Regex: expression }, content }) => {
    const sought = expression === undefined ? part : new RegExp(expression, "gu");
    return (text) => text.replaceAll(sought, () => content);
  },
  Precompiled: ofTable,
};

// What a tokenizer.json calls its normaliser -> a function of a text.
export const normaliser = (about) => about ? NORMALISERS[about.type](about) : (text) => text;
