// The site: what a reader types and selects is in the address, under the names of the app; a worker computes.
import { inputsByHand } from "../../drawing/by_hand.js";
import { ByHandView } from "../../drawing/by_hand_view.js";
import { make, threeDigits } from "../../drawing/drawing.js";
import { DrawView } from "../../drawing/draw_view.js";
import { VIEWS } from "../../drawing/views.js";
import { choicesOf } from "./choices.js";
import { digitOf, digitOfBitmap } from "./digit.js";
import { changesIn } from "./edits.js";
import { arrangeFrame, frameLine, framing, listenToHost, tellHost } from "./embedding.js";
import { Fields } from "./fields.js";
import { FiguresView } from "./figures_view.js";
import { startHelpers } from "./helpers.js";
import { Offline } from "./offline.js";
import { pack } from "./pack.js";
import {
  bounded,
  lackOfLink,
  limitOf,
  MOST_LETTERS,
  readAddress,
  refusalOf,
  unknownIn,
  written,
} from "./view_address.js";

const site = JSON.parse(document.getElementById("site").textContent);
const { page } = document.body.dataset;
// The worker is in another folder than the page, and would look for the files from there.
for (const one of Object.values(site.models)) one.file = new URL(one.file, location.href).href;
let worker = null;
const places = {}; // place -> view
const DRAWINGS = { ...VIEWS, figures: FiguresView };

// ---- The state ----

const CUT = `A text has up to ${MOST_LETTERS.toLocaleString("en")} letters here: the rest is left out.`;

/** @type {string[]} */
let told = []; // sentences about the state, after those of its picture
let shown = null; // the state whose picture is on the page
let count = 0; // tokens of it
let isOfLink = true; // nothing was changed since a link was read

// The state of an address; the page says what it has not.
function stateOf(query = new URLSearchParams(location.search)) {
  const [read, limits] = bounded(readAddress(query, site, page), site.models);
  told = [...unknownIn(query, site, page).map(lackOfLink), ...limits.map(limitOf)];
  if ((query.get("text")?.length ?? 0) > MOST_LETTERS) told.push(CUT);
  isOfLink = true;
  return read;
}

let state = stateOf();

const address = () => written(state, page);

// The same for a page in a frame, which stays one.
const ownAddress = () => `?${new URLSearchParams([...new URLSearchParams(address()), ...framing()])}`;

// Links to other pages and to the app open the same view there.
function nameView() {
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("nav a"))) {
    link.search = written(state, link.pathname.split("/").at(-2), true);
  }
  const app = /** @type {HTMLAnchorElement} */ (document.getElementById("app"));
  const there = site.models[state.model].app; // what the app calls the model; null where only its publisher has it
  const query = new URLSearchParams(written(state, page, true));
  query.delete("model");
  for (const [name, value] of Object.entries(there ?? {})) query.set(name, value);
  if (app.pathname === "/") query.set("start", "1"); // where the app has the page Model
  app.search = String(query);
  app.textContent = app.href;
  app.parentElement.hidden = !there;
  nameFrame();
}

const heightOf = (id) => document.getElementById(id)?.offsetHeight ?? 0;

