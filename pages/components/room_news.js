// What a browser hears of its room, one stream for the whole page: the frame draws the strip again and again, and a new
// stream each time would cost a connection.
import { appUrl } from "./address.js";

// Milliseconds after which a silent stream counts as dead; the server says every 5 s that all is well.
const SILENCE = 12_000;
const APART = 50; // milliseconds between the requests of two parts of a page

class RoomNews {
  constructor() {
    /** @type {RoomMessage | null} */
    this.heard = null; // the newest message
    this.listeners = new Set();
    this.askedLast = -Infinity; // when a part of the page has last asked Python for a run
    this.wentBack = -Infinity; // when a follower has pressed the browser's Back
    /** @type {HTMLInputElement | null} */
    this.field = null; // of an answer, when a run was asked for; and what it said
    this.draft = {};
    const wake = () => this.place && document.visibilityState === "visible" && this.connect();
    for (const event of ["online", "pageshow", "focus"]) globalThis.addEventListener(event, wake);
    document.addEventListener("visibilitychange", wake);
    globalThis.addEventListener("offline", () => this.tell({ lost: true }));
    setInterval(() => this.check(), 1000);
  }

  // Listen to this address; the same one again changes nothing.
  open(place) {
    if (place === this.place) return;
    this.place = place;
    this.heard = null;
    this.connect();
  }

  connect() {
    this.stream?.close();
    this.last = performance.now();
    const stream = this.stream = new EventSource(appUrl(this.place));
    const hear = (news) => {
      if (stream !== this.stream) return;
      this.last = performance.now();
      this.heard = news;
      this.tell(news);
    };
    stream.onmessage = (event) => hear(JSON.parse(event.data));
    stream.addEventListener("alive", () => {
      this.last = performance.now();
    });
    stream.addEventListener("closed", () => {
      stream.close();
      hear({ closed: true });
    });
    stream.onerror = () => {
      if (stream !== this.stream || this.heard?.closed) return;
      this.tell({ lost: true });
      if (!this.heard && stream.readyState === EventSource.CLOSED) this.probe();
    };
  }

  // Plain Streamlit has no such address, and answers it with its page: nothing would ever come.
  async probe() {
    const stop = new AbortController();
    try {
      const { status, headers } = await fetch(appUrl(this.place), { signal: stop.signal });
      const isMissing = status === 404 || (headers.get("content-type") ?? "").startsWith("text/html");
      if (isMissing && !this.heard) this.tell({ lost: true, missing: true });
    } catch {
      return; // the server is away: the stream is opened again soon
    } finally {
      stop.abort();
    }
  }

  // A stream that the browser gave up, or in which nothing has come for long, is opened again.
  check() {
    if (!this.place || this.heard?.closed || document.visibilityState === "hidden") return;
    const silent = performance.now() - this.last;
    if (silent > SILENCE || (this.stream.readyState === EventSource.CLOSED && silent > 2000)) this.connect();
  }

  /** @param {RoomMessage} news */
  tell(news) {
    for (const listener of this.listeners) listener(news);
  }

  // Streamlit drops all but one of the parts that ask for a run at one moment. Whether nothing has asked just now: then
  // the caller asks, and the others try again soon.
  mayAsk() {
    const now = performance.now();
    if (now - this.askedLast < APART) return false;
    this.askedLast = now;
    return true;
  }

  // Who left the room is soon not counted; another page's strip comes at once.
  leave(listener) {
    this.listeners.delete(listener);
    setTimeout(() => {
      if (this.listeners.size) return;
      this.stream?.close();
      this.place = this.stream = this.heard = null;
    }, 3000);
  }
}

export const roomNews = () => (globalThis.__encoderscopeRoom ??= new RoomNews());
