// The question of the search on its way: `find` sends one, `ask` carries it to the server and returns the answer.

class Asking {
  constructor() {
    /** @type {FindAnswer | null} */
    this.answer = null; // to the last question
    this.page = ""; // the folder of the open page
    /** @type {((typed: string) => void) | null} */
    this.send = null; // null until a server listens
    /** @type {(() => void) | null} */
    this.onAnswer = null;
  }

  /** @param {FindAnswer} answer */
  tell(answer) {
    this.answer = answer;
    this.onAnswer?.();
  }
}

// One for the page: both components are scripts of their own.
/** @type {() => Asking} */
export const asking = () => (globalThis.__encoderscopeAsking ??= new Asking());
