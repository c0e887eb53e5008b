// The address of the view: shown, and copied with or without the user's text.
import { make } from "../../encoder/drawing/drawing.js";
import { unpack } from "../../encoder/drawing/shared.js";
import { mounted } from "./mounted.js";

// Over plain http, as in a classroom's network, browsers have no navigator.clipboard: then the shown text is selected and
// copied with execCommand.
async function copyText(text, field) {
  if (window.isSecureContext && navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // refused, or the window has lost the focus: execCommand may still work
    }
  }
  const shown = field.value;
  field.value = text;
  field.focus();
  field.select();
  const done = document.execCommand("copy");
  if (done) field.value = shown;
  return done;
}

class LinkView {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.field = make("input", { type: "text", readonly: "", "aria-label": "Link to this view" });
    this.whole = make("button", { type: "button" }, "Copy link");
    this.bare = make("button", { type: "button" }, "Copy without the text");
    this.phone = make("input", { type: "text", readonly: "" });
    this.phoneLabel = make("label", {}, "On a phone in this network", this.phone);
    this.forPhone = make("button", { type: "button" }, "Copy for a phone");
    this.status = make("span", { role: "status" });
    this.root = make(
      "div",
      { class: "enc-link" },
      this.field,
      this.whole,
      this.bare,
      this.phoneLabel,
      this.forPhone,
      this.status,
    );
    parent.append(this.root);
    this.field.addEventListener("focus", () => this.field.select());
    this.whole.addEventListener("click", () => this.copy(this.address([]), "The link is copied."));
    this.phone.addEventListener("focus", () => this.phone.select());
    this.forPhone.addEventListener("click", () => this.copy(this.phone.value, "The link for a phone is copied."));
    this.bare.addEventListener(
      "click",
      () => this.copy(this.address(this.header.typed), "The link is copied, without your text."),
    );
  }

  /** @param {Component} component */
  update(component) {
    /** @type {Block<CopyLinkHeader>} */
    const { header } = unpack(component.data);
    this.header = header;
    this.field.value = this.address([]);
    this.bare.hidden = !this.header.typed.some((name) => name in this.header.query);
    const isHere = /^(localhost|127\.[\d.]+|\[::1\]|.+\.localhost)$/.test(location.hostname);
    this.phoneLabel.hidden = this.forPhone.hidden = !(isHere && this.header.network);
    this.phone.value = this.address([], location.origin.replace(location.hostname, this.header.network));
    this.status.textContent = this.header.note;
  }

  // The page's own address, which a proxy may have given a prefix, and the values of the view.
  address(without, origin = location.origin) {
    const values = Object.entries(this.header.query).filter(([name]) => !without.includes(name));
    const query = new URLSearchParams(values).toString();
    return origin + location.pathname + (query && `?${query}`);
  }

  async copy(address, said) {
    const done = await copyText(address, this.field);
    this.status.textContent = done
      ? `${said} ${this.header.note}`.trim()
      : "This browser does not let a page copy. The link is selected: press Ctrl+C, or ⌘C.";
  }

  destroy() {
    this.root.remove();
  }
}

export default mounted(LinkView);
