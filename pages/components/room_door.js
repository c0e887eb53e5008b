// The teacher's link, whose key is in its fragment and is sent to no server; and the rooms whose key this browser has.
import { make } from "../../encoder/drawing/drawing.js";
import { appUrl } from "./address.js";
import { forgetRoom, forgetSeat, rooms } from "./kept.js";
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
    this.root.replaceChildren(...(code ? this.link(code, secret) : []));
    if (code) document.documentElement.classList.remove("enc-teaches-already");
    else this.offerRooms();
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

  // The newest rooms of this teacher that still exist.
  async offerRooms() {
    const kept = Object.entries(rooms()).filter(([, one]) => one.key).reverse();
    this.root.classList.toggle("enc-door-waits", kept.length > 0); // its place is kept: nothing moves under a pointer
    const areOpen = await Promise.all(kept.map(([code]) => isOpen(code)));
    const open = kept.filter((_, place) => areOpen[place]).slice(0, 3);
    if (!this.root.isConnected) return; // the visitor has left the page
    this.root.replaceChildren(...open.map(([code, { key }]) => {
      const button = make("button", { type: "button", class: "enc-door-teach" }, `Teach room ${code} again`);
      button.addEventListener("click", () => this.component.setTriggerValue("teach", { code, key, id: eventId() }));
      return button;
    }));
    this.root.classList.remove("enc-door-waits");
    document.documentElement.classList.toggle("enc-teaches-already", open.length > 0); // page.css of the classroom
  }

  destroy() {
    document.documentElement.classList.remove("enc-teaches-already");
    this.root.remove();
  }
}

// Whether a room exists, as far as the server can say now. A room that is closed is forgotten.
async function isOpen(code) {
  const stop = new AbortController();
  try {
    const { status, headers } = await fetch(appUrl(`_rooms/${code}`), { signal: stop.signal });
    if (status === 204) forgetRoom(code);
    const isBusy = status === 429 || status === 503; // too many connections, or its store is away
    return isBusy || (headers.get("content-type") ?? "").startsWith("text/event-stream");
  } catch {
    return false; // the server is away
  } finally {
    stop.abort();
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
