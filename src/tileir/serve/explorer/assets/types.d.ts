// What the page and the Python side say to each other: one interface for each answer of `Explorer.answer`
// (serve/explorer/session.py), and what the parts of the page share.  Only type checkers read this file.
//
// A moment is a tile block and a step of it: step 0 is before its first operation, step n after its n-th execution of
// one.  Operations and values have the numbers that `execute/recording/program.py` gives them.

/** Numbers packed as base64 of their little-endian bytes. */
export interface Packed {
  type: "u8" | "i8" | "u16" | "i16" | "u32" | "i32" | "f32" | "f64" | "i64" | "u64";
  shape: number[];
  data: string;
}

export interface OperationInfo {
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

export interface ValueInfo {
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

export interface ArrayInfo {
  id: number;
  name: string;
  element: string;
  shape: number[];
  /** In elements. */
  strides: number[];
  bytes: number;
  read: boolean;
  written: boolean;
}

export interface Summary {
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
export interface Accesses {
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

/** The operations that a tile block executed, one for each step from 1. */
export interface Steps {
  block: number;
  id: [number, number, number];
  operation: Packed;
}

/** Everything known at a moment: the newest of each value. */
export interface Values {
  block: number;
  step: number;
  values: { value: number; step: number; text: string }[];
}

/** The variables of the author's script at a moment: before the statement that is next. */
export interface Variables {
  block: number;
  step: number;
  /** The function that the tile block is in, then those that called it; the last is the kernel. */
  functions: { function: string; variables: Variable[]; unassigned: string[] }[];
}

export interface Variable {
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
export interface History {
  block: number;
  values: { value: number; step: number; text: string }[];
}

export interface Statistics {
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
export interface Tile {
  element: string;
  shape: number[];
  statistics: Statistics;
  /** The part that is in `text` and `data`: the first index and the extents. */
  start: number[];
  extents: number[];
  /** Numbers to draw; where `binned`, means of bins. NaN and infinities as they are. */
  data: Packed;
  /** How many elements a bin has along each dimension. */
  binned: number[] | null;
  /** Each element as text, row by row; null where binned. */
  text: string[] | null;
}

export interface Form {
  id: string;
  title: string;
  /** "python", "tile", "bytecode", "loops", "llvm", "assembly". */
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

export interface FindingPlace {
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

export interface Finding {
  kind: string;
  title: string;
  text: string;
  details: string[];
  hint: string;
  count: number;
  note: boolean;
  place: FindingPlace;
  relation: string;
  other: FindingPlace | null;
}

/** The answer to `findings`, what the sanitizer found, and to `numbers`, where NaNs and infinities come from. */
export interface Findings {
  findings: Finding[];
  /** What was looked for, finding or not. */
  checked: { kind: string; text: string }[];
  /** Sentences about what was not looked for, and why. */
  notes: string[];
}

export interface Cost {
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
export interface Difference {
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
  place: number[];
}

/** A moment at which a value differs. */
export interface DifferentMoment extends Difference {
  step: number;
  operation: number;
  value: number;
  /** Whether it is so far off that it is worth a look: see `criterion`. */
  wrong: boolean;
}

/** Two runs beside each other. */
export interface Comparison {
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

/** What is looked at; every part of the page shows it and may change it. */
export interface Selection {
  view: string;
  /** The place in `recording.order`. */
  place: number;
  step: number;
  operation: number | null;
  value: number | null;
  array: number | null;
  /** The form that was chosen last, by its id; null: those that the view begins with. */
  form: string | null;
  /** Rows of Accesses that are marked, as the two of a race. */
  marked: number[];
}

export interface Context {
  summary: Summary;
  ask<T>(question: string, parameters?: Record<string, string | number>): Promise<T>;
  readonly selection: Selection;
  /** What the page has opened at. */
  readonly opening: Selection;
  select(change: Partial<Selection>): void;
  /** Said to people who cannot see the page. */
  announce(text: string): void;
}

export interface View {
  id: string;
  title: string;
  element: HTMLElement;
  /** Called when the view is shown, and then whenever the selection has changed while it is. */
  update(selection: Selection): void | Promise<void>;
  /** A picture of what is shown, for papers: an <svg> or a <canvas>; null if there is none. */
  picture?(): SVGSVGElement | HTMLCanvasElement | null;
}
