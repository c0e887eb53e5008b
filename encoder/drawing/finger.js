// One finger on an element: a tap, a double tap, or a long press.

const HOLD_MS = 500;
const DOUBLE_MS = 400;
const STILL_FINGER = 10; // pixels: a finger that moves farther scrolls or drags
const NEAR = 24; // pixels between the two taps of a double tap

export const isTouch = () => matchMedia("(hover: none) and (pointer: coarse)").matches;

// The words for a screen reader: on a touch screen the gestures, then the keys.
export function gestures(taps, keys) {
  return isTouch() ? `${taps} ${keys}` : keys;
}

// Calls `hold(touch)` after a long press and `tap(touch, isDouble)` after a tap; a finger that scrolls and two fingers
// call nothing. touch: { target, clientX, clientY }. takes(event): whether a touch is for the drawing. Where `tap` is
// missing, the browser makes a click of it. An emulated click would reach Plotly as a second one, so it is prevented.
/**
 * @param {{ listen: Function, removed: AbortController }} view
 * @param {Element} element
 * @param {{ hold: (touch: Touched) => void, tap?: (touch: Touched, isDouble: boolean) => void, takes?: (event: TouchEvent) => boolean }} answers
 */
export function listenToFinger(view, element, { hold, tap, takes = () => true }) {
  /** @type {{ touch: Touched, timer: number, isHeld: boolean } | null} */
  let down = null; // { touch, timer, isHeld }
  let last = { time: -Infinity };
  const end = () => {
    clearTimeout(down?.timer);
    down = null;
  };
  const press = () => {
    clearTimeout(down.timer);
    down.isHeld = true;
    hold(down.touch);
  };
  const isNear = (a, b, most) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) <= most;
  const on = (type, action) => view.listen(element, type, action, { capture: true, passive: false });

  on("touchstart", (event) => {
    end();
    if (event.touches.length > 1 || !takes(event)) return;
    const { target, clientX, clientY } = event.touches[0];
    down = { touch: { target, clientX, clientY }, timer: setTimeout(press, HOLD_MS), isHeld: false };
  });
  on("touchmove", (event) => {
    if (down && !down.isHeld && !isNear(down.touch, event.touches[0], STILL_FINGER)) end();
  });
  on("touchcancel", end);
  on("touchend", (event) => {
    if (!down) return;
    const { touch, isHeld } = down;
    end();
    if ((isHeld || tap) && event.cancelable) event.preventDefault();
    if (isHeld || !tap) return;
    const isDouble = event.timeStamp - last.time < DOUBLE_MS && isNear(touch, last.touch, NEAR);
    last = isDouble ? { time: -Infinity } : { time: event.timeStamp, touch };
    tap(touch, isDouble);
  });
  // A long press opens the browser's menu, sometimes before this timer ends.
  on("contextmenu", (event) => {
    if (!down) return;
    event.preventDefault();
    if (!down.isHeld) press();
  });
  view.removed.signal.addEventListener("abort", end);
}
