// Every connection begins with what this browser kept (pages/state/kept.py). Streamlit's client reconnects without a
// message: if the server's process was stopped, the next click would reach a session that has never run and knows no
// callback. So after a reconnect the last message whose run had ended is repeated, which runs the page without its clicks
// (pages/core/server/reconnect.py); when it has run, those whose run had not, one by one.
import { seat, texts } from "../../components/kept.js";
import { ENDED, FOR_ANOTHER, kind, RERUN, STARTED } from "./message_kind.js";

// Milliseconds for which the last run's messages are still drawn, and for which requests wait for the first run at most.
const [DRAWN, LATEST] = [100, 15_000];
// Milliseconds for which a repeated request holds up the next one at most.
const HELD = 3000;
// Milliseconds in which the run of a later request begins, longer than the server holds a message
// (pages/base/work/whole_callbacks.py); in which a click becomes a request; of the longest press.
const [BEGINS, ASKS, PRESS] = [600, 50, 1000];
// Before each repeated request: the messages that it says this browser has may be gone since.
const AGAIN = new TextEncoder().encode("again");
let done = null; // the last request whose run has ended, and when it was sent
let waiting = []; // the requests since then
let address = ""; // before the first of them
let hasStarted = false; // a run since the newest of them
let runs = 0; // that have begun, and connections that have ended
let current = null; // the newest socket
let pressed = -PRESS; // when the pointer went down, if it has not come up
let returning = null; // a socket whose first run, or that of a repeated request, goes on after a reconnect
let turn = 0; // of these runs

const here = () =>
  location.pathname.slice(new URL(window.__streamlit.BACKEND_BASE_URL).pathname.length) + location.search;
// The room store does not answer: the page is not drawn, and the room's line asks again.
const joins = () => document.documentElement.classList.contains("enc-joins");
const isRunning = () =>
  /** @type {HTMLElement | null} */ (document.querySelector('[data-testid="stApp"]'))?.dataset.testScriptState ===
    "running";

function hear(socket, data) {
  const [field, value] = kind(new Uint8Array(data));
  if (field === STARTED) {
    hasStarted = true;
    runs++;
  }
  if (field !== ENDED || value === FOR_ANOTHER || !hasStarted) return;
  if (returning === socket) {
    whenDrawn(socket, turn);
    return;
  }
  // The run that ended may have begun before the newest request arrived: then another one begins at once.
  const [answered, before] = [waiting.length, runs];
  const forget = () => {
    if (runs !== before) return;
    done = waiting[answered - 1] ?? done;
    waiting = waiting.slice(answered);
  };
  if (answered > 1) setTimeout(forget, BEGINS);
  else forget();
}

// Whether this session has its seat is known when the page has drawn the run.
function whenDrawn(socket, of) {
  setTimeout(() => isRunning() ? whenDrawn(socket, of) : joins() || goOn(socket, of), DRAWN);
}

// The next request that no run has answered, after the first run. Of two at once Streamlit may drop the click of the
// first: its client asks for a run of its own after a reconnect, and the button may come with the run before the click.
function goOn(socket, of) {
  if (returning !== socket || of !== turn) return;
  if (turn++) done = waiting.shift();
  hasStarted = false;
  if (waiting.length) socket.repeat(waiting[0]);
  if (waiting.length > 1) setTimeout(() => goOnAtOnce(socket, of + 1), HELD);
  else returning = null;
}

// A run that takes long keeps no click waiting.
function goOnAtOnce(socket, of) {
  if (returning !== socket || of !== turn) return;
  returning = null;
  hasStarted = false;
  for (const request of waiting.slice(1)) socket.repeat(request);
}

function begin(socket) {
  document.documentElement.classList.remove("enc-away");
  const [at, query] = (waiting.length ? address : here()).split("?");
  const said = {
    texts: texts(),
    seat: seat(at, new URLSearchParams(query).get("room") ?? ""),
    ...(done && { address: `${at}?${query ?? ""}`, heard: done.sent }),
  };
  socket.say(new TextEncoder().encode(`begins ${JSON.stringify(said)}`));
  if (!done) return; // Streamlit asks for the first run
  hasStarted = false;
  returning = socket;
  turn = 0;
  socket.say(done.data);
  late(socket);
}

// Without its seat in the room, a session would hear a click on the room's line and do nothing.
function late(socket) {
  setTimeout(() => joins() && returning === socket ? late(socket) : goOn(socket, 0), LATEST);
}

// Streamlit drops what is asked once it has heard that the connection ended. It hears so when each click until then has
// become a request, that of a button that is pressed now, too; from then on nothing can be pressed.
function end(socket, event) {
  if (!event.isTrusted) return; // Streamlit hears it now
  event.stopImmediatePropagation();
  runs++;
  const tell = () => {
    if (performance.now() - pressed < PRESS) return void setTimeout(tell, ASKS);
    if (socket === current) document.documentElement.classList.add("enc-away");
    setTimeout(() => socket.dispatchEvent(new event.constructor(event.type, event)), ASKS);
  };
  tell();
}

window.addEventListener("pointerdown", () => pressed = performance.now(), true);
for (const name of ["pointerup", "pointercancel"]) window.addEventListener(name, () => pressed = -PRESS, true);

// For the room's line: when the newest request without an answer was sent, 0 if all are answered.
window.__encoderscopeAsked = () => waiting.at(-1)?.sent ?? 0;

window.WebSocket = class extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols);
    this.isStream = String(url).endsWith("/_stcore/stream");
    if (!this.isStream) return;
    current = this;
    this.addEventListener("message", ({ data }) => hear(this, data));
    for (const name of ["error", "close"]) this.addEventListener(name, (event) => end(this, event));
    this.addEventListener("open", () => begin(this)); // before Streamlit's own message
  }

  say(data) {
    super.send(data);
  }

  // move: what core/frame/moves.js says of the request.
  ask({ data, move }) {
    if (move) this.say(new TextEncoder().encode(`moved ${move}`));
    this.say(data);
  }

  repeat(request) {
    this.say(AGAIN);
    this.ask(request);
  }

  /** @override */
  send(data) {
    if (this.isStream && data[0] === RERUN) {
      if (!waiting.length) address = here();
      const request = { data, move: window.__encoderscopeMove?.(), sent: Date.now() };
      waiting.push(request);
      if (returning && !joins()) return;
      hasStarted = false;
      this.ask(request);
    } else super.send(data);
  }
};
