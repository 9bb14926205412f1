// What the page and the Python side say to each other: one interface for each answer of `Explorer.answer`
// (serve/explorer/questions.py), and what the parts of the page share.  Only type checkers read this file.
//
// A moment is a tile block and a step of it: step 0 is before its first operation, step n after its n-th execution of
// one.  Operations and values have the numbers that `execute/recording/program.py` gives them.

/** Numbers packed as base64 of their little-endian bytes. */
interface Packed {
  type: "u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "f32" | "f64" | "i64" | "u64";
  shape: number[];
  data: string;
}

interface OperationInfo {
  id: number;
  /** Its mnemonic, as `load_view_tko`. */
  name: string;
  /** Its line in the tile program, without indentation. */
  text: string;
  /** How many operations it is nested in. */
  depth: number;
  /** Its line in the form "tile", from 0. */
  line: number;
  /** What it computes in the author's script, or null: `x = ct.load(..)`. */
  script: { file: string; line: number; text: string } | null;
  operands: number[];
  results: number[];
  reads: boolean;
  writes: boolean;
}

interface ValueInfo {
  id: number;
  /** As the tile program has it, `%tile`. */
  name: string;
  /** The variable of the author's script, or null. */
  script: string | null;
  type: string;
  /** null for tokens and views. */
  element: string | null;
  shape: number[] | null;
  /** The operation it is a result of; null for parameters and loop variables. */
  operation: number | null;
}

interface ArrayInfo {
  id: number;
  name: string;
  element: string;
  shape: number[];
  /** In elements. */
  strides: number[];
  bytes: number;
  /** The width that a picture folds an array of one dimension to, else 0. */
  fold: number;
  read: boolean;
  written: boolean;
}

interface Summary {
  title: string;
  kernel: string;
  grid: [number, number, number];
  schedule: string;
  version: string;
  parameters: { name: string; type: string; array: number | null; value: string }[];
  arrays: ArrayInfo[];
  operations: OperationInfo[];
  values: ValueInfo[];
  /** Whether the variables of the author's script are known: `variables`. */
  script: boolean;
  forms: { id: string; title: string; reason: string | null }[];
  targets: { id: string; title: string }[];
  comparisons: { id: string; title: string; reason: string | null }[];
  findings: number;
  /** The error that ended the launch, or null. */
  failure: string | null;
  recording: {
    /** Tile blocks in the order in which they began, by number (x fastest). */
    order: Packed;
    /** How many steps each block has, in the same order. */
    steps: Packed;
    accesses: number;
    bytes: number;
    limit: number;
    /** What is not kept, in sentences; empty if all is. */
    notes: string[];
  };
  /** What a page without a server leaves out, in sentences. */
  notes: string[];
}

/** The accesses of the launch, in the order in which they happened; one row each. */
interface Accesses {
  /** First row and number of rows of this answer, and of all. */
  first: number;
  count: number;
  total: number;
  block: Packed;
  step: Packed;
  operation: Packed;
  /** -1: memory that is no array, as of `alloca`; -2: out of bounds, near no array; -3 - n: outside of array n. */
  array: Packed;
  /** 0 read, 1 write, 2 atomic. */
  kind: Packed;
  /** How many elements of the tile are outside the tensor or masked off. */
  masked: Packed;
  /** Row r owns the boxes from boxStart[r] to boxStart[r + 1]. */
  boxStart: Packed;
  /** The first element of each box, counted in elements from the beginning of the array's memory; out of bounds too. */
  boxFirst: Packed;
  /** Box b has extents and steps (in elements) from extentStart[b] to extentStart[b + 1]. */
  extentStart: Packed;
  extents: Packed;
  strides: Packed;
  /** 1 where boxes cover more than was touched, as a scattered access had too many places to keep. */
  approximate: Packed;
}

/** The elements of an array that several tile blocks touch, one of them writing and not both atomically. */
interface Conflicts {
  elements: number;
  /** Runs of them, in the order of indices: the first of each, and how many. */
  starts: Packed;
  counts: Packed;
}

/** The operations that a tile block executed, one for each step from 1. */
interface Steps {
  block: number;
  id: [number, number, number];
  operation: Packed;
}

/** Everything known at a moment: the newest of each value. */
interface Values {
  block: number;
  step: number;
  values: { value: number; step: number; text: string }[];
}

/** The variables of the author's script at a moment: before the statement that is next. */
interface Variables {
  block: number;
  step: number;
  /** The function that the tile block is in, then those that called it; the last is the kernel. */
  functions: { function: string; variables: Variable[]; unassigned: string[] }[];
}

interface Variable {
  name: string;
  parameter: boolean;
  /** Of a value of the tile program; else empty. */
  type: string;
  /** The value it is, and the step that computed it; null for constants, arrays, and what is optimized away. */
  value: number | null;
  step: number | null;
  array: number | null;
  text: string;
}

/** Each value at each step at which it was computed, up to one: what an exported page is made of. */
interface History {
  block: number;
  values: { value: number; step: number; text: string }[];
}

