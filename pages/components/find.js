// A dialog that finds pages, controls, terms, lessons, settings, documents and heads, by words and by the meaning of a
// question: a combobox with a list, by the pattern of the ARIA guide.
import { make } from "../../encoder/drawing/drawing.js";
import { eventId, unpack } from "../../encoder/drawing/shared.js";
import { appUrl } from "./address.js";
import { asking } from "./find_asking.js";
import { openLater } from "./find_control.js";
import { found, isQuestion, merged } from "./find_ranking.js";
import { mounted } from "./mounted.js";

const PAUSE = 250; // milliseconds after the last key until a question is sent
const LEAST = 0.15; // of the largest shade: a fainter one is left out
let number = 0;

class Find {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.id = `enc-find-${++number}`;
    /** @type {FindEntry[] | null} */
    this.entries = null; // until the dialog is first opened
    this.problem = "";
    this.shown = [];
    this.field = make("input", {
      type: "text",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": this.id,
      "aria-autocomplete": "list",
      "aria-label": "Search, or ask a question",
      placeholder: "Ask a question, or type a page, a term, L3 H1 …",
      autocomplete: "off",
      spellcheck: "false",
    });
    this.list = make("ul", { role: "listbox", id: this.id, "aria-label": "Results" });
    this.count = make("p", { role: "status" });
    this.dialog = make("dialog", { class: "enc-find", "aria-label": "Search" }, this.field, this.list, this.count);
    parent.append(this.dialog);
    this.stop = new AbortController();
    const listen = (target, type, action) => target.addEventListener(type, action, { signal: this.stop.signal });
    listen(document, "keydown", (event) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) {
        return;
      }
      event.preventDefault();
      this.dialog.open ? this.dialog.close() : this.open();
    });
    listen(document, "click", (event) => event.target.closest?.(`.${this.opener}`) && this.open());
    listen(this.dialog, "click", (event) => event.target === this.dialog && this.dialog.close());
    listen(this.field, "input", () => this.onType());
    listen(this.field, "keydown", (event) => this.onKey(event));
    listen(this.list, "click", (event) => {
      const item = event.target.closest('[role="option"]');
      if (item) this.choose([...this.list.children].indexOf(item));
    });
  }

  /** @param {Component} component */
  update(component) {
    /** @type {Block<FindHeader>} */
    const { header } = unpack(component.data);
    if (header.path !== this.path) this.entries = null;
    this.path = header.path;
    this.opener = header.opener;
    if (this.dialog.open && !this.entries) this.load(this.path);
    this.send = (value) => component.setTriggerValue("open", { ...value, id: eventId() });
  }

  open() {
    this.field.value = "";
    asking().onAnswer = () => this.onAnswer();
    this.onType();
    this.dialog.showModal();
    this.field.focus();
    if (!this.entries) this.load(this.path);
  }

  // A first visit does not pay for what the search finds.
  async load(path) {
    this.problem = "";
    this.show();
    try {
      const response = await fetch(appUrl(path), { cache: "force-cache" });
      if (!response.ok) throw new Error(response.statusText);
      const entries = await response.json();
      if (path === this.path) this.entries = entries;
    } catch {
      this.problem = "The list did not load. Close the search and open it again.";
    }
    if (this.dialog.open) this.show();
  }

  onType() {
    clearTimeout(this.timer);
    this.isMoved = false;
    const typed = this.field.value;
    if (isQuestion(typed)) this.timer = setTimeout(() => asking().send?.(typed), PAUSE);
    this.show();
  }

  // A late answer does not change the list under the reader's selection.
  onAnswer() {
    if (this.dialog.open && asking().answer.typed === this.field.value && !this.isMoved) this.show();
  }

  // What fits the words, and after the answer what is nearest in meaning.
  show() {
    const typed = this.field.value, { answer } = asking();
    if (!this.entries) {
      this.count.textContent = this.problem || "Loading …";
      return;
    }
    const isAnswered = answer?.typed === typed;
    this.shown = merged(found(this.entries, typed), isAnswered ? answer : null, this.entries, typed);
    this.list.replaceChildren(...this.shown.map((one, at) => this.item(one, at)));
    const isWaiting = isQuestion(typed) && !isAnswered && asking().send;
    const count = this.shown.length
      ? `Results: ${this.shown.length}`
      : isWaiting
      ? ""
      : "Nothing fits. Ask another way.";
    this.count.textContent = `${count}${isWaiting ? " Comparing meanings …" : ""}`;
    this.select(0);
  }

  // One result. With a reason, it shows its nearest text, and which words make it near.
  item({ entry, reason }, at) {
    const words = reason ? shaded(reason) : [];
    const isTitle = reason?.pieces.join("") === entry.title;
    return make(
      "li",
      { role: "option", id: `${this.id}-${at}`, "aria-selected": "false" },
      make("b", {}, ...(isTitle ? words : [entry.title])),
      make("span", {}, ...(reason && !isTitle ? words : [entry.detail])),
      make("i", {}, entry.kind),
      ...(entry.steps.length ? [make("ol", {}, ...entry.steps.map((step) => make("li", {}, step)))] : []),
    );
  }

  select(at) {
    this.list.children[this.at]?.setAttribute("aria-selected", "false");
    this.at = this.shown.length ? (at + this.shown.length) % this.shown.length : -1;
    const item = this.list.children[this.at];
    item?.setAttribute("aria-selected", "true");
    item?.scrollIntoView({ block: "nearest" });
    if (item) this.field.setAttribute("aria-activedescendant", item.id);
    else this.field.removeAttribute("aria-activedescendant");
  }

  onKey(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      this.isMoved = true;
      this.select(this.at + steps[event.key]);
    } else if (event.key === "Enter" && !event.isComposing) this.choose(this.at);
    else return;
    event.preventDefault();
  }

  choose(at) {
    const entry = this.shown[at]?.entry;
    if (!entry) return;
    clearTimeout(this.timer);
    this.dialog.close();
    this.send({ page: openLater(entry), values: entry.values });
  }

  destroy() {
    this.stop.abort();
    clearTimeout(this.timer);
    this.dialog.remove();
  }
}

// The pieces of a text: a word is shaded by how much more than an average word it adds to the similarity.
/** @param {FindReason} reason */
function shaded({ pieces, shares }) {
  const ofWords = shares.filter((share) => share !== 0);
  const mean = ofWords.reduce((sum, share) => sum + share, 0) / ofWords.length;
  const most = Math.max(...shares) - mean;
  return pieces.map((piece, at) => {
    const share = most > 0 ? (shares[at] - mean) / most : Number(shares[at] > 0);
    return share >= LEAST ? make("mark", { style: `--share: ${Math.round(100 * share)}%` }, piece) : piece;
  });
}

export default mounted(Find);
