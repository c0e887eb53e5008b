// The line of a room: who follows, what is left of the timer, and buttons. It hears of the room's changes and asks Python
// for another run only for a version that Python has not read.
import { make } from "../../encoder/drawing/drawing.js";
import { keepSeat } from "./kept.js";
import { roomNews } from "./room_news.js";
import { eventId, unpack } from "../../encoder/drawing/shared.js";
import { mounted } from "./mounted.js";

// Milliseconds after a run in which the page is not complete yet, after which a request counts as lost, and after which
// a browser that waits for its seat asks again: a class does so one by one.
const [SETTLED, LOST, AGAIN] = [400, 6000, 1000];
const UNSERVED = "This server has no rooms: start Encoderscope with “encoderscope” or “make run”.";
const OVER = 10_000; // milliseconds in which a timer that has ended says so
const LINE = 44; // pixels of the room's line
// Where a student types an answer. A form sends it with its button, so until then only this field has it.
const FIELD = ':is([class*="st-key-ballot"], .st-key-room-question) :is(textarea, input[type="text"])';

/** @type {() => DOMStringMap} */
const appState = () =>
  /** @type {HTMLElement | null} */ (document.querySelector('[data-testid="stApp"]'))?.dataset ?? {};

function connected() {
  const state = appState().testConnectionState;
  return !state || state === "CONNECTED";
}

