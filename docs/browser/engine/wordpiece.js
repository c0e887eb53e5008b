// Text -> tokens, as BERT's tokenizers do it: clean, split at spaces and punctuation, then the longest known pieces.

const LONGEST_WORD = 100; // letters; a longer word is unknown
const CONTROL = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}]/u;
const SPACE = /[\t\n\r\p{Zs}]/u;
const PUNCTUATION = /[!-/:-@[-`{-~]|\p{P}/u;
const CHINESE = /[\u4E00-\u9FFF\u3400-\u4DBF\u{20000}-\u{2A6DF}\u{2A700}-\u{2CEAF}\uF900-\uFAFF\u{2F800}-\u{2FA1F}]/u;

export class WordPiece {
  // vocabulary: token -> id; lowercase: whether case and accents are dropped; special: names of [CLS], [SEP], [UNK].
  constructor({ vocabulary, lowercase, special }) {
    this.vocabulary = vocabulary;
    this.lowercase = lowercase;
    this.special = special;
    this.names = [];
    for (const [token, id] of Object.entries(vocabulary)) this.names[id] = token;
    const marks = Object.keys(vocabulary).filter((token) => /^\[[A-Z]+\]$/.test(token));
    this.marks = new RegExp(`(${marks.map((mark) => mark.replace(/[[\]]/g, "\\$&")).join("|") || "(?!)"})`);
  }

  // [{id, label, start, end}], with [CLS] and [SEP]; start and end count UTF-16 units of the text. At most `most` tokens.
  tokens(text, most) {
    const found = [];
    let start = 0;
    for (const part of text.split(this.marks)) {
      if (part in this.vocabulary && this.marks.test(part)) found.push(this.token(part, start, start + part.length));
      else for (const word of this.words(part, start)) found.push(...this.pieces(word));
      start += part.length;
    }
    const [first, last] = [this.token(this.special.cls, 0, 0), this.token(this.special.sep, text.length, text.length)];
    return [first, ...found.slice(0, most - 2), last];
  }

  token(name, start, end) {
    return { id: this.vocabulary[name], label: name, start, end };
  }

  // Words with their place: [[character, start, end], ...] each.
  words(text, offset) {
    const words = [];
    let word = [];
    const close = () => word.length && words.push(word) && (word = []);
    let start = offset;
    for (const character of text) {
      const end = start + character.length;
      if (SPACE.test(character)) close();
      else if (!(CONTROL.test(character) || character === "\uFFFD")) {
        for (const plain of this.lowercase ? lowered(character) : [character]) {
          const isAlone = CHINESE.test(plain) || PUNCTUATION.test(plain);
          if (isAlone) close();
          word.push([plain, start, end]);
          if (isAlone) close();
        }
      }
      start = end;
    }
    close();
    return words;
  }

  pieces(word) {
    const letters = word.map(([letter]) => letter);
    const whole = [word[0][1], word.at(-1)[2]];
    const found = [];
    for (let start = 0; start < letters.length;) {
      let end = letters.length > LONGEST_WORD ? start : letters.length;
      const piece = () => (start ? "##" : "") + letters.slice(start, end).join("");
      while (end > start && !Object.hasOwn(this.vocabulary, piece())) end--;
      if (end === start) return [this.token(this.special.unk, ...whole)];
      found.push(this.token(piece(), word[start][1], word[end - 1][2]));
      start = end;
    }
    return found;
  }
}

// A character without case and accents, as letters.
const lowered = (character) => [...character.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase()];