// The lines of Export and share.
function nameFrame() {
  const link = /** @type {HTMLInputElement} */ (document.getElementById("share-link"));
  if (!link) return;
  link.value = new URL(address(), location.href.split(/[?#]/)[0]).href;
  const main = ["head", "model"].find((name) => places[name]) ?? Object.keys(places)[0] ?? ""; // "": a page of words
  const line = frameLine(
    link.value,
    main,
    main ? (places[main].height ?? heightOf(main)) + heightOf("said") : heightOf("said") || heightOf(page),
    `${site.models[state.model].title}: ${document.title}`,
  );
  /** @type {HTMLTextAreaElement} */ (document.getElementById("share-frame")).value = line;
}

function change(values, { isNew = false, said = [] } = {}) {
  const [next, limits] = bounded({ ...state, ...values }, site.models);
  state = next;
  told = [...said, ...limits.map(limitOf)];
  isOfLink = false;
  history[isNew ? "pushState" : "replaceState"](null, "", ownAddress());
  nameView();
  ask();
}

addEventListener("popstate", () => {
  state = stateOf();
  nameView();
  fill({ all: true });
  ask();
});

// ---- The pictures ----

const PATIENCE_MS = 400; // until the page says that it computes
let asked = 0;
let isBusy = false;
let isWaiting = false; // for the worker to be free: it computes what was asked for last
let busyTimer = 0;

function ask() {
  if (page === "by_hand") return calculate();
  asked += 1;
  if (isBusy) return void (isWaiting = true);
  if (!worker) {
    worker = new Worker(site.worker);
    worker.addEventListener("message", answered);
    worker.addEventListener("error", failed);
  }
  isBusy = true;
  document.body.ariaBusy = "true";
  const status = document.getElementById("status");
  busyTimer = setTimeout(() => status.textContent ||= "The model computes…", PATIENCE_MS);
  worker.postMessage({ id: asked, page, state: { ...state, ...imageOf(state) }, site });
}

const PATCHES = Array.from({ length: 16 }, (_, at) => at + 1); // the tokens of a digit's patches, after [CLS]

// The pixels of a digit, and the picture of them.
function imageOf({ image }) {
  if (!image) return {};
  const pixels = digitOf(image);
  const side = Math.sqrt(pixels.length);
  const canvas = make("canvas", { width: side, height: side });
  const pen = canvas.getContext("2d");
  pixels.forEach((value, at) => {
    pen.fillStyle = `rgb(${Array(3).fill(Math.round(255 * value)).join()})`;
    pen.fillRect(at % side, Math.floor(at / side), 1, 1);
  });
  return { pixels, given: { uri: canvas.toDataURL(), smooth: false, rows: 4, columns: 4, patches: PATCHES } };
}

function answered({ data }) {
  const { id, progress, loaded, helpers } = data;
  if (loaded) return offline.keep(data);
  if (helpers) return startHelpers(helpers, site.helper);
  const status = document.getElementById("status");
  if (progress) {
    status.textContent = progress.share && progress.share < 1
      ? `Loading the model: ${Math.round(100 * progress.share)}%`
      : "";
    return;
  }
  isBusy = false;
  clearTimeout(busyTimer);
  if (isWaiting) ask();
  isWaiting = false;
  document.body.ariaBusy = String(isBusy);
  if (id === asked) show(data); // else the reader has asked for something newer
}

// The next request tries again.
function failed(event) {
  event.preventDefault();
  worker.terminate();
  worker = null;
  answered({ data: { id: asked, error: "The engine of this page did not start. Reload the page." } });
}

function show({ error, blocks, words, classes, said, terms, other, pair, note, drawn, lacksPart }) {
  document.body.toggleAttribute("data-stale", Boolean(error));
  if (error) {
    report([error, ofOther()]);
    return tellHost("error", { message: error });
  }
  shown = state;
  count = drawn.tokens?.length ?? 0;
  settle(drawn, lacksPart);
  report([note, CHANGED_PAGES.includes(page) ? changesIn(state) : "", ...told]);
  for (const { place, kind, height, block } of blocks) draw(place, kind, height, block);
  document.getElementById("said").replaceChildren(
    ...(said ?? []).map((sentence) => make("p", { class: "site-line" }, sentence)),
    ...(terms ? [termsOf(terms)] : []),
    ...answers(words, classes),
    ...(pair ? pairAnswers(pair) : []),
  );
  for (const name of other ? ["layer", "head"] : []) {
    /** @type {HTMLInputElement} */ (document.querySelector(`[data-name=${name}_b]`)).placeholder = other[name];
  }
  document.getElementById("note").textContent = site.models[state.model].note;
  nameFrame();
  tellHost("drawn", { ...placeInWords(), ...drawn });
}

const CHANGED_PAGES = ["heads", "predict", "similarity"]; // with the changes, and without their switches
const report = (sentences) => document.getElementById("status").textContent = sentences.filter(Boolean).join(" ");

// After an error: whose picture the page still has.
const ofOther = () =>
  shown && (shown.text !== state.text || shown.similar_to !== state.similar_to)
    ? `What is below is still of “${shown.text}”.`
    : "";

// Takes back what the text or the model does not have: selected tokens, and the open part.
function settle(drawn, lacksPart) {
  const lost = ["i", "j"].filter((name) => name in drawn && drawn[name] === null && state[name] !== null);
  const said = lost.map((name) => `This text has tokens 0 to ${count - 1}: token ${state[name]} is not selected.`);
  if (lost.length) state = { ...state, ...Object.fromEntries(lost.map((name) => [name, null])) };
  for (const message of said) tellHost("error", { message });
  if (lacksPart && isOfLink) {
    said.push(lackOfLink({ name: "step", value: lacksPart }));
    state = { ...state, part: "" };
  }
  if (!said.length) return;
  told = [...told, ...said];
  history.replaceState(null, "", ownAddress());
  nameView();
}

// What a host hears of the view, under the names of the address.
const IN_WORDS = ["model", "text", "layer", "head", "i", "j", "view", "norm", "compare"];
const placeInWords = () => Object.fromEntries(IN_WORDS.map((name) => [name, state[name]]));

function draw(name, kind, height, block) {
  const place = document.getElementById(name);
  if (places[name]?.kind !== kind) {
    places[name]?.view.destroy();
    place.style.minHeight = kind === "figure" ? `${Math.min(height, place.clientWidth)}px` : ""; // a figure comes later
    places[name] = { kind, view: new DRAWINGS[kind](place) };
  }
  const setStateValue = (event, values) => heard(event, values.at(-1));
  Object.assign(places[name], { block, ...(height ? { height } : {}) });
  places[name].view.update({ data: block, parentElement: place, setStateValue });
}

// Names with numbers, as bars; those below 0 have another colour.
function bars(title, rows, most = 1) {
  const row = ([name, value]) => {
    const width = Math.round(100 * Math.abs(value) / most);
    const bar = make("i", { style: `width:${width}%`, class: value < 0 ? "below" : "" });
    return make("li", {}, make("span", {}, name), bar, make("b", {}, threeDigits(value)));
  };
  return make("section", {}, make("h2", {}, title), make("ol", {}, ...rows.map(row)));
}

const answers = (words, classes) => [
  ...words.map(({ token, words: rows }) => bars(`The hidden word at token ${token}`, rows)),
  ...(classes.length && page === "digit" ? [bars("The digit", classes.slice(0, 5))] : []),
];

// The parts of a score, and where the picture of the model has all of them.
function termsOf({ title, rows, place: { i, j } }) {
  const most = Math.max(...rows.map(([, value]) => Math.abs(value)), 1e-9);
  const section = bars(title, rows.map(([name, value]) => [name, value]), most);
  const link = make(
    "a",
    { class: "site-way", href: `../${written({ ...state, i, j, part: "scores" }, "model")}` },
    "How this score is made",
  );
  section.append(link);
  return section;
}

function pairAnswers({ cosine, sides, empty }) {
  const most = Math.max(...sides.flatMap(({ words }) => words.map(([, effect]) => Math.abs(effect))), 1e-9);
  const shown = sides.flatMap(({ words }, at) => words.length ? [bars(`Sentence ${"AB"[at]}`, words, most)] : []);
  const line = (...parts) => make("p", { class: "site-line" }, ...parts);
  const meaning = "The number of a word: what this cosine loses when the model can neither attend to the word nor " +
    "pool it; the others keep their places.";
  const names = empty.map((side) => "AB"[side]);
  const isEmpty = names.length > 1
    ? "Both sentences are empty: their vectors are"
    : `Sentence ${names} is empty: its vector is`;
  return [
    line("Cosine: ", make("b", {}, threeDigits(cosine))),
    ...(shown.length ? [line(meaning)] : []),
    ...(names.length ? [line(`${isEmpty} of special tokens only.`)] : []),
    ...shown,
  ];
}

// ---- What a reader does in a picture ----

function heard(name, event) {
  if (name === "switch") return turn(event);
  if (name === "pan") return change({ first: event.first });
  const values = choicesOf(name, event, state);
  // A picture of another text has other tokens.
  if (shown?.text !== state.text) { for (const one of Object.keys(NO_TOKENS)) delete values[one]; }
  if (Object.keys(values).length) choose(values);
}

// A reader's choice in a picture, of which a host hears.
function choose(values) {
  change(values);
  fill();
  tellHost("click", placeInWords());
}

function turn({ name, on }) {
  const part = { head: state.head, attention: "attention", ffn: "ffn" }[name];
  if (name === "norm") return change({ norm: on ? "pre" : "post" });
  if (part === undefined) return change({ [name]: on });
  const others = state.off.filter(([layer, other]) => layer !== state.layer || other !== part);
  change({ off: on ? others : [...others, [state.layer, part]] });
}

// ---- The controls ----

const NO_TOKENS = { i: null, j: null, i_b: null, j_b: null, first: null };

const fields = new Fields((values, { isNew, isCut }) => {
  const isText = Object.keys(values).some((name) => name.startsWith("text") && values[name] !== state[name]);
  change({ ...values, ...(isText ? NO_TOKENS : {}) }, { isNew, said: isCut ? [CUT] : [] });
  fill();
});

function fill({ all = false } = {}) {
  fields.fill(state, { all });
  for (const one of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-only]"))) {
    const [name, ...values] = one.dataset.only.split(" ");
    one.hidden = !values.includes(state[name]);
  }
}

for (const example of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-example]"))) {
  example.addEventListener("click", () => {
    change({ text: example.dataset.example, ...NO_TOKENS }, { isNew: true });
    fill();
  });
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const [name, { kind, block }] of Object.entries(places)) if (block) draw(name, kind, 0, block);
});

