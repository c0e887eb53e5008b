// Runs its part of the page again when members or answers of the room have changed.
import { make } from "../../encoder/drawing/drawing.js";
import { roomNews } from "./room_news.js";
import { eventId, unpack } from "../../encoder/drawing/shared.js";
import { mounted } from "./mounted.js";

const PAUSE = 300; // milliseconds: thirty may answer at once
const LOST = 2000; // milliseconds after which another part no longer waits for this one's run

class RoomRefresh {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.root = make("i", { class: "enc-refresh" });
    parent.append(this.root);
    this.hear = (news) => this.take(news);
    roomNews().listeners.add(this.hear);
  }

  /** @param {Component} component */
  update(component) {
    this.component = component;
    if (roomNews().refreshing === this) roomNews().refreshing = null;
    /** @type {Block<RefreshHeader>} */
    const { header } = unpack(component.data);
    this.activity = header.activity;
    this.counts = null; // what Python has drawn: those of the first news that is not newer
    this.take(roomNews().heard ?? {});
  }

  /** @param {RoomMessage} news */
  take(news) {
    if (news.away) this.counts = ""; // Python could not draw them
    if (news.activity === undefined || !this.component) return;
    const counts = [news.here, news.follow, news.answers, news.activity].join();
    if (this.counts === null && news.activity <= this.activity) this.counts = counts;
    if (counts === this.counts) return;
    this.counts = counts;
    this.waiting ??= setTimeout(() => this.ask(), PAUSE);
  }

  // One part of the page after the other: Streamlit takes no requests of two at once.
  ask() {
    const news = roomNews();
    const now = performance.now();
    const waits = news.refreshing && news.refreshing !== this && now - news.refreshedAt < LOST;
    if (waits || !news.mayAsk()) {
      this.waiting = setTimeout(() => this.ask(), PAUSE);
      return;
    }
    this.waiting = undefined;
    news.refreshing = this;
    news.refreshedAt = now;
    this.component.setTriggerValue("changed", { id: eventId() });
  }

  destroy() {
    clearTimeout(this.waiting);
    this.root.remove();
    roomNews().leave(this.hear);
  }
}

export default mounted(RoomRefresh);
