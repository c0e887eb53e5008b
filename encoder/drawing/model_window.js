// The window of a long input: which tokens the rows show, and which the host is asked for.
/** @import { ModelView } from "./model_view.js" */

const PAN_MS = 120; // a hand that drags the window asks for its last place only
const CONTEXT = 8; // tokens before the query, where not all of them have room

export class TokenWindow {
  /** @param {ModelView} view */
  constructor(view) {
    this.view = view;
    this.start = 0; // position of the first token that the reader wants to see
    /** @type {number | null} first token of the host's window that is asked for, until it comes */
    this.wanted = null;
    /** @type {Set<number>} all that were asked for, of this input */
    this.asked = new Set();
  }

  // After a new header. isSame: it has the tokens of the one before.
  /** @param {boolean} isSame */
  read(isSame) {
    const { first, labels, query, asked } = this.view.header;
    // An answer to an older wish of the reader's must not undo the newest. Other tokens come with a link or another input.
    const isAnswer = asked !== null && this.asked.has(asked);
    if (!isSame && !isAnswer) this.forget();
    if (asked === this.wanted) this.settle();
    const isInside = this.start >= first && this.start < first + labels.length;
    const isKept = this.wanted !== null || (isInside && (isSame || isAnswer));
    if (!isKept) this.start = first + Math.max(0, (query ?? 0) - CONTEXT);
  }

  // The first token that is shown, in the header's window: where the reader moved to, else around the query.
  get from() {
    return this.start - this.view.header.first;
  }

  // [position of the first token that is shown, their number]; while the host is asked for others, theirs.
  get shown() {
    const { header, place } = this.view;
    return [this.wanted === null ? header.first + place.first : this.start, place.count];
  }

  // The first token of the host's window, so that a selection keeps it; null where all tokens are here.
  get first() {
    const { header } = this.view;
    return header.count > header.labels.length ? this.wanted ?? header.first : null;
  }

  // Whether the host's window holds all tokens that the reader moved to.
  get isHere() {
    const { header: { first, labels }, place } = this.view;
    return this.start >= first && this.start + place.count <= first + labels.length;
  }

  // Shows other tokens: at once where their numbers are here, else the host is asked for them.
  /** @param {number} position */
  panTo(position) {
    const { header, place } = this.view;
    this.start = Math.max(0, Math.min(position, header.count - place.count));
    if (this.isHere) {
      if (this.wanted !== null) this.ask(header.first); // the host is about to show others
      return this.view.draw();
    }
    const middle = this.start - Math.floor((header.labels.length - place.count) / 2);
    this.ask(Math.max(0, Math.min(middle, header.count - header.labels.length)));
    this.view.input.paintSoon();
  }

  /** @param {number} first */
  ask(first) {
    this.wanted = first;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.asked.add(first);
      this.view.send("pan", { first });
    }, PAN_MS);
  }

  // The window that was asked for is here.
  settle() {
    this.wanted = null;
    clearTimeout(this.timer);
  }

  forget() {
    this.settle();
    this.asked.clear();
  }
}
