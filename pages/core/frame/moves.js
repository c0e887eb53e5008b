// The history of the browser. What a person does is one entry, however often the address changes because of it: when a
// visitor opens a page, Streamlit pushes the address without the view, which is added a moment later. And an answer
// writes the address of its own entry only.
//
// Streamlit's client writes each address that comes into the entry that is open, and after Back or Forward the answer to
// a request from the entry before may still come. So a move has a number, which each request says (reconnect.js) until
// a run that has read it repeats it (MOVE in url_state.py). Until then no address is written: what comes is of earlier
// runs. The runs of a session follow one another, so all that comes later knows of the move.
//
// The number says to the server, too, that the address decides: without values it means the usual ones, where a click on
// another page, which Streamlit asks for without values, keeps them.
const MOVE = "move";

const parameters = (search) => String(new URLSearchParams(search));

export function listenToMoves() {
  const [push, replace] = [history.pushState.bind(history), history.replaceState.bind(history)];
  let acted = false; // whether a person has done something since the last new address
  let newest = 0; // move
  let [isAsked, isAnswered] = [false, true]; // whether a request has said it, and a run has repeated it
  let before = new URL(location.href);

  function write(state, url, isNew) {
    const to = new URL(url ?? location.href, location.href);
    const number = Number(to.searchParams.get(MOVE));
    if (number) to.searchParams.delete(MOVE);
    const isSamePage = to.pathname === location.pathname; // the server names no other page in an address
    const [isLate, isSame] = [
      isAsked && !isAnswered,
      isSamePage && parameters(to.search) === parameters(location.search),
    ];
    if (number === newest && isSamePage) isAnswered = true;
    if (isSame ? number : isLate) return;
    (isNew && acted ? push : replace)(state, "", to.href);
    if (isNew) acted = false;
    before = to;
  }
  history.pushState = (state, _unused, url) => write(state, url, true);
  history.replaceState = (state, _unused, url) => write(state, url, false);

  function move() {
    const [from, to] = [before, new URL(location.href)];
    before = to;
    // A link to a part of the page is not a move: Streamlit does not ask.
    if (from.pathname + from.search === to.pathname + to.search && from.hash !== to.hash) return;
    newest = Math.max(newest + 1, Math.round(performance.timeOrigin + performance.now()));
    [isAsked, isAnswered] = [false, false];
  }

  // For a request: the address of its entry, if a move to it has no answer. What Streamlit's client says may be the
  // address of a late answer, or none, as after a click on another page.
  window.__encoderscopeMove = () => {
    if (isAnswered) return "";
    isAsked = true;
    const asked = new URLSearchParams(location.search);
    asked.set(MOVE, String(newest));
    return String(asked);
  };

  for (const act of ["pointerdown", "keydown", "click", "popstate"]) {
    window.addEventListener(act, () => {
      acted = act !== "popstate";
      if (act === "popstate") move(); // before Streamlit hears of it and asks
    }, true);
  }
}
