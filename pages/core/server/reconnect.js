// Streamlit's client reconnects without a message. If the server's process was stopped, the next click reaches a session
// that has never run and knows no callback. So a new connection first repeats the last message whose run had ended, and
// then those whose run had not; pages/core/server/reconnect.py runs the first one without its clicks.
const RERUN = 0x5a; // the first byte of a request for a run (BackMsg.rerun_script)
const [STARTED, ENDED, FOR_ANOTHER] = [0x22, 0x30, 2]; // ForwardMsg.new_session, script_finished and one of its values
let done = null; // the last request whose run has ended
let waiting = []; // the requests since then
let hasStarted = false; // a run since the newest of them

// What a message of the server is: its field of protobuf, and the length or value there; 0 for all that do not matter.
function kind(bytes) {
  let at = 0;
  const number = () => {
    let [value, unit, byte] = [0, 1, 128];
    for (; byte > 127 && at < bytes.length; unit *= 128) value += ((byte = bytes[at++]) & 127) * unit;
    return value;
  };
  while (at < bytes.length) {
    const [field, value] = [number(), number()];
    if (field === STARTED || field === ENDED) return [field, value];
    if (field % 8 === 2) at += value;
    else if (field % 8) break;
  }
  return [0, 0];
}

function hear({ data }) {
  const [field, value] = kind(new Uint8Array(data));
  if (field === STARTED) hasStarted = true;
  if (field !== ENDED || value === FOR_ANOTHER || !hasStarted) return;
  done = waiting.at(-1) ?? done;
  waiting = [];
}

window.WebSocket = class extends WebSocket {
  constructor(url, protocols) {
    super(url, protocols);
    this.isStream = String(url).endsWith("/_stcore/stream");
    if (!this.isStream) return;
    this.addEventListener("message", hear);
    this.addEventListener("open", () => { // before Streamlit's own message
      if (!done) return;
      hasStarted = false;
      const page = location.pathname.slice(new URL(window.__streamlit.BACKEND_BASE_URL).pathname.length);
      super.send(new TextEncoder().encode(`again ${page}${location.search}`));
      for (const message of [done, ...waiting]) super.send(message);
    });
  }

  send(data) {
    if (this.isStream && data[0] === RERUN) {
      waiting.push(data);
      hasStarted = false;
    }
    super.send(data);
  }
};
