// Numbers and places in words.

/** What a view says where there is no recording: the kernel was opened without arguments. */
export const NOTHING_RAN = "The kernel was not run: start the explorer with --grid and --arg.";

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
const PREFIXES = [
  { from: 1e15, name: "P" },
  { from: 1e12, name: "T" },
  { from: 1e9, name: "G" },
  { from: 1e6, name: "M" },
  { from: 1e3, name: "k" },
];

/**
 * `1.5 MiB`.
 * @param {number} count
 */
export function bytes(count) {
  let unit = 0;
  while (count >= 1024 && unit < UNITS.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? count : short(count)} ${count === 1 && unit === 0 ? "byte" : UNITS[unit]}`;
}

/**
 * `12,288`.
 * @param {number} value
 */
export function grouped(value) {
  return value.toLocaleString("en-US", { maximumFractionDigits: 3 });
}

/**
 * `3 tile blocks`, `1 tile block`.
 * @param {number} value
 * @param {string} thing
 * @param {string} [things]
 */
export function counted(value, thing, things = `${thing}s`) {
  return `${grouped(value)} ${value === 1 ? thing : things}`;
}

/**
 * Three digits and a prefix: `4.8 T`.
 * @param {number} value
 * @param {string} [unit]
 */
export function amount(value, unit = "") {
  for (const prefix of PREFIXES) {
    if (Math.abs(value) >= prefix.from) return `${short(value / prefix.from)} ${prefix.name}${unit}`;
  }
  return `${short(value)} ${unit}`.trim();
}

/**
 * `12.3 us`.
 * @param {number} value
 */
export function seconds(value) {
  if (value >= 1) return `${short(value)} s`;
  if (value >= 1e-3) return `${short(value * 1e3)} ms`;
  if (value >= 1e-6) return `${short(value * 1e6)} us`;
  return `${short(value * 1e9)} ns`;
}

/**
 * Three digits that matter.
 * @param {number} value
 */
export function short(value) {
  if (!Number.isFinite(value)) return String(value);
  const magnitude = Math.abs(value);
  if (magnitude >= 100) return String(Math.round(value));
  if (magnitude >= 10) return String(Math.round(value * 10) / 10);
  if (magnitude >= 0.01 || magnitude === 0) return String(Math.round(value * 100) / 100);
  return value.toExponential(2);
}

/**
 * `64 x 32`.
 * @param {readonly number[]} shape
 */
export function extents(shape) {
  return shape.length === 0 ? "scalar" : shape.join(" x ");
}

/**
 * The place of a tile block in the grid: x, y and z from its number.
 * @param {number} block
 * @param {readonly number[]} grid
 * @returns {[number, number, number]}
 */
export function blockId(block, grid) {
  const [width, height] = grid;
  return [block % width, Math.floor(block / width) % height, Math.floor(block / (width * height))];
}

/**
 * `(3, 0, 0)`, with as many numbers as the grid has dimensions that are not 1.
 * @param {number} block
 * @param {readonly number[]} grid
 */
export function blockName(block, grid) {
  const id = blockId(block, grid);
  const dimensions = grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1;
  return `(${id.slice(0, dimensions).join(", ")})`;
}

/**
 * The value that tells most of an operation: the first tile it makes, or else the last one it is given.
 * @param {import("./types").OperationInfo} operation
 * @param {import("./types").ValueInfo[]} values
 * @returns {number | null}
 */
export function tellingValue(operation, values) {
  const isTile = (/** @type {number} */ value) => values[value]?.element !== null && values[value] !== undefined;
  return operation.results.find(isTile) ?? operation.operands.filter(isTile).pop() ?? null;
}
