// What a browser keeps: for this tab, texts that are too long for the address and a student's seat; for all tabs, a
// teacher's key and the last seat. A browser may refuse to keep anything, or have no room: then a long text is lost with
// a reload, the student gets a new id, and the teacher has the link with the key.
const [TEXTS, ROOMS, LAST] = ["encoderscope:", "encoderscope:rooms", "encoderscope:seat"];
const MOST = 8;
// A link with the teacher's key; the part after "#" is never sent to a server.
const TEACHES = "#teach=";
const CLASSROOM = "classroom"; // the page that returns to the room of the last seat

function place(name) {
  try {
    return globalThis[name];
  } catch {
    return null;
  }
}

function read(name, key, otherwise) {
  try {
    return JSON.parse(place(name)?.getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function write(name, key, value) {
  try {
    place(name)?.setItem(key, JSON.stringify(value));
  } catch {
    // no room, or not allowed
  }
}

// --- texts, by their digests ---

export function texts() {
  const found = read("sessionStorage", TEXTS, []).map((
    digest,
  ) => [digest, place("sessionStorage").getItem(TEXTS + digest)]);
  return Object.fromEntries(found.filter(([, text]) => text !== null));
}

export function keepText(digest, text) {
  try {
    if (sessionStorage.getItem(TEXTS + digest) !== null) return;
    const digests = read("sessionStorage", TEXTS, []);
    for (const old of digests.splice(0, digests.length - MOST + 1)) sessionStorage.removeItem(TEXTS + old);
    sessionStorage.setItem(TEXTS + digest, text);
    write("sessionStorage", TEXTS, [...digests, digest]);
  } catch {
    // no room, or not allowed
  }
}

// --- rooms, by their codes: {member, waiting} of a student, with her answers that are not sent yet; {key} of a teacher ---

export const rooms = () => ({ ...read("localStorage", ROOMS, {}), ...read("sessionStorage", ROOMS, {}) });

function put(name, code, what) {
  const { [code]: _, ...others } = read(name, ROOMS, {});
  write(name, ROOMS, Object.fromEntries(Object.entries({ ...others, [code]: what }).slice(-MOST)));
}

export function keepSeat(code, what) {
  put(what.key ? "localStorage" : "sessionStorage", code, what);
  if (!what.member) return;
  // With two seats in one room a browser has no last seat: each tab knows its own.
  const last = read("localStorage", LAST, {});
  const isOther = last.code === code && last.member !== what.member;
  write("localStorage", LAST, { code, member: isOther ? "" : what.member });
}

// A room that no longer exists.
export function forgetRoom(code) {
  for (const name of ["localStorage", "sessionStorage"]) {
    const { [code]: gone, ...others } = read(name, ROOMS, {});
    if (gone) write(name, ROOMS, others);
  }
}

// A student who left does not return when she opens the page Classroom again.
export const forgetSeat = () => place("localStorage")?.removeItem(LAST);

// The seat for a session that begins on a page. code: of the room in its address, "" for none; an invitation to
// Classroom gives a second student of the same browser a seat of her own.
export function seat(page, code) {
  if (code && location.hash.startsWith(TEACHES)) {
    // For this tab until the server has confirmed it: a wrong key replaces no other.
    put("sessionStorage", code, { ...rooms()[code], key: location.hash.slice(TEACHES.length) });
    history.replaceState(history.state, "", location.pathname + location.search); // a projector shows the address
  }
  if (rooms()[code]) return { code, ...rooms()[code] };
  const last = read("localStorage", LAST, {});
  const returns = code ? code === last.code && page !== CLASSROOM : page === CLASSROOM;
  return returns && last.member ? last : {};
}
