// The types of headers and events, as Python has them. `python -m tests.javascript_types` writes it.
// A header is what the browser gets next to its arrays, an event what it sends back.

type Side = "encoder" | "decoder";
type RowPlace = "" | "component" | "key" | "neuron" | "head" | "query" | "source";
type Share = [string, number];
type PartRow = [string, number, string, number, RowPlace];
type PartCheck = [string, number, number, number, boolean, number];

/** A Plotly figure of one map. */
interface FigureHeader {
  figure: any;
  name: string;
  alt: string;
  places: Array<Array<number>>;
  height: number;
}

/** Attention as lines between R queries and C keys, of N heads. */
interface LinesHeader {
  tokens: Array<string>;
  keyTokens: Array<string> | null;
  names: Array<Record<number, string>>;
  labels: Array<string>;
  colours: Array<string>;
  queries: Array<number>;
  keys: Array<number>;
  threshold: number;
  name: string;
  alt: string;
}

/** A text of U units, shaded by weights. */
interface TextHeader {
  paragraphs: Array<Array<[string, number]>>;
  labels: Array<string>;
  selected: Array<number>;
  special: Array<number>;
  direction: "to" | "from";
  scaleToMax: boolean;
  log: boolean;
  name: string;
  alt: string;
}

/** The label of arrays that come by themselves, once (pages/components/store.py). */
interface StoredArrays {
  name: string;
  digest: string;
}

/** All heads as small maps, L layers down and H heads across. */
interface GridHeader {
  layers: Array<number>;
  heads: Array<number>;
  selected: Array<number> | null;
  pinned: Array<Array<number>>;
  badges: Record<string, string>;
  badgeTitles?: Record<string, string>;
  badgeMarks?: Record<string, string>;
  divide: number | null;
  sharing: number;
  order: Array<Array<number>> | null;
  measureLabel: string;
  measureRange: Array<number>;
  name: string;
  alt: string;
  maps?: StoredArrays;
  leadsTo?: string | null;
  heard?: number;
  shows?: string | null;
}

/** A switch of the model's picture. */
interface ModelSwitch {
  name: string;
  label: string;
  title?: string;
  on: boolean;
}

/** Switches in the bar, and power buttons of the open layer. */
interface ModelSwitches {
  bar: Array<ModelSwitch>;
  power: Array<ModelSwitch>;
}

/** The input as a whole, next to the rows of the model's picture. */
interface InputHeader {
  kind: string;
  of: number | null;
  labels?: Array<string>;
  rows?: number;
  columns?: number;
  patches?: Array<number>;
  tile?: number;
  uri?: string;
  smooth?: boolean;
  spans?: Array<[number, number, number | null] | null>;
  seconds?: number;
}

/** The other input of a pair, and the cosine of the two vectors. */
interface PairEnd {
  name: string;
  cosine: number;
}

/** A whole vector of an open part. array: its name; role: "q", "k", "v", "neuron" or "". */
interface PartStrip {
  name: string;
  array: string;
  role: string;
}

/** One part for the selected tokens: `model_parts.Opened`. */
interface PartHeader {
  title: string;
  said: string;
  value: number;
  formulas: Array<string>;
  notation: string;
  component: number | null;
  neuron: number | null;
  full: number | null;
  heading: string;
  chosen: number | null;
  rows: Array<PartRow>;
  checks: Array<PartCheck>;
  strips: Array<PartStrip>;
}

/** The tokens, by their positions, whose parts came with the picture. */
interface PartsOf {
  query: number;
  key: number;
  source: number | null;
}

/** The whole model as one picture. Positions count in the whole input, `query` and `key` in the window. */
interface ModelHeader {
  labels: Array<string>;
  first: number;
  count: number;
  asked: number | null;
  row: number;
  layer: number;
  head: number;
  query: number | null;
  key: number | null;
  layers: number;
  heads: number;
  sublayers: Array<string>;
  norm: "pre" | "post";
  norms: Array<string>;
  normName: string;
  takes: string;
  sees: string;
  stages: Array<string>;
  width: number;
  neuronCount: number;
  scale: number;
  pooling: string | null;
  model: string;
  name: string;
  alt: string;
  special: Array<string>;
  input: InputHeader;
  classes: Array<Share>;
  pair: PairEnd | null;
  side?: Side;
  decoder?: ModelHeader;
  isDecoder?: boolean;
  starts?: number;
  inputLabels?: Array<string>;
  inputFirst?: number;
  inputCount?: number;
  strongest?: Array<[number, string, number]>;
  outputs?: Array<Share>;
  next?: Array<Array<Share>>;
  part?: string;
  parts?: Record<string, PartHeader>;
  partsOf?: PartsOf;
  check?: boolean;
  checkSaid?: string;
  options?: Array<ModelSwitch>;
  switches?: ModelSwitches;
  off?: Array<number>;
  effect?: string;
  ending?: Array<string>;
  curves?: boolean;
}

