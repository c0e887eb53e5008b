// What a browser keeps of its rooms.
const KEPT = "encoderscope:rooms";
const MOST = 8;

// A student's id is kept for this tab, a teacher's key for this browser. A browser may refuse to keep anything: then the
// student gets a new id after a reload, and the teacher has the link with the key.
export function kept() {
  const rooms = {};
  for (const place of places()) Object.assign(rooms, read(place));
  return rooms;
}

export function keep(code, what) {
  const [local, tab] = places();
  if (write(what.key ? local : tab, code, what)) remember(code, what.member ?? "");
}

// A key from a link is kept for this tab until the server has confirmed it: a wrong one replaces no other.
export function keepForTab(code, what) {
  write(places()[1], code, what);
}

function write(place, code, what) {
  const rooms = read(place);
  if (JSON.stringify(rooms[code]) === JSON.stringify(what)) return false;
  delete rooms[code];
  const newest = Object.entries({ ...rooms, [code]: what }).slice(-MOST);
  try {
    place?.setItem(KEPT, JSON.stringify(Object.fromEntries(newest)));
  } catch {
    // no room, or not allowed
  }
  return true;
}

// A student's seat is also a cookie: after a reload the server has it before the page has asked. With two seats in one
// room a browser has no such cookie: each tab knows its own.
function remember(code, member) {
  const before = /(?:^|; )encoderscope_seat=([^;]*)/.exec(document.cookie)?.[1] ?? "";
  const isOther = before.startsWith(`${code}.`) && before !== `${code}.${member}`;
  document.cookie = `encoderscope_seat=${code}.${isOther ? "" : member}; path=/; max-age=43200; SameSite=Strict`;
}

// A student who left does not return when she opens the page Classroom again.
export function forgetSeat() {
  document.cookie = "encoderscope_seat=; path=/; max-age=0; SameSite=Strict";
}

function places() {
  const found = [];
  for (const name of ["localStorage", "sessionStorage"]) {
    try {
      found.push(globalThis[name]);
    } catch {
      found.push(null);
    }
  }
  return found;
}

function read(place) {
  try {
    return JSON.parse(place?.getItem(KEPT) ?? "{}");
  } catch {
    return {};
  }
}
