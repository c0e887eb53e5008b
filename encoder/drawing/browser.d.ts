// Types that only JavaScript has: how a host runs a drawing, arrays of a block, places of a picture. Those of headers and
// events are in pages/components/python.d.ts, written from Python's.

/** The numbers of an array. A block has others than floats, too, with the same methods. */
type Numbers = Float32Array<ArrayBuffer>;

interface WireArray {
  data: Numbers;
  shape: number[];
}

/** Arrays of a block by their names. */
type Arrays = Record<string, WireArray>;

/** What `unpack` reads from bytes. */
interface Block<Header> {
  header: Header;
  arrays: Arrays;
}

/** A host of a drawing: Streamlit, a notebook, or a page of its own, which has `answer` only. */
interface Component {
  data: Uint8Array<ArrayBuffer>;
  parentElement: HTMLElement;
  setStateValue?(name: string, value: unknown): void;
  setTriggerValue?(name: string, value: unknown): void;
  answer?(name: string, value: any): unknown;
}

/** A colour as red, green, blue. */
type Colour = number[];

interface Theme {
  background: string;
  text: string;
  border: string;
  faint: string;
  primary: string;
  muted: string;
  query: string;
  key: string;
  font: string;
  /** Of type; larger in presentation mode. */
  scale: number;
  /** Whether the picture has the window for itself, without controls around it. */
  isStage: boolean;
  /** The share of the window's height that a stage's text has above the picture. */
  textAbove: number;
  /** Pixels that the picture of a printed page fills as if it were a window; 0: it has its usual height. */
  tall: number;
  dark: boolean;
}

/** Pixels of a layer along the way from the tokens to the output. */
interface LayerSpan {
  start: number;
  end: number;
}

/** Where everything of the model's picture is: what `layout` gives. */
interface ModelPlace {
  row: number;
  start: number;
  room: number;
  thin: number;
  top: number;
  bottom: number;
  middle: number;
  embed: number;
  ending: number;
  type: number;
  scale: number;
  turned: boolean;
  /** Rows of the parts' buttons, at most. */
  lanes: number;
  first: number;
  count: number;
  layers: LayerSpan[];
  parts: Record<string, number>;
  stages: number[];
  width: number;
  height: number;
  shows(token: number): boolean;
  y(token: number): number;
  point(x: number, y: number): [number, number];
  box(x: number, y: number, length: number, breadth: number): { x: number; y: number; width: number; height: number };
}

/** The header of what is drawn: of two rivers, one may have thin layers only. */
interface DrawnHeader extends ModelHeader {
  turned?: boolean;
  lanes?: number;
  inPair?: boolean;
}

/**
 * A step of the story. flows: values move along the lines; output: the token of the output that it is about; ms: until
 * the next one, where the output plays by itself.
 */
interface StoryStep {
  part: string;
  text: string;
  flows?: boolean;
  output?: number;
  ms?: number;
}

/** What a drawing sends: the host knows the kind of an event by its name. */
type Sent<Event> = Omit<Event, "event">;

/** A touch, or an event of the pointer, at a place of the window. */
interface Touched {
  target: Element;
  clientX: number;
  clientY: number;
  shiftKey?: boolean;
}

interface Window {
  /** Arrays that a `store` has brought. */
  __encoderscopeStored?: Map<string, { digest: string; arrays: Arrays }>;
  /** Scripts that a loader has fetched. */
  __encoderscopeModules?: Map<string, Promise<any>>;
  /** What Streamlit's client reads before it connects. */
  __streamlit?: { BACKEND_BASE_URL: string; HOST_CONFIG: object };
  /** plotly.js, once for a page. */
  __encoderscopePlotly?: Promise<any>;
  /** When the browser asked for a run that has no answer yet. */
  __encoderscopeAsked?(): number;
  /** The address that a request says after Back or Forward, until a run has answered; "" otherwise. */
  __encoderscopeMove?(): string;
}

declare var Plotly: any;

/** What encoder/live/site.py writes before the service worker: its version and its files. */
declare const VERSION: string;
declare const FILES: string[];
declare const COLOURS: number[];
