// Which entries of the search fit what is typed, in which order. Nothing here needs a page.

const MOST = 30;
// "L3 H1", "3.1", "layer 3 head 1".
const HEAD = /^\s*l?(?:ayer)?\s*(\d{1,3})[\s.,·]*h?(?:ead)?\s*(\d{1,3})\s*$/i;
// Points for a kind of entry: a page is more than its parts, and a document's heading is of one method only.
const WEIGHTS = { Page: 3, Setting: -2, Document: -1 };

// How well an entry fits the words: 0 for not at all. Each word must be in the title or the detail.
export function score(entry, words) {
  const title = entry.title.toLowerCase(), detail = entry.detail.toLowerCase();
  let total = 0;
  for (const word of words) {
    const at = title.indexOf(word);
    if (at === 0) total += 8;
    else if (at > 0 && !/[\p{L}\p{N}]/u.test(title[at - 1])) total += 5;
    else if (at > 0) total += 3;
    else if (detail.includes(word)) total += 1;
    else return 0;
  }
  return total + 4 / (4 + title.length) + (WEIGHTS[entry.kind] ?? 0);
}

// The entries that fit what is typed, the best first; a head comes first of all.
export function found(entries, typed) {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return entries.filter((entry) => entry.kind === "Page");
  const best = entries.map((entry) => [score(entry, words), entry]).filter(([points]) => points)
    .sort(([a], [b]) => b - a).slice(0, MOST).map(([, entry]) => entry);
  const head = HEAD.exec(typed);
  if (!head) return best;
  const values = { layer: head[1], head: head[2] };
  const title = `L${Number(head[1])} H${Number(head[2])}`;
  return [
    { kind: "Head", title, detail: "Opens this attention head", page: "heads", values, control: "", steps: [] },
    ...best,
  ];
}

// Whether the meaning of what is typed is compared: not of the beginning of a word, nor of a head.
export const isQuestion = (typed) => typed.trim().length > 2 && !HEAD.test(typed);

// What is found by words and by meaning as one list: first entries whose title begins with what is typed, then the
// answer, the nearest first, then the rest. Each has its reason, or null. answer: null before it has come.
export function merged(byWords, answer, entries, typed) {
  const reasons = new Map((answer?.found ?? []).map((reason) => [entries[reason.entry], reason]));
  const plain = (text) => text.trim().toLowerCase().replaceAll("-", " ");
  const start = plain(typed);
  const isFirst = (entry) => entry.kind === "Head" || (start && plain(entry.title).startsWith(start));
  const order = [...byWords.filter(isFirst), ...reasons.keys(), ...byWords];
  return [...new Set(order)].slice(0, MOST).map((entry) => ({ entry, reason: reasons.get(entry) ?? null }));
}
