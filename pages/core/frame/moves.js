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
  let [newest, unanswered] = [0, 0]; // moves; the second is 0 when a run has answered
  let isMoving = false; // while Streamlit hears of a move
  let before = new URL(location.href);

  function write(state, url, isNew) {
    const to = new URL(url ?? location.href, location.href);
    const move = Number(to.searchParams.get(MOVE));
    if (move) to.searchParams.delete(MOVE);
    const isSamePage = to.pathname === location.pathname; // that of another page comes from Streamlit's client
    if (move && move === unanswered && isSamePage) {
      unanswered = 0;
      return;
    }
    const isSame = isSamePage && parameters(to.search) === parameters(location.search);
    if (isSame ? move : unanswered) return;
    (isNew && acted ? push : replace)(state, "", to.href);
    if (isNew) acted = false;
    before = to;
  }
  history.pushState = (state, _unused, url) => write(state, url, true);
  history.replaceState = (state, _unused, url) => write(state, url, false);

  // The address of this entry, with the number of a move to it.
  function numbered(move) {
    const to = new URL(location.href);
    to.searchParams.set(MOVE, String(move));
    return to;
  }

  function move() {
    const [from, to] = [before, new URL(location.href)];
    before = to;
    // A link to a part of the page is no move: Streamlit does not ask.
    if (from.pathname + from.search === to.pathname + to.search && from.hash !== to.hash) return;
    newest = Math.max(newest + 1, Math.round(performance.timeOrigin + performance.now()));
    isMoving = true;
    replace(history.state, "", numbered(newest).href); // Streamlit's listener, which comes next, reads it
    window.addEventListener("popstate", () => {
      isMoving = false;
      replace(history.state, "", to.href);
    }, { once: true });
  }

  // For a request: the address of its entry, if a move to it has no answer. What Streamlit's client says may be the
  // address of a late answer, or none, as after a click on another page.
  window.__encoderscopeMove = () => {
    if (isMoving) unanswered = newest;
    return unanswered && numbered(unanswered).search.slice(1);
  };

  for (const act of ["pointerdown", "keydown", "click", "popstate"]) {
    window.addEventListener(act, () => {
      acted = act !== "popstate";
      if (act === "popstate") move();
    }, true);
  }
}
