// Guides come before lists and the Python reference: who searches asks a question more often than for a name.
const LISTS =
  /^(benchmarks|teaching-study|generated\/(api|architecture|changelog|commands|conduct|contributing|keys|licences|security))/;

globalThis.Scorer = {
  score: ([page, , , , score]) => LISTS.test(page) ? score - 4 : score,
  // An object of the reference: by its name, by a part of it, and by its rank among objects.
  ...{ objNameMatch: 8, objPartialMatch: 1, objPrio: { 0: 2, 1: 0, 2: -5 }, objPrioDefault: 0 },
  // A page: by its headings and by its words.
  ...{ title: 15, partialTitle: 7, term: 5, partialTerm: 2 },
};
