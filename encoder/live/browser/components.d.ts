/** One forward pass of a text through an encoder. */
export interface Trace {
  /** The names of the T tokens, special tokens included. */
  tokens: readonly string[];
  /** attention[layer][head]: the weights after the softmax, T rows of T numbers, or T x T numbers row by row. Row i is
   * what token i attends to. */
  attention: readonly (readonly (ArrayLike<number> | readonly ArrayLike<number>[])[])[];
  /** Positions of tokens that are not part of the text, such as [CLS]. */
  special?: readonly number[];
}

/** What is selected. Everything counts from 0; null: no token. */
export interface Place {
  layer: number;
  head: number;
  query: number | null;
  key: number | null;
}

export interface Options extends Partial<Place> {
  /** How the selected head is drawn; by default "lines". */
  view?: "lines" | "text";
  /** Called after the reader has selected a head or a token. */
  onSelect?(place: Place): void;
}

export interface Drawing {
  /** Selects another head or token; onSelect is not called. Throws an Error for one that does not exist. */
  select(place: Partial<Place>): void;
  /** Removes the drawing and its listeners. */
  destroy(): void;
}

/** Draws all heads as small maps, and one of them large, at the end of `element`. Throws an Error that says what does not
 * fit. */
export function drawHeads(element: HTMLElement, trace: Trace, options?: Options): Drawing;