class RoomStrip {
  /** @type {StripHeader} */
  room; // of the last run
  /** @type {RoomMessage} */
  news; // the newest

  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.words = make("span", { class: "enc-room-words" });
    this.counts = make("span", { class: "enc-room-counts" });
    this.clock = make("span", { class: "enc-room-clock", role: "timer" });
    this.note = make("span", { class: "enc-room-note", role: "status" });
    this.buttons = make("span", { class: "enc-room-buttons" });
    const line = make(
      "div",
      { class: "enc-room", popover: "manual" },
      this.words,
      this.counts,
      this.clock,
      this.note,
      this.buttons,
    );
    line.setAttribute("role", "region");
    line.setAttribute("aria-label", "Room");
    this.root = line;
    parent.append(line);
    this.ranAt = -SETTLED;
    this.hear = (news) => this.take(news);
    roomNews().listeners.add(this.hear);
    this.ticking = setInterval(() => this.tick(), 100);
    this.touch = ({ target }) => {
      if (target.closest?.('[class*="st-key-ballot"] :is(button, label)')) navigator.vibrate?.(12);
    };
    document.addEventListener("click", this.touch, true); // before a press draws its button again
    this.back = () => {
      if (this.room?.member && !this.isAway()) roomNews().wentBack = performance.now();
    };
    globalThis.addEventListener("popstate", this.back);
  }

  /** @param {Component} component */
  update(component) {
    this.component = component;
    /** @type {Block<StripHeader>} */
    const { header } = unpack(component.data);
    this.room = header;
    this.root.dataset.version = String(header.version);
    this.ends = header.timer === null ? -Infinity : performance.now() + 1000 * header.timer;
    if (this.root.matches(":popover-open") === header.hidden) this.root.togglePopover(!header.hidden);
    document.documentElement.classList.toggle("enc-in-room", !header.hidden);
    document.documentElement.classList.toggle("enc-spotlight", header.spotlight);
    this.bringSpotlight();
    this.words.textContent = header.words;
    this.buttons.replaceChildren(...header.buttons.map((button) => this.button(button)));
    document.documentElement.classList.toggle("enc-joins", header.asks);
    document.documentElement.classList.toggle("enc-on-wall", header.wall);
    if (header.asks) {
      this.asksAt = performance.now() + AGAIN * (1 + Math.random());
      return;
    }
    if (header.member || header.key || header.wall) {
      const { member, waiting, key } = header;
      if (!header.wall) keepSeat(header.code, member ? { member, waiting } : { key });
      const place = `_rooms/${header.code}?${new URLSearchParams({
        member: header.member,
        desk: header.desk ? "1" : "",
      })}`;
      roomNews().open(place);
    }
    this.say();
    this.tick();
  }

  /** @param {StripButton} button */
  button({ name, label, title, pressed, primary }) {
    const made = make("button", { type: "button", class: primary ? "enc-room-primary" : "" }, label);
    made.dataset.name = name;
    if (title) made.title = title;
    if (pressed !== undefined) made.setAttribute("aria-pressed", String(pressed));
    made.addEventListener("click", () => this.send({ event: "press", name }));
    return made;
  }

  /** @param {RoomMessage} news */
  take(news) {
    this.news = news.lost ? { ...this.news, ...news } : news;
    this.say();
    this.catchUp();
  }

  isRunning() {
    const isSo = appState().testScriptState === "running";
    if (isSo) this.ranAt = performance.now();
    return isSo;
  }

  isAway() {
    return this.room.buttons.some(({ name }) => name === "return");
  }

  // The browser's Back opens what the class saw before, so Python takes it for a way of her own. Nobody leaves the class
  // by it: when that page is drawn, she returns.
  returnAfterBack() {
    const news = roomNews();
    if (performance.now() - news.wentBack > LOST || !this.isAway() || this.isRunning() || !connected()) return;
    news.wentBack = -Infinity;
    this.send({ event: "press", name: "return" });
  }

  // The room has changed since Python read it: ask for a run, again if the request was lost.
  catchUp() {
    const { version, closed } = this.news ?? {};
    const isNews = closed || version > this.room?.version || (version && this.room?.stale);
    if (!this.component || this.room.hidden || !isNews) return;
    const news = roomNews(); // for all lines of the page: the next page's line knows what this one has asked for
    if (!connected()) {
      news.asked = null;
      return;
    }
    const now = performance.now();
    const isAsked = news.asked === (version ?? "closed");
    // Until a run has ended the browser may not know yet which page it is on: its request would open the page before, and
    // take the place of a click whose run has not begun. Just after a run this line may not have heard yet which version
    // it has read, and widgets may not have their values yet: a run at that moment would leave them empty.
    const waits = Date.now() - (window.__encoderscopeAsked?.() ?? 0) < LOST;
    if (
      this.isRunning() || waits || now - this.ranAt < SETTLED ||
      (isAsked && now - Math.max(news.askedAt, this.ranAt) < LOST)
    ) {
      return;
    }
    if (!news.mayAsk()) return; // the next tick tries again
    news.asked = version ?? "closed";
    news.askedAt = now;
    this.send({ event: "news", ...this.draft() });
  }

  // What is typed and not sent: the run that is asked for may take its field from the page.
  draft() {
    const news = roomNews();
    news.field = document.querySelector(FIELD);
    const question = news.field?.closest('[class*="st-key-room-"]:not(.st-key-room-question)')?.className
      .match(/st-key-room-(\w+-\d+)/)?.[1];
    news.draft = question ? { question, draft: news.field.value } : {};
    return news.draft;
  }

  // Letters typed between the request and the run that took the field.
  sendRest() {
    const news = roomNews();
    if (!news.field || news.field.isConnected || this.isRunning() || !connected()) return;
    const draft = news.field.value;
    news.field = null;
    if (news.draft.question && draft !== news.draft.draft) this.send({ event: "draft", ...news.draft, draft });
  }

  // What pulses is brought into the window with each change of the room, when the page has been drawn.
  bringSpotlight() {
    if (!this.room.spotlight || this.room.version === this.brought) return;
    this.brought = this.room.version;
    setTimeout(() => {
      const found = document.querySelectorAll(".enc-root .layer-above .shapelayer path, .enc-root .enc-selected");
      const shown = [...found].find((element) => element.getClientRects().length);
      const { top, bottom } = shown?.getBoundingClientRect() ?? {};
      // A student may have scrolled elsewhere, or have a smaller window. The teacher's own page stays where it is.
      if (shown && !this.room.key && (top < 0 || bottom > innerHeight - LINE)) {
        shown.scrollIntoView({ block: "center", inline: "nearest" });
      }
    }, SETTLED);
  }

  say() {
    const { here, follow, answers, away, lost, missing } = this.news ?? {};
    const known = this.room?.desk && here !== undefined;
    const asked = this.room?.asks_class ? ` · ${answers} ${answers === 1 ? "answer" : "answers"}` : "";
    this.counts.textContent = known ? `${here} here · ${follow} follow${asked}` : "";
    const wait = lost || !connected() ? "Reconnecting …" : "";
    const trouble = missing ? UNSERVED : away ? "The server waits for its room store …" : wait;
    this.note.textContent = trouble || this.room?.note || "";
  }

  tick() {
    this.catchUp();
    if (this.component && !this.room.hidden) this.returnAfterBack();
    if (this.component) this.sendRest();
    if (connected() !== this.connected) this.say();
    this.connected = connected();
    if (
      this.room?.asks && connected() && !this.isRunning() && performance.now() > this.asksAt && roomNews().mayAsk()
    ) {
      this.asksAt = performance.now() + LOST;
      this.send({ event: "news" });
    }
    if (!(performance.now() < this.ends + OVER)) { // without a timer, too
      this.clock.textContent = "";
      return;
    }
    const left = Math.max(0, Math.ceil((this.ends - performance.now()) / 1000));
    this.clock.textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    this.clock.classList.toggle("enc-room-over", left === 0);
  }

  /** @param {StripEvent} value */
  send(value) {
    this.component.setTriggerValue("said", { ...value, id: eventId() });
  }

  destroy() {
    clearInterval(this.ticking);
    document.removeEventListener("click", this.touch, true);
    globalThis.removeEventListener("popstate", this.back);
    roomNews().leave(this.hear);
    document.documentElement.classList.remove("enc-in-room", "enc-joins", "enc-spotlight", "enc-on-wall");
    this.root.remove();
  }
}

export default mounted(RoomStrip);
