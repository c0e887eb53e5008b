// A dialog that finds pages, terms, lessons, settings and heads: a combobox with a list, by the pattern of the ARIA guide.
import { make } from "../../encoder/drawing/drawing.js";
import { eventId, unpack } from "../../encoder/drawing/shared.js";
import { found } from "./find_ranking.js";
import { mounted } from "./mounted.js";

let number = 0;

class Find {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.id = `enc-find-${++number}`;
    this.field = make("input", {
      type: "text",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": this.id,
      "aria-autocomplete": "list",
      "aria-label": "Search pages, terms, lessons, settings and heads",
      placeholder: "Pages, terms, lessons, L3 H1 …",
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
    listen(this.field, "input", () => this.show());
    listen(this.field, "keydown", (event) => this.onKey(event));
    listen(this.list, "click", (event) => {
      const item = event.target.closest("li");
      if (item) this.choose([...this.list.children].indexOf(item));
    });
  }

  /** @param {Component} component */
  update(component) {
    /** @type {Block<FindHeader>} */
    const { header } = unpack(component.data);
    this.entries = header.entries;
    this.opener = header.opener;
    this.send = (value) => component.setTriggerValue("open", { ...value, id: eventId() });
  }

  open() {
    this.field.value = "";
    this.show();
    this.dialog.showModal();
    this.field.focus();
  }

  show() {
    this.shown = found(this.entries, this.field.value);
    this.list.replaceChildren(
      ...this.shown.map((entry, at) =>
        make(
          "li",
          { role: "option", id: `${this.id}-${at}`, "aria-selected": "false" },
          make("b", {}, entry.title),
          make("span", {}, entry.detail),
          make("i", {}, entry.kind),
        )
      ),
    );
    this.count.textContent = this.shown.length ? `Results: ${this.shown.length}` : "Nothing fits. Try another word.";
    this.select(0);
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
    if (event.key in steps) this.select(this.at + steps[event.key]);
    else if (event.key === "Enter" && !event.isComposing) this.choose(this.at);
    else return;
    event.preventDefault();
  }

  choose(at) {
    const entry = this.shown[at];
    if (!entry) return;
    this.dialog.close();
    this.send({ page: entry.page, values: entry.values });
  }

  destroy() {
    this.stop.abort();
    this.dialog.remove();
  }
}

export default mounted(Find);
