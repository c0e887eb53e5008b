// How a tokenizer divides a word into pieces of its vocabulary: a class for each kind of model of the library
// `tokenizers`. `pieces(word)` gives [{id, piece}]; names: id -> piece.

const UNKNOWN_PENALTY = 10; // of a letter without a piece, below the least probable piece

const namesOf = (ids) => {
  const names = [];
  for (const [piece, id] of ids) names[id] = piece;
  return names;
};

// Whole words only.
class WordLevel {
  constructor({ vocab, unk_token: unknown }) {
    this.ids = new Map(Object.entries(vocab));
    this.names = namesOf(this.ids);
    this.unknown = unknown;
  }

  pieces(word) {
    const piece = this.ids.has(word) ? word : this.unknown;
    return this.ids.has(piece) ? [{ id: this.ids.get(piece), piece }] : [];
  }
}

// The longest known piece at each place (Wu et al. 2016); a word with another letter is unknown.
class WordPiece extends WordLevel {
  constructor(about) {
    super(about);
    this.prefix = about.continuing_subword_prefix;
    this.longest = about.max_input_chars_per_word;
  }

  /** @override */
  pieces(word) {
    const letters = Array.from(word);
    const unknown = () => [{ id: this.ids.get(this.unknown), piece: this.unknown }];
    if (letters.length > this.longest) return unknown();
    const found = [];
    for (let start = 0; start < letters.length;) {
      let end = letters.length;
      const piece = () => (start ? this.prefix : "") + letters.slice(start, end).join("");
      while (end > start && !this.ids.has(piece())) end--;
      if (end === start) return unknown();
      found.push({ id: this.ids.get(piece()), piece: piece() });
      start = end;
    }
    return found;
  }
}

// Letters, joined pair by pair in the order in which training joined them (Sennrich et al. 2016).
class BytePairs extends WordLevel {
  constructor(about) {
    super(about);
    const pair = (one) => typeof one === "string" ? one : one.join(" ");
    this.ranks = new Map(about.merges.map((one, rank) => [pair(one), rank]));
    this.keepsWhole = about.ignore_merges;
    this.fuses = about.fuse_unk;
  }

  /** @override */
  pieces(word) {
    if (this.keepsWhole && this.ids.has(word)) return [{ id: this.ids.get(word), piece: word }];
    const parts = this.letters(word);
    const rank = (at) => this.ranks.get(`${parts[at]} ${parts[at + 1]}`) ?? Infinity;
    for (;;) {
      let best = 0;
      for (let at = 1; at + 1 < parts.length; at++) if (rank(at) < rank(best)) best = at;
      if (parts.length < 2 || rank(best) === Infinity) break;
      parts.splice(best, 2, parts[best] + parts[best + 1]);
    }
    return parts.map((piece) => ({ id: this.ids.get(piece), piece }));
  }

  // The letters of a word; one without a place in the vocabulary is the unknown token, or nothing where there is none.
  letters(word) {
    const letters = [];
    let wasUnknown = false;
    for (const letter of word) {
      const isUnknown = !this.ids.has(letter);
      if (!isUnknown) letters.push(letter);
      else if (this.unknown && !(this.fuses && wasUnknown)) letters.push(this.unknown);
      wasUnknown = isUnknown;
    }
    return letters;
  }
}

// The most probable pieces (Kudo 2018). Neighbours without a piece are one unknown token.
class Unigram {
  constructor({ vocab, unk_id: unknown }) {
    this.scores = vocab.map(([, score]) => score);
    this.names = vocab.map(([piece]) => piece);
    this.ids = new Map(this.names.map((piece, id) => [piece, id]));
    this.unknown = unknown;
    this.unknownScore = this.scores.reduce((least, score) => Math.min(least, score), Infinity) - UNKNOWN_PENALTY;
    this.longest = this.names.reduce((most, piece) => Math.max(most, piece.length), 0);
  }

  pieces(word) {
    const best = this.paths(word);
    const found = [];
    let wasUnknown = false;
    for (let end = word.length; end > 0; end = best[end].start) {
      const piece = word.slice(best[end].start, end);
      const isUnknown = best[end].id === this.unknown;
      if (isUnknown && wasUnknown) found[0].piece = piece + found[0].piece;
      else found.unshift({ id: best[end].id, piece });
      wasUnknown = isUnknown;
    }
    for (const one of found) one.id = this.ids.get(one.piece) ?? this.unknown;
    return found;
  }

  // For each place in the word, the last piece of the best way to it: {start, id, score}.
  paths(word) {
    const best = [{ start: 0, id: -1, score: 0 }];
    const offer = (end, start, id, score) => {
      if (!best[end] || score > best[end].score) best[end] = { start, id, score };
    };
    for (let start = 0; start < word.length;) {
      const { score } = best[start];
      const letter = word.codePointAt(start) > 0xFFFF ? 2 : 1;
      for (let end = start + 1; end <= Math.min(word.length, start + this.longest); end++) {
        const id = this.ids.get(word.slice(start, end));
        if (id !== undefined) offer(end, start, id, score + this.scores[id]);
      }
      if (!this.ids.has(word.slice(start, start + letter))) {
        offer(start + letter, start, this.unknown, score + this.unknownScore);
      }
      start += letter;
    }
    return best;
  }
}

export const MODELS = { WordLevel, WordPiece, BPE: BytePairs, Unigram };
