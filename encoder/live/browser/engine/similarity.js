// The cosine of two texts, and what each word does to it: `encoder/scores` has the same numbers. A word is left out in its
// place: no token attends to it, and it is not pooled.
import { cosine, textVector } from "./heads.js";

const MOST_LEFT_OUT = 64; // of a text; the app divides a longer one into phrases
const LONGEST_WORD = 40;
// Writing without blanks between words, which is divided by tokens.
const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]/u;
const MARKS =
  /^[,;:.!?"'()[\]\u201c\u201d\u2018\u2019\u3001\u3002\uff0c\uff01\uff1f]+|[,;:.!?"'()[\]\u201c\u201d\u2018\u2019\u3001\u3002\uff0c\uff01\uff1f]+$/g;

// The words of a text as [{label, tokens: places}]; a word ends where the tokens before it do not depend on what follows.
// tokens: of the prompt and the text. Of a text with more than MOST_LEFT_OUT words, the first ones: each costs the
// tokens of all before it.
export function wordsOf(tokenizer, prompt, text, tokens) {
  const own = tokens.flatMap(({ special }, at) => special ? [] : [at]);
  const idsOf = (part) => tokenizer.tokens(part, Infinity).filter(({ special }) => !special).map(({ id }) => id);
  const fits = (ids) => ids.length <= own.length && ids.every((id, at) => id === tokens[own[at]].id);
  const found = [];
  let [from, start, isCut] = [idsOf(prompt.trimEnd()).length, 0, false];
  for (const { 0: chunk, index } of text.matchAll(/\P{White_Space}+/gu)) {
    if (found.length > MOST_LEFT_OUT) break;
    const end = index + chunk.length;
    const isLast = !/\P{White_Space}/u.test(text.slice(end));
    const ids = isLast || isCut ? [] : idsOf(prompt + text.slice(0, end));
    isCut ||= ids.length > own.length; // the model takes nothing of what follows, so it is one word
    if (!isLast && (isCut || !fits(ids))) continue; // together with what follows
    const upTo = isLast ? own.length : ids.length;
    const written = text.slice(start, end).trim();
    const places = own.slice(from, upTo);
    if (written.length > LONGEST_WORD || UNSPACED.test(written)) {
      found.push(...places.map((at) => ({ label: tokens[at].label, tokens: [at] })));
    } else if (places.length) found.push({ label: written.replace(MARKS, "") || written, tokens: places });
    [from, start] = [upTo, end];
  }
  return found;
}

// {cosine, sides, empty}: sides: for each text its words with their effects: the cosine minus that without the word; empty:
// the texts without a token of their own.
export async function similarity(model, texts, edits) {
  const { encoder, about } = model;
  const { prompts } = about;
  const read = await Promise.all(texts.map((text, side) => model.read(prompts[side] + text, edits)));
  const apart = read.map(({ tokens }, side) => promptTokens(model, prompts[side], tokens));
  const vectors = read.map(({ trace }, side) => textVector(encoder, about, trace, apart[side]));
  const whole = cosine(vectors[0], vectors[1]);
  const sides = [];
  for (const [side, one] of read.entries()) {
    const words = wordsOf(model.tokenizer, prompts[side], texts[side], one.tokens);
    const other = vectors[1 - side];
    const without = ({ tokens: hidden }) => {
      const trace = encoder.trace(one.tokens.map(({ id }) => id), { ...edits, hidden });
      return cosine(textVector(encoder, about, trace, [...hidden, ...apart[side]]), other);
    };
    const isLong = words.length > MOST_LEFT_OUT;
    sides.push({ isLong, words: isLong ? [] : words.map((word) => [word.label, whole - without(word)]) });
  }
  const empty = read.flatMap(({ trace, tokens }, side) =>
    tokens.length - trace.special.length <= promptSize(model, prompts[side]) ? [side] : []
  );
  return { cosine: whole, sides, empty, isCut: read.some(({ isCut }) => isCut) };
}

const promptSize = ({ tokenizer }, prompt) =>
  prompt ? tokenizer.tokens(prompt, Infinity).filter(({ special }) => !special).length : 0;

// The places of the prompt where the model does not pool it: special tokens before it count as its own.
function promptTokens(model, prompt, tokens) {
  if (model.about.pools_prompt || !prompt) return [];
  const count = promptSize(model, prompt);
  return Array.from({ length: tokens.findIndex(({ special }) => !special) + count }, (_, at) => at);
}
