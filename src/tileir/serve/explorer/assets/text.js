// Names of tile blocks, shapes and values, as the page writes them.

/** Shown by a view where there is no recording: the kernel was opened without arguments. */
export const NOTHING_RAN = "The kernel was not run: start the explorer with --grid and --arg.";

/** `64 x 32`. @param {readonly number[]} shape */
export function extents(shape) {
  return shape.length === 0 ? "scalar" : shape.join(" x ");
}

/** `[3, 17]`. @param {readonly number[]} index */
export function indexText(index) {
  return `[${index.join(", ")}]`;
}

/** @param {readonly number[]} shape */
export function product(shape) {
  return shape.reduce((count, extent) => count * extent, 1);
}

/**
 * The coordinates of a tile block: x, y and z from its number.
 * @param {number} block @param {readonly number[]} grid @returns {[number, number, number]}
 */
export function blockId(block, [width, height]) {
  return [block % width, Math.floor(block / width) % height, Math.floor(block / (width * height))];
}

/** `(3, 0)`: as many numbers as the grid has dimensions. @param {number} block @param {readonly number[]} grid */
export function blockName(block, grid) {
  const dimensions = grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1;
  return `(${blockId(block, grid).slice(0, dimensions).join(", ")})`;
}

/** The name of a file without its folders. @param {string} path */
export function fileName(path) {
  return path.split(/[\\/]/).pop() ?? path;
}

/**
 * The value that shows best what an operation does: its first result, or else its last operand, that is a tile.
 * @param {OperationInfo} operation @param {ValueInfo[]} values @returns {number | null}
 */
export function mainValue(operation, values) {
  const isTile = (/** @type {number} */ value) => (values[value]?.element ?? null) !== null;
  return operation.results.find(isTile) ?? operation.operands.filter(isTile).pop() ?? null;
}

/**
 * So many digits that matter; very small and very large numbers with an exponent.
 * @param {number} number @param {number} [digits]
 */
export function precise(number, digits = 6) {
  const magnitude = Math.abs(number);
  if (!Number.isFinite(number) || (Number.isInteger(number) && magnitude < 1e15)) return String(number);
  if (magnitude >= 1e-3 && magnitude < 1e9) return String(Number(number.toPrecision(digits)));
  return number.toExponential(digits - 1).replace(/\.?0+e/, "e").replace("e+", "e");
}
