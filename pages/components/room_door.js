// The teacher's link, whose key is in its fragment and is sent to no server; and the rooms whose key this browser has.
import { make } from "../../encoder/drawing/drawing.js";
import { forgetSeat, rooms } from "./kept.js";
import { download, eventId, unpack } from "../../encoder/drawing/shared.js";
import { mounted } from "./mounted.js";

class RoomDoor {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.root = make("div", { class: "enc-door" });
    parent.append(this.root);
  }

  /** @param {Component} component */
  update(component) {
    this.component = component;
    /** @type {Block<DoorHeader>} */
    const { header: { code, secret, left } } = unpack(component.data);
    if (left) forgetSeat();
    this.root.replaceChildren(...(code ? this.link(code, secret) : this.rooms()));
  }

  link(code, secret) {
    const address = `${location.origin}${location.pathname}?room=${code}#teach=${secret}`;
    const status = make("span", { role: "status" });
    const copy = make("button", { type: "button" }, "Copy the teacher's link");
    copy.addEventListener("click", async () => {
      status.textContent = await copyText(address) ? "Copied. Keep it secret." : "Save it as a file instead.";
    });
    const save = make("button", { type: "button" }, "Save it as a file");
    save.addEventListener("click", () => {
      const page = `<!doctype html><meta charset="utf-8"><a href="${address}">Teach room ${code}</a>\n`;
      download(`room-${code}.html`, URL.createObjectURL(new Blob([page], { type: "text/html" })));
    });
    return [copy, save, status];
  }

  rooms() {
    return Object.entries(rooms()).filter(([, one]) => one.key).reverse().slice(0, 3).map(([code, { key }]) => {
      const button = make("button", { type: "button" }, `Teach room ${code} again`);
      button.addEventListener("click", () => this.component.setTriggerValue("teach", { code, key, id: eventId() }));
      return button;
    });
  }

  destroy() {
    this.root.remove();
  }
}

// Over plain http browsers have no navigator.clipboard: then a field is selected and copied.
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = make("textarea", {});
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

export default mounted(RoomDoor);