interface Statistics {
  count: number;
  nan: number;
  infinite: number;
  /** null if no number is finite. */
  least: number | null;
  most: number | null;
  mean: number | null;
  deviation: number | null;
  /** Counts of finite numbers in equal parts from least to most. */
  histogram: number[];
}

/** A tile, or an array, at a moment. */
interface Tile {
  element: string;
  shape: number[];
  statistics: Statistics;
  /** The part that is in `text` and `data`: the first index and the extents. */
  start: number[];
  extents: number[];
  /** Numbers to draw; where `binned`, means of bins. NaN and infinities as they are. */
  data: Packed | NumberArray;
  /** How many elements a bin has along each dimension. */
  binned: number[] | null;
  /** Each element as text, row by row; null where binned. */
  text: string[] | null;
}

interface Form {
  id: string;
  title: string;
  /** "python", "cpp", "tile", "bytecode", "loops", "llvm", "assembly". */
  language: string;
  lines: string[];
  /** For each line the operations of the program that it comes from. */
  links: number[][];
  /** For each line 0 as before, 1 changed or new compared with the form before; for optimizer steps. */
  changed: number[] | null;
  /** Lines that the step before had and this one has not, each with the line before which it stood. */
  removed: { line: number; text: string }[] | null;
  notes: string[];
}

interface FindingPlace {
  operation: number | null;
  block: number | null;
  /** The moment in that tile block, or null where it is not known. */
  step: number | null;
  /** The element of the tile. */
  element: number[] | null;
  /** The access in question, a row of Accesses, or null; and the array it goes to, or is outside of, or null. */
  access: number | null;
  array: number | null;
  /** Whether the access goes to no memory of the launch. */
  outside: boolean;
  /** As in `kernel.py:12`; empty for a program without positions. */
  position: string;
}

interface Finding {
  kind: string;
  title: string;
  text: string;
  details: string[];
  help: string;
  count: number;
  note: boolean;
  place: FindingPlace;
  relation: string;
  other: FindingPlace | null;
}

/** The answer to `findings`, what the sanitizer found, and to `numbers`, where NaNs and infinities come from. */
interface Findings {
  findings: Finding[];
  /** What was looked for, finding or not. */
  checked: { kind: string; text: string }[];
  /** Sentences about what was not looked for, and why. */
  notes: string[];
}

interface Cost {
  target: string;
  title: string;
  memory: { name: string; read: number; written: number; footprint: number }[];
  bytesMoved: number;
  footprint: number;
  operations: { kind: string; count: number }[];
  flops: number;
  /** Operations a byte of the footprint. */
  intensity: number | null;
  roofline: {
    /** Bytes a second. */
    memory: number;
    /** Operations a second. */
    ceilings: { name: string; value: number; used: boolean }[];
    /** Where the kernel stands: intensity, and what it can reach at most there. */
    point: { intensity: number; attainable: number } | null;
  };
  occupancy: {
    registers: number | null;
    sharedMemory: number | null;
    blocksPerMultiprocessor: number | null;
    warps: number | null;
    limit: string;
    reason: string | null;
  };
  waves: { blocks: number; atOnce: number; waves: number; tail: number; reason: string | null };
  time: { seconds: number; reasons: string[] };
  /** Measured here, where it was. */
  measured: number | null;
  sources: string[];
  notes: string[];
}

/** How far two tiles are apart. */
interface Difference {
  /** Elements that differ, and all. */
  different: number;
  count: number;
  /** null: a NaN or an infinity stands against something else. */
  largest: number | null;
  /** Relative to the larger one; null as above. */
  relative: number | null;
  /** In units in the last place of the element's type; null for integers, and as above. */
  ulps: number | null;
  /** The index of the first element that differs. */
  index: number[];
}

/** A moment at which a value differs. */
interface DifferentMoment extends Difference {
  step: number;
  operation: number;
  value: number;
  /** Whether it is so far off that it is worth a look: see `criterion`. */
  wrong: boolean;
}

/** Two runs beside each other. */
interface Comparison {
  id: string;
  title: string;
  /** What the other run is and what counts as wrong, in sentences. */
  criterion: string;
  /** Moments of one tile block whose values differ, in order; of very many the first ones. */
  block: number;
  differences: DifferentMoment[];
  /** How many there are in the block. */
  total: number;
  /** The first moment of the launch at which a value is wrong, or null. */
  first: { block: number; step: number; value: number } | null;
  /** Arrays that differ when the launch is over. */
  arrays: (Difference & { array: number })[];
  notes: string[];
}

// ---- The page ----------------------------------------------------------------------------------------------------

type QuestionParameters = Record<string, string | number>;
type Ask = (question: string, parameters?: QuestionParameters) => Promise<any>;

