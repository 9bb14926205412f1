// What lies above the picture of an array: outlines of the accesses of the selected tile block and of marked ones, and
// padding, the parts of tiles beyond the array.
//
// An access records the elements it touched and how many it left out.  Where a tile hangs over the end of the array,
// what it left out stands beyond that end: the shape of the tile says how far.

import { KINDS } from "explorer/accesses.js";
import { product } from "explorer/text.js";
import { styleColor } from "page/shapes.js";

/** Pieces that are outlined, at most. */
const OUTLINES = 256;
/** Padding further from the array than so many times its extent is not drawn. */
const FURTHEST = 4;

/**
 * The accesses of the block so far, that of the step, and marked ones; and how many pieces are left without an outline.
 * @param {ArrayCard} card @param {ViewState} state @param {boolean[]} kinds @param {number} happened
 */
export function outlinesOf({ table, pieces, plot, array }, state, kinds, happened) {
  const rows = table.rowsAt(state.place).filter((row) => table.array[row] === array.id);
  const before = rows.filter((row) => row < happened && table.step[row] !== state.step && kinds[table.kind[row]]);
  // A loop may have made thousands: the newest are outlined.
  const newest = before.slice(Math.max(0, before.length - OUTLINES)).reverse();
  let left = before.length - newest.length;
  /** @param {ArrayLike<number>} rows @param {(which: number) => Partial<Outline>} look */
  const outlined = (rows, look) => {
    /** @type {Outline[]} */
    const outlines = [];
    for (let which = 0; which < rows.length; which++) {
      const row = rows[which];
      if (table.array[row] !== array.id) continue;
      const [from, to] = pieces.ofRow(row);
      for (let piece = from; piece < to; piece++) {
        if (!pieces.inSlice(piece, plot.slice)) continue;
        const color = styleColor(`--${KINDS[table.kind[row]]}`);
        if (outlines.length >= OUTLINES) left++;
        else outlines.push({ ...pieces.areaOf(piece), color, width: 1, ...look(which) });
      }
    }
    return outlines;
  };
  const past = outlined(newest, () => ({ dashed: true })).reverse();
  const present = outlined(rows.filter((row) => table.step[row] === state.step), () => ({ width: 3 }));
  const marked = outlined(state.marked, (which) => {
    const color = styleColor(which % 2 === 0 ? "--bad" : "--accent");
    return { width: 3, dashed: which > 0, color, label: markName(which), shift: 18 * which };
  });
  return { outlines: [...past, ...present, ...marked], left };
}

/** A, B, ..: what marked accesses are called. @param {number} which */
export function markName(which) {
  return String.fromCharCode(65 + (which % 26));
}

/**
 * Where tiles of the launch are outside of the array, faintly, and those of the block.
 * @param {ArrayCard} card @param {ViewState} state
 */
export function paddingsOf({ context, table, grid, beyond, array, pieces, plot }, state) {
  const [strong, faint] = [styleColor("--text"), styleColor("--border")];
  /** @type {(Area & { color: string })[]} */
  const areas = [];
  // Beyond a folded array its rows go on: how far is different for each tile.
  if (beyond.columns > 0 && !grid.fold) {
    areas.push({ row: 0, column: grid.columns, rows: grid.rows + beyond.rows, columns: beyond.columns, color: faint });
  }
  if (beyond.rows > 0 && !grid.fold) {
    areas.push({ row: grid.rows, column: 0, rows: beyond.rows, columns: grid.columns, color: faint });
  }
  for (const row of table.rowsAt(state.place)) {
    if (table.array[row] !== array.id || areas.length > OUTLINES || !pieces.rowInSlice(row, plot.slice)) continue;
    for (const area of paddingOf(context.summary, grid, table, row)) areas.push({ ...area, color: strong });
  }
  return areas;
}

/**
 * How far tiles of the launch reach beyond an array: rows and columns.
 * @param {Summary} summary @param {Grid} grid @param {AccessTable} table @param {number} array
 */
export function reachBeyond(summary, grid, table, array) {
  let [rows, columns] = [0, 0];
  for (const row of table.rowsOfArray(array)) {
    for (const area of paddingOf(summary, grid, table, row)) {
      rows = Math.max(rows, area.row + area.rows - grid.rows);
      columns = Math.max(columns, area.column + area.columns - grid.columns);
    }
  }
  return { rows, columns };
}

