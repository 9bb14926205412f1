// Numbers and places in words.

export { amount, bytes, counted, grouped, seconds, short } from "page/numbers.js";

/** What a view says where there is no recording: the kernel was opened without arguments. */
export const NOTHING_RAN = "The kernel was not run: start the explorer with --grid and --arg.";

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