/** The bundle of a tile block in an exported page: its steps, each value at each step it was computed, and the tiles. */
interface BlockBundle {
  steps: Steps;
  /** The step up to which values are here. */
  last: number;
  values: History["values"];
  /** At the steps at which they change. */
  variables: Variables[];
  tiles: Record<string, Tile>;
  arrays: Record<string, Tile>;
  /** The step up to which arrays are here. */
  arraysLast: number;
  answers: Record<string, unknown>;
}

/** The state of the page: what is selected.  Every view shows it and may change it. */
interface ViewState {
  view: string;
  /** The place in `recording.order`. */
  place: number;
  step: number;
  operation: number | null;
  value: number | null;
  array: number | null;
  /** The form that was chosen last, by its id; empty: those that the view begins with. */
  form: string;
  /** Rows of Accesses that are marked, as the two of a race. */
  marked: number[];
}

interface Context {
  summary: Summary;
  ask: Ask;
  /** Tile blocks in the order in which they began, and how many steps each has. */
  order: NumberArray;
  steps: NumberArray;
  state: ViewState;
  /** The state that the page has opened with. */
  opening: ViewState;
  select(change: Partial<ViewState>): void;
  /** The operations that the tile block at a place executed. */
  executed(place: number): Promise<NumberArray>;
  /** Tells people who cannot see the page. */
  announce(text: string): void;
}

interface View extends PageView<ViewState> {
  /** A picture of what is shown, for papers; null if there is none. */
  picture?(): SVGSVGElement | null;
}

// ---- Memory ----

type AccessTable = import("./accesses.js").AccessTable;
type ArrayCard = import("./array_card.js").ArrayCard;
type Pieces = import("./grid.js").Pieces;

/** Rows and columns of a grid. */
interface Area {
  row: number;
  column: number;
  rows: number;
  columns: number;
}

/** Extent and stride of an axis of a box. */
type Axis = [number, number];

/** The dimensions of a picture: outer ones, then rows, then columns. */
interface Grid {
  sizes: number[];
  /** Elements of memory from one index to the next; never negative. */
  strides: number[];
  /** Dimensions whose index falls while the address rises. */
  reversed: boolean[];
  /** The dimensions with more than one element, largest stride first. */
  order: number[];
  /** The last place of a folded array whose index falls while the address rises, else 0. */
  mirror: number;
  /** The width that a one-dimensional array is folded to, or 0. */
  fold: number;
  /** How many elements the array has; the last row of a folded one may be short. */
  length: number;
  rows: number;
  columns: number;
}

/** The part of the grid that is drawn, in cells. */
interface Frame {
  /** The index in each outer dimension. */
  slice: number[];
  /** The first row and column of elements. */
  row: number;
  column: number;
  /** Elements of a cell. */
  binRows: number;
  binColumns: number;
  /** Cells. */
  rows: number;
  columns: number;
}

interface Outline extends Area {
  color: string;
  width: number;
  dashed?: boolean;
  label?: string;
  shift?: number;
}

/** What is drawn of an array: a pixel for each cell of the frame (0: none), and what lies above. */
interface Scene {
  frame: Frame;
  pixels: Uint32Array;
  /** Cells with any conflict. */
  conflicts: Uint8Array | null;
  outlines: Outline[];
  /** Parts of tiles that are outside of the array. */
  paddings: (Area & { color: string })[];
  races: { row: number; column: number }[];
}

/** Two accesses, and a place in the grid at which they meet. */
interface Race {
  place: number[];
  name: string;
  rows: number[];
  title: string;
  kind: string;
}

interface MemoryOptions {
  color: "last block" | "first block" | "last time" | "first time" | "count";
  /** Reads, writes, atomics. */
  kinds: boolean[];
  /** The whole launch, or up to the step. */
  whole: boolean;
  conflicts: boolean;
}

interface PlotListener {
  /** Another part is seen: draw again. */
  framed(): void;
  pointed(area: Area | null, point: { x: number; y: number }): void;
  picked(area: Area): void;
}

interface CardListener {
  redraw(): void;
  picked(card: ArrayCard, area: Area): void;
  pointed(card: ArrayCard, area: Area | null, point: { x: number; y: number }): void;
}

// ---- Forms ----

/** Lines of what is pointed at, of the chosen operation, and of the one that runs. */
interface Marks {
  lit: Set<number>;
  chosen: Set<number>;
  moment: Set<number>;
}

interface ListingListener {
  /** The line under the pointer or the cursor; null: none. */
  point(line: number | null): void;
  follow(line: number): void;
}

/** Operations of a line that is pointed at or was followed, the form that was chosen, and that a form has come. */
interface PaneListener {
  point(operations: number[]): void;
  follow(operations: number[], from: import("./pane.js").Pane): void;
  choose(form: string): void;
  shown(pane: import("./pane.js").Pane): void;
}

// ---- Values and cost ----

/** Something whose elements can be asked for: a value or an array at a step, or one side of a comparison. */
interface TileSource {
  name: string;
  element: string;
  shape: number[];
  part(start?: number[], extents?: number[]): Promise<Tile>;
}

type Side = "left" | "right" | "difference";
type Compared = Record<Side, Tile>;