const square = document.getElementById("draw");
if (square) {
  const setTriggerValue = (_, { bits }) => {
    const image = digitOfBitmap(bits);
    if (image) change({ image, ...NO_TOKENS });
  };
  const start = { data: new Uint8Array(32 * 32), shape: [32, 32] };
  new DrawView(square).update({ data: pack({ side: 32 }, { start }), parentElement: square, setTriggerValue });
  Object.entries(site.digits).forEach(([name, image]) => {
    const button = make("button", { type: "button" }, name);
    button.addEventListener("click", () => change({ image, ...NO_TOKENS }, { isNew: true }));
    document.getElementById("digits").append(button);
  });
}

// By hand needs no model: its picture computes.
function calculate() {
  const parentElement = document.getElementById("by_hand");
  const { usual, notes } = site.hand;
  /** @type {ByHandHeader} */
  const header = { usual, notes, problem: false, inputs: inputsByHand(state.hand, usual) };
  const setStateValue = (_, events) => change({ hand: events.at(-1).text });
  places.by_hand ??= { view: new ByHandView(parentElement) };
  places.by_hand.view.update({ data: pack(header, {}), parentElement, setStateValue });
}

const keepsFiles = "serviceWorker" in navigator && location.protocol.startsWith("http");

function start() {
  ask();
  if (keepsFiles) navigator.serviceWorker.register(site.service).catch(() => {}); // a browser may forbid it in a frame
}