/** The window of a zoomed plot in axis units, low before high, also on an axis that runs downwards. */
interface ZoomWindow {
  x: Array<number>;
  y: Array<number>;
}

/** Selected queries `i` and keys `j`. */
interface PlotSelection {
  i: Array<number>;
  j: Array<number>;
}

/** How a plot draws another head by itself: by its maps, or by what a channel answers. */
interface NextHead {
  grid: string;
  heard: number;
  named: string;
  channel?: string;
  maps?: StoredArrays;
  scaleToMax?: boolean;
  words?: Array<Array<number>> | null;
  least?: number;
  scales?: Array<any>;
  step?: number;
}

/** Key of a container, and the name of its words that change with this figure. */
interface Together {
  key: string;
  name: string;
}

/** A figure as JSON that points at arrays. */
interface FigureMessage {
  figure: any;
  selected: PlotSelection | null;
}

/** A Plotly figure that answers to clicks, keys and zooms. */
interface PlotHeader {
  figure: any;
  selected: PlotSelection | null;
  alt: string;
  height: number;
  name: string;
  plotly: string;
  window: ZoomWindow | null;
  zoomHeard: number;
  zoomLinked: boolean;
  isHeard: boolean;
  modeBar: boolean;
  fill: boolean;
  shows: string | null;
  together: Together | null;
  nextHead: NextHead | null;
}

/** An image with a colour over each patch. */
interface PatchHeader {
  alt: string;
  label: string;
  names: Array<string>;
  tile: number;
  selected: Array<number> | null;
  opacity: number;
  top: number;
  size: number;
  signed: boolean;
  heard: number;
}

/** A candidate of beam search. parent: its place in the list; text: all up to it. */
interface BeamNode {
  step: number;
  parent: number | null;
  label: string;
  logP: number;
  kept: boolean;
  ended: boolean;
  best: boolean;
  text: string;
}

/** The candidates of all steps. */
interface BeamHeader {
  alt: string;
  nodes: Array<BeamNode>;
}

/** `curves.CurveRun`. */
interface RunHeader {
  name: string;
  colour: string;
  dash: string;
  status: string;
  progress: number;
  steps: number;
  active: boolean;
  registers: number;
}

/** `curves.SampleSequence`. */
interface SampleHeader {
  tokens: Array<string>;
  expected: Array<string>;
  classes: Array<string>;
  source: Array<number>;
  labels: Array<string>;
}

/** What runs have come to since a reader's numbers; the arrays have the new ones. */
interface CurvesRefresh {
  runs: Array<RunHeader>;
  seen: Array<any>;
}

/** Runs that train, and the sequence whose attention is shown. */
interface CurvesHeader {
  runs: Array<RunHeader>;
  sample: SampleHeader;
  head: string;
  place: [number, number];
  channel: string;
  query: string;
  name: string;
  alt: string;
}

/** One encoder layer with numbers that a reader changes. */
interface ByHandHeader {
  inputs: Record<string, any>;
  usual: Record<string, any>;
  notes: any;
  problem: boolean;
  heard?: number;
}

/** A square to draw in. side: pixels of the bitmap. */
interface DigitHeader {
  side: number;
}

/** A box on a page: left, upper, right, lower, and its words. */
interface DrawnBox {
  words: string;
  box: Array<number>;
}

/** A page on which boxes are drawn. */
interface BoxesHeader {
  boxes: Array<DrawnBox>;
  largest: number;
  aspect: number;
  heard: number;
}

/** What the search opens. */
interface FindEntry {
  kind: string;
  title: string;
  detail: string;
  page: string;
  values: Record<string, string>;
  control: string;
  steps: Array<string>;
}

/** An entry near to a question, by its number, and why: its text in pieces, and what each adds to the cosine. */
interface FindReason {
  entry: number;
  pieces: Array<string>;
  shares: Array<number>;
}

/** What is near to a question, nearest first. typed: the question. */
interface FindAnswer {
  typed: string;
  found: Array<FindReason>;
}