/**
 * The areas beyond the array that an access would have touched; none if it left out elements elsewhere.
 * @param {Summary} summary @param {Grid} grid @param {AccessTable} table @param {number} row @returns {Area[]}
 */
function paddingOf(summary, grid, table, row) {
  const box = table.boxStart[row];
  if (table.masked[row] === 0 || table.boxStart[row + 1] !== box + 1 || grid.mirror > 0) return [];
  const [begin, end] = [table.extentStart[box], table.extentStart[box + 1]];
  const extents = Array.from(table.extents.subarray(begin, end));
  const strides = Array.from(table.strides.subarray(begin, end));
  const touched = product(extents);
  // The shape of the tile that the operation moves.
  const { results, operands } = summary.operations[table.operation[row]];
  const tiles = [...results, ...operands].map((value) => summary.values[value]);
  const elements = touched + table.masked[row];
  const shape = tiles.find((one) => one.element !== null && one.shape !== null && product(one.shape) === elements)?.shape;
  if (shape === undefined || shape === null) return [];
  const wide = shape.filter((extent) => extent > 1);
  if (grid.fold && wide.length === 1 && (extents.length === 0 || strides[0] === grid.strides[1])) {
    return foldedPadding(grid, table.boxFirst[box] / grid.strides[1], touched, wide[0]);
  }
  return edgePadding(grid, table.boxFirst[box], extents, strides, shape);
}

/**
 * Beyond the end of a folded array its rows go on.
 * @param {Grid} grid @param {number} first @param {number} touched @param {number} extent
 */
function foldedPadding(grid, first, touched, extent) {
  /** @type {Area[]} */
  const areas = [];
  if (first + touched !== grid.length) return areas;
  const end = Math.min(first + extent, grid.length * FURTHEST);
  for (let at = first + touched; at < end; ) {
    const column = at % grid.fold;
    const rows = column === 0 ? Math.max(1, Math.floor((first + extent - at) / grid.fold)) : 1;
    const columns = Math.min(grid.fold - column, first + extent - at);
    areas.push({ row: Math.floor(at / grid.fold), column, rows, columns });
    at += rows * columns;
  }
  return areas;
}

/** @param {Grid} grid @param {number} first @param {number[]} extents @param {number[]} strides @param {number[]} shape */
function edgePadding(grid, first, extents, strides, shape) {
  const rank = grid.sizes.length;
  const start = grid.sizes.map(() => 0);
  const count = grid.sizes.map(() => 1);
  /** @type {Area[]} */
  const areas = [];
  for (const dimension of grid.order) {
    start[dimension] = Math.floor(first / grid.strides[dimension]);
    first -= start[dimension] * grid.strides[dimension];
  }
  for (const [axis, extent] of extents.entries()) {
    const dimension = grid.order.find((one) => grid.strides[one] === strides[axis]);
    if (dimension === undefined || grid.reversed[dimension]) return areas;
    count[dimension] = extent;
  }
  // What is left out within the array is masked, and no edge.
  const fits = (/** @type {number[]} */ tile) =>
    tile.every((extent, at) => extent === count[at] || (extent > count[at] && start[at] + count[at] === grid.sizes[at]));
  const tile = orientations(shape, rank).find(fits);
  if (tile === undefined) return areas;
  const [row, column] = start.slice(-2);
  const [rows, columns] = count.slice(-2);
  const down = Math.min(tile[rank - 2] - rows, FURTHEST * grid.rows + 64);
  const right = Math.min(tile[rank - 1] - columns, FURTHEST * grid.columns + 64);
  if (right > 0) areas.push({ row, column: column + columns, rows: rows + down, columns: right });
  if (down > 0) areas.push({ row: row + rows, column, rows: down, columns });
  return areas;
}

/**
 * The extents of a tile along the dimensions of the grid, in the orders that are likely: which dimension of the tile is
 * which of the array is not recorded.
 * @param {number[]} shape @param {number} rank
 */
function orientations(shape, rank) {
  return [shape, shape.filter((extent) => extent > 1)]
    .filter((extents) => extents.length <= rank)
    .map((extents) => [...new Array(rank - extents.length).fill(1), ...extents])
    .flatMap((extents) => [extents, [...extents].reverse()]);
}
