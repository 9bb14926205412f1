// What the page carries, as report/page.py writes it.

interface SweepReport {
  file: string;
  summary: string;
  plan: { digest: string; settings: Record<string, unknown> };
  /** Outcomes in the order in which they are named, and the words for each. */
  outcomes: { id: string; title: string; count: number }[];
  duplicates: number;
  kinds: Kind[];
  steps: { name: string; counts: Record<string, number> }[];
  programs: Columns;
  /** The findings of programs that failed, by their numbers. */
  failures: Record<string, { step: string; outcome: string; message: string }[]>;
  /** How many programs failed of which nothing is said here. */
  untold: number;
  kernels: KernelRow[];
  changes: Changes | null;
}

interface Kind {
  key: string;
  title: string;
  cause: string;
  suspect: string;
  steps: string;
  outcome: string;
  count: number;
  message: string;
  /** The number of its smallest program. */
  smallest: number;
  /** Of the smallest program and of its reproducer, in words. */
  size: string;
  reduced: string;
  source: Source | null;
  reproducer: Source | null;
  note: string;
}

interface Source {
  name: string;
  bytes: number;
  text: string;
  /** Whether the end is left out. */
  cut: boolean;
}

/** A column for each thing that is known of every program, in the order of their names. */
interface Columns {
  name: string[];
  /** How many other names it has. */
  others: number[];
  digest: string[];
  /** A number into `outcomes`. */
  outcome: number[];
  /** A number into `steps` of the first that did not pass, or -1. */
  step: number[];
  /** The kinds of failures it shows. */
  kinds: number[][];
  /** Numbers of each program, each a column of the table. */
  figures: { title: string; unit: "count" | "seconds" | "bytes"; values: number[] }[];
}

/** A column of the table of programs; `key` is what it is sorted by. */
interface ProgramColumn {
  id: string;
  title: string;
  width: string;
  class?: string;
  cell(row: number): Child;
  key(row: number): string | number;
}

interface KernelRow {
  program: number;
  outcome: string;
  /** Measured (`time cpu`) and estimated (`cost h200`). */
  speeds: { step: string; ratio: number; seconds: number | null; baseline: number | null }[];
}

interface Changes {
  summary: string;
  worse: boolean;
  newKinds: { title: string; steps: string; outcome: string; count: number; smallest: string }[];
  goneKinds: { title: string; steps: string; outcome: string; count: number; smallest: string }[];
  broken: Change[];
  fixed: Change[];
  changed: Change[];
}

interface Change {
  name: string;
  before: string;
  now: string;
}

/** The state of the page: what is selected. */
interface ViewState {
  view: string;
  kind: string;
  outcome: string;
  step: string;
  search: string;
  /** A column, with "-" before it for the other order. */
  sort: string;
  program: number | null;
}

interface Context {
  report: SweepReport;
  state: ViewState;
  select(change: Partial<ViewState>): void;
  announce(text: string): void;
}

type View = PageView<ViewState>;