/** The open page, and the answer to the last question of the search. */
interface AskHeader {
  here: string;
  answer: FindAnswer | null;
}

/** The address of all that the search finds (a list of FindEntry), and the class of the buttons that open it. */
interface FindHeader {
  path: string;
  opener: string;
}

/** A row of attention to draw. */
interface SketchHeader {
  labels: Array<string>;
  question: string;
  button: string;
}

/** What is to be done by hand. `does` says which of the other fields there are; questions/gestures.py makes them. */
interface GestureHeader {
  does: "aim" | "sort" | "softmax" | "paint" | "mask" | "cut";
  labels?: Array<string>;
  keys?: Array<Array<number>>;
  target?: number;
  goal?: number;
  farthest?: number;
  scores?: Array<number>;
  weights?: Record<string, number>;
  given?: any;
  truth?: any;
  whose?: string;
}

/** Texts by their digests. */
interface KeptTextHeader {
  save: Record<string, string>;
}

/** The values of a link, the names of the reader's texts among them, and a sentence. */
interface CopyLinkHeader {
  query: Record<string, string>;
  typed: Array<string>;
  note: string;
  network: string;
}

/** A button of the room's strip. name: what the event has; title: its help; pressed: of one that is on or off. */
interface StripButton {
  name: string;
  label: string;
  title?: string;
  pressed?: boolean;
  primary?: boolean;
}

/** How this visitor is in a room. */
interface RoomHeader {
  code: string;
  version: number;
  stale: boolean;
  member: string;
  waiting?: string;
  key: string;
  desk: boolean;
  asks_class: boolean;
  wall: boolean;
  words: string;
  note: string;
  timer: number | null;
  spotlight: boolean;
  asks: boolean;
  hidden: boolean;
}

/** The same, and the buttons at the end of the line. */
interface StripHeader {
  code: string;
  version: number;
  stale: boolean;
  member: string;
  waiting?: string;
  key: string;
  desk: boolean;
  asks_class: boolean;
  wall: boolean;
  words: string;
  note: string;
  timer: number | null;
  spotlight: boolean;
  asks: boolean;
  hidden: boolean;
  buttons: Array<StripButton>;
}

/** The counter of the room's news that this run has read. */
interface RefreshHeader {
  activity: number;
}

/** The open room and its key, "" without one; left: the browser forgets the student's seat. */
interface DoorHeader {
  code: string;
  secret: string;
  left: boolean;
}

/** A message of the room's stream. closed, lost, missing: from the browser itself, the end of room or connection; a */
interface RoomMessage {
  version?: number;
  activity?: number;
  here?: number;
  follow?: number;
  answers?: number;
  away?: boolean;
  closed?: true;
  lost?: true;
  missing?: true;
}

/** A click on a `plot`, or a key with the same effect. `axis`: */
interface PlotEvent {
  event: "click";
  axis: "cell" | "x" | "y" | "point" | "clear";
  i?: number;
  j?: number;
  trace?: number;
  point?: number;
  x?: any;
  y?: any;
  shift?: boolean;
}

/** One event of `head_grid`. */
interface GridEvent {
  event: "open" | "pin" | "clear";
  layer?: number;
  head?: number;
  shift?: boolean;
}

/** The tokens selected in `lines`, as positions in ascending order; both lists are empty after Esc. */
interface LinesEvent {
  event: "select";
  queries: Array<number>;
  keys: Array<number>;
}

/** The units selected in `text_shade`, in ascending order; empty after Esc. */
interface ShadeEvent {
  event: "select";
  units: Array<number>;
}

/** One event of `model_picture`, with positions in the whole input. */
interface ModelEvent {
  event: "open" | "select" | "pan" | "part" | "switch";
  first?: number | null;
  part?: string;
  check?: boolean;
  component?: number | null;
  neuron?: number | null;
  name?: string;
  on?: boolean;
  layer?: number;
  head?: number;
  query?: number;
  key?: number | null;
  side?: Side;
  source?: number | null;
}

/** "select" has the `row` and the `column` of a patch; "clear" is Esc. */
interface PatchEvent {
  event: "select" | "clear";
  row?: number;
  column?: number;
}

/** All boxes with words, after a change of one. */
interface BoxesEvent {
  boxes: Array<DrawnBox>;
}

/** What the browser said: "news" of the room, or "press" with the `name` of a button. */
interface StripEvent {
  event: "news" | "press" | "draft";
  name?: string;
  question?: string;
  draft?: string;
}
