// Keeps texts that are too long for the address, for this tab only and until it is closed: a reload asks for them. It
// also knows the view before the open page, for a session that the server has dropped.
import { make } from "../../encoder/export/drawing/drawing.js";
import { eventId, unpack } from "../../encoder/export/drawing/shared.js";
import { mounted } from "./mounted.js";

const PREFIX = "encoderscope:";
const MOST = 8;
const VIEW = "view"; // as in kept_text.py

// The view that this document had before the open page, without "?"; frame.js remembers it.
const before = () => (window.__encoderscopeBefore ?? "").slice(1);

class KeptText {
  constructor(parent) {
    this.root = make("div", { class: "enc-kept" });
    parent.append(this.root);
  }

  update(component) {
    const { header: { save, want } } = unpack(component.data);
    for (const [name, text] of Object.entries(save)) keep(name, text);
    const asked = want.join();
    if (!asked || asked === this.answered) return;
    this.answered = asked;
    const texts = Object.fromEntries(want.map((name) => [name, name === VIEW ? before() : read(name)]));
    if (asked === VIEW && !texts[VIEW]) return; // a new visitor
    component.setTriggerValue("found", { texts, id: eventId() });
  }

  destroy() {
    this.root.remove();
  }
}

// A browser may refuse to keep anything, or have no room.
function read(name) {
  try {
    return sessionStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

function keep(name, text) {
  try {
    if (sessionStorage.getItem(PREFIX + name) !== null) return;
    const kept = JSON.parse(sessionStorage.getItem(PREFIX) ?? "[]");
    for (const old of kept.splice(0, kept.length - MOST + 1)) sessionStorage.removeItem(PREFIX + old);
    sessionStorage.setItem(PREFIX + name, text);
    sessionStorage.setItem(PREFIX, JSON.stringify([...kept, name]));
  } catch {
    sessionStorage.removeItem(PREFIX + name);
  }
}

export default mounted(KeptText);