const offline = new Offline(keepsFiles, site.models, () => state.model);

// A host's values are read as those of an address; another text selects no token unless the host does.
listenToHost((values) => {
  const before = new URLSearchParams(address());
  if ("text" in values) { for (const name of Object.keys(NO_TOKENS)) before.delete(name); }
  for (const [name, value] of Object.entries(values)) before.set(name, value);
  const [unknown] = unknownIn(before, site, page);
  if (unknown) throw new Error(refusalOf(unknown));
  const read = readAddress(before, site, page);
  const [limit] = bounded(read, site.models)[1];
  if (limit) throw new Error(refusalOf(limit));
  const isKnown = shown && ["text", "model"].every((name) => read[name] === shown[name]);
  const token = isKnown && ["i", "j"].find((name) => name in values && read[name] >= count);
  if (token) throw new Error(refusalOf({ name: token, value: values[token], most: count - 1 }));
  const names = [...Object.keys(values), ...("text" in values ? Object.keys(NO_TOKENS) : [])];
  change(Object.fromEntries(names.map((name) => [name, read[name]])));
  fill();
});
for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll(".site-share [readonly]"))) {
  field.addEventListener("focus", () => field.select());
}
document.querySelector(".site-share")?.addEventListener("toggle", nameFrame); // a page of words may have another height now

arrangeFrame(Array.from(/** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".drawing"))));
fill();
nameView();
tellHost("ready", { models: Object.keys(site.models) });
const first = document.getElementById("first");
if (first && !location.search) {
  const { place, kind, height } = first.dataset;
  draw(place, kind, Number(height), Uint8Array.from(atob(first.textContent), (letter) => letter.charCodeAt(0)));
  requestAnimationFrame(() => setTimeout(start)); // the weights come when the first picture is painted
} else start();
