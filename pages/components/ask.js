// Carries the question of the search to the server, and its answer back; the search draws it.
import { eventId, unpack } from "../../encoder/drawing/shared.js";
import { asking } from "./find_asking.js";
import { mounted } from "./mounted.js";

class Ask {
  /** @param {Component} component */
  update(component) {
    /** @type {Block<AskHeader>} */
    const { header } = unpack(component.data);
    const now = asking();
    now.page = header.here;
    now.send = (typed) => component.setTriggerValue("ask", { typed, id: eventId() });
    if (header.answer) now.tell(header.answer);
  }

  destroy() {}
}

export default mounted(Ask);
