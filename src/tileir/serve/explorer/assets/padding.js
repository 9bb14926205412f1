// The parts of tiles that are outside of an array.
//
// An access records the elements it touched and how many it left out.  Where a tile hangs over the end of the array,
// what it left out stands beyond that end: the shape of the tile says how far.

/** @typedef {import("./types").Summary} Summary */
/** @typedef {import("./grid.js").Grid} Grid */
/** @typedef {import("./accesses.js").AccessTable} AccessTable */
/** @typedef {import("./plot.js").Area} Area */

/** Padding further from the array than so many times its extent is not drawn. */
const FURTHEST = 4;

/**
 * The areas beyond the array that an access would have touched; none if it left out elements elsewhere.
 * @param {Summary} summary
 * @param {Grid} grid
 * @param {AccessTable} table
 * @param {number} row
 * @returns {Area[]}
 */
export function paddingOf(summary, grid, table, row) {
  const box = table.boxStart[row];
  if (table.masked[row] === 0 || table.boxStart[row + 1] !== box + 1) return [];
  const begin = table.extentStart[box];
  const extents = Array.from(table.extents.subarray(begin, table.extentStart[box + 1]));
  const strides = Array.from(table.strides.subarray(begin, table.extentStart[box + 1]));
  const touched = extents.reduce((product, extent) => product * extent, 1);
  const shape = tileShape(summary, table.operation[row], touched + table.masked[row]);
  if (shape === null || grid.mirror > 0) return [];
  const wide = shape.filter((extent) => extent > 1);
  if (grid.fold && wide.length === 1 && (extents.length === 0 || strides[0] === grid.strides[1])) {
    return folded(grid, table.boxFirst[box] / grid.strides[1], touched, wide[0]);
  }
  return beyond(grid, table.boxFirst[box], extents, strides, shape);
}

/**
 * The shape of the tile that an operation moves.
 * @param {Summary} summary
 * @param {number} operation
 * @param {number} elements
 */
function tileShape(summary, operation, elements) {
  const { results, operands } = summary.operations[operation];
  for (const value of [...results, ...operands]) {
    const { shape, element } = summary.values[value];
    if (shape === null || element === null) continue;
    if (shape.reduce((product, extent) => product * extent, 1) === elements) return shape;
  }
  return null;
}

/**
 * Beyond the end of a folded array its rows go on.
 * @param {Grid} grid
 * @param {number} first
 * @param {number} touched
 * @param {number} extent
 * @returns {Area[]}
 */
function folded(grid, first, touched, extent) {
  let at = first + touched;
  const end = first + extent;
  if (at !== grid.length) return [];
  /** @type {Area[]} */
  const areas = [];
  while (at < end && at < grid.length * FURTHEST) {
    const column = at % grid.fold;
    const row = Math.floor(at / grid.fold);
    const rows = column === 0 ? Math.max(1, Math.floor((end - at) / grid.fold)) : 1;
    const columns = Math.min(grid.fold - column, end - at);
    areas.push({ row, column, rows, columns });
    at += rows * columns;
  }
  return areas;
}

/**
 * @param {Grid} grid
 * @param {number} first
 * @param {number[]} extents
 * @param {number[]} strides
 * @param {number[]} shape
 * @returns {Area[]}
 */
function beyond(grid, first, extents, strides, shape) {
  const rank = grid.sizes.length;
  /** @type {number[]} */
  const start = new Array(rank).fill(0);
  let offset = first;
  for (const dimension of grid.order) {
    start[dimension] = Math.floor(offset / grid.strides[dimension]);
    offset -= start[dimension] * grid.strides[dimension];
  }
  /** @type {number[]} */
  const count = new Array(rank).fill(1);
  for (let axis = 0; axis < extents.length; axis++) {
    const dimension = grid.order.find((one) => grid.strides[one] === strides[axis]);
    if (dimension === undefined || grid.reversed[dimension]) return [];
    count[dimension] = extents[axis];
  }
  const tile = alongGrid(shape, rank).find((extents) =>
    extents.every(
      (extent, dimension) =>
        extent === count[dimension] ||
        // What is left out within the array is masked, and no edge.
        (extent > count[dimension] && start[dimension] + count[dimension] === grid.sizes[dimension]),
    ),
  );
  if (tile === undefined) return [];
  const [row, column] = [start[rank - 2], start[rank - 1]];
  const [rows, columns] = [count[rank - 2], count[rank - 1]];
  const down = Math.min(tile[rank - 2] - rows, FURTHEST * grid.rows + 64);
  const right = Math.min(tile[rank - 1] - columns, FURTHEST * grid.columns + 64);
  /** @type {Area[]} */
  const areas = [];
  if (right > 0) areas.push({ row, column: column + columns, rows: rows + down, columns: right });
  if (down > 0) areas.push({ row: row + rows, column, rows: down, columns });
  return areas;
}

/**
 * The extents of a tile along the dimensions of the grid, in the orders that are likely: which dimension of the tile is
 * which of the array is not recorded.
 * @param {number[]} shape
 * @param {number} rank
 */
function alongGrid(shape, rank) {
  const wide = shape.filter((extent) => extent > 1);
  return [shape, wide]
    .filter((extents) => extents.length <= rank)
    .map((extents) => [...new Array(rank - extents.length).fill(1), ...extents])
    .flatMap((extents) => [extents, [...extents].reverse()]);
}

/**
 * How far tiles of the launch reach beyond an array: rows and columns.
 * @param {Summary} summary
 * @param {Grid} grid
 * @param {AccessTable} table
 * @param {number} array
 */
export function reachBeyond(summary, grid, table, array) {
  let rows = 0;
  let columns = 0;
  for (const row of table.rowsOfArray(array)) {
    if (table.masked[row] === 0) continue;
    for (const area of paddingOf(summary, grid, table, row)) {
      rows = Math.max(rows, area.row + area.rows - grid.rows);
      columns = Math.max(columns, area.column + area.columns - grid.columns);
    }
  }
  return { rows, columns };
}
