// What reconnect.js, and the soak that times the parts of a run, read of Streamlit's messages.
export const RERUN = 0x5a; // the first byte of a request for a run (BackMsg.rerun_script)
// ForwardMsg.new_session, script_finished, and the value of the latter where another run follows.
export const [STARTED, ENDED, FOR_ANOTHER] = [0x22, 0x30, 2];

// What a message of the server is: its field of protobuf, and the length or value there; 0 for all that do not matter.
export function kind(bytes) {
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
