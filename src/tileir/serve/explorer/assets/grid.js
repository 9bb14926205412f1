// Where the elements of an array stand in its picture.
//
// An array is drawn as a grid of rows and columns: two-dimensional arrays as they are, others as slices along their
// outer dimensions.  One-dimensional arrays are folded into rows.  An access is a set of boxes in memory (a first
// element, extents, steps between elements); here they become pieces: for each dimension of the grid a start, a count
// and a step, so that drawing needs no addresses.

import { Pieces } from "explorer/pieces.js";

/** @typedef {import("./types").ArrayInfo} ArrayInfo */
/** @typedef {import("./accesses.js").AccessTable} AccessTable */

/** Pieces of one array beyond which boxes that fit no rectangle are drawn by their bounds. */
export const PIECE_LIMIT = 6_000_000;

/**
 * The dimensions of a picture: outer ones, then rows, then columns.
 * @typedef {object} Grid
 * @property {number[]} sizes
 * @property {number[]} strides  Elements of memory from one index to the next; never negative.
 * @property {boolean[]} reversed  Dimensions whose index falls while the address rises.
 * @property {number[]} order  The dimensions with more than one element, largest stride first.
 * @property {number} mirror  The last place of a folded array whose index falls while the address rises, else 0.
 * @property {number} fold  The width that a one-dimensional array is folded to, or 0.
 * @property {number} length  How many elements the array has; the last row of a folded one may be short.
 * @property {number} rows
 * @property {number} columns
 */

/**
 * @param {ArrayInfo} array
 * @param {number} width  The width to fold a one-dimensional array to.
 * @returns {Grid}
 */
export function makeGrid(array, width) {
  const length = array.shape.reduce((product, extent) => product * extent, 1);
  let sizes = array.shape;
  let strides = array.strides;
  let fold = 0;
  let mirror = 0;
  if (array.shape.length < 2) {
    fold = Math.max(1, Math.min(width, length));
    const stride = array.shape.length ? Math.abs(array.strides[0]) : 1;
    if (array.shape.length && array.strides[0] < 0) mirror = (length - 1) * stride;
    sizes = [Math.ceil(length / fold), fold];
    strides = [stride * fold, stride];
  }
  return { ...describe(sizes, strides, fold, length), mirror };
}

/**
 * @param {number[]} sizes
 * @param {number[]} strides
 * @param {number} fold
 * @param {number} length
 * @returns {Grid}
 */
function describe(sizes, strides, fold, length) {
  const dimensions = sizes.map((_, dimension) => dimension);
  return {
    sizes,
    strides: strides.map(Math.abs),
    reversed: strides.map((stride) => stride < 0),
    order: dimensions
      .filter((dimension) => sizes[dimension] > 1 && strides[dimension] !== 0)
      .sort((one, other) => Math.abs(strides[other]) - Math.abs(strides[one])),
    mirror: 0,
    fold,
    length,
    rows: sizes[sizes.length - 2],
    columns: sizes[sizes.length - 1],
  };
}

/**
 * The same grid as if its elements stood in memory one after the other.
 * @param {Grid} grid
 * @returns {Grid}
 */
export function contiguous(grid) {
  const strides = grid.sizes.map((_, dimension) =>
    grid.sizes.slice(dimension + 1).reduce((product, extent) => product * extent, 1),
  );
  return describe(grid.sizes, strides, grid.fold, grid.length);
}

/**
 * A width to fold a one-dimensional array to: rows that the kernel's views have, or that its tiles fill, near two to
 * one.
 * @param {ArrayInfo} array
 * @param {AccessTable} table
 */
export function foldWidth(array, table) {
  const length = array.shape.length ? array.shape[0] : 1;
  /** @type {Map<number, number>} */
  const widths = new Map();
  /** @type {Map<number, number>} */
  const extents = new Map();
  const rows = table.rowsOfArray(array.id);
  const every = Math.max(1, Math.floor(rows.length / 2000));
  const stride = Math.max(1, Math.abs(array.shape.length ? array.strides[0] : 1));
  for (let at = 0; at < rows.length; at += every) {
    const end = Math.min(table.boxStart[rows[at] + 1], table.boxStart[rows[at]] + 8);
    for (let box = table.boxStart[rows[at]]; box < end; box++) {
      let inner = 1;
      let outer = 0;
      for (let axis = table.extentStart[box]; axis < table.extentStart[box + 1]; axis++) {
        const step = Math.abs(table.strides[axis]) / stride;
        if (step === 1) inner = Math.max(inner, table.extents[axis]);
        else if (table.extents[axis] > 1 && (outer === 0 || step < outer)) outer = step;
      }
      if (outer > 1 && inner > 1) widths.set(outer, (widths.get(outer) ?? 0) + 1);
      extents.set(inner, (extents.get(inner) ?? 0) + 1);
    }
  }
  const view = most(widths);
  if (view > 1 && view < length) return view;
  const target = Math.sqrt(2 * length);
  let width = most(extents);
  if (width > 1 && width <= target) return Math.min(length, width * 2 ** Math.floor(Math.log2(target / width)));
  if (width <= 1) return Math.min(length, 2 ** Math.round(Math.log2(Math.max(1, target))));
  while (width > 4 * target && width % 2 === 0) width /= 2;
  return Math.min(length, width);
}

/**
 * What at least half of them are, or 0.
 * @param {Map<number, number>} counts
 */
function most(counts) {
  let best = 0;
  let value = 0;
  let all = 0;
  for (const [key, count] of counts) {
    all += count;
    if (count > best || (count === best && key > value)) {
      best = count;
      value = key;
    }
  }
  return 2 * best >= all ? value : 0;
}

/**
 * All pieces of an array, in the order of its accesses.
 * @param {Grid} grid
 * @param {AccessTable} table
 * @param {number} array
 */
export function piecesOf(grid, table, array) {
  const pieces = new Pieces(grid.sizes.length);
  for (const row of table.rowsOfArray(array)) {
    for (let box = table.boxStart[row]; box < table.boxStart[row + 1]; box++) {
      const begin = table.extentStart[box];
      const end = table.extentStart[box + 1];
      placeBox(grid, pieces, row, table.boxFirst[box], table.extents, table.strides, begin, end);
    }
  }
  return pieces;
}

/**
 * Adds the pieces that a box in memory covers.
 * @param {Grid} grid
 * @param {Pieces} pieces
 * @param {number} row
 * @param {number} first
 * @param {ArrayLike<number>} extents
 * @param {ArrayLike<number>} strides
 * @param {number} begin
 * @param {number} end
 */
export function placeBox(grid, pieces, row, first, extents, strides, begin, end) {
  /** @type {[number, number][]} */
  const axes = [];
  for (let axis = begin; axis < end; axis++) {
    const extent = extents[axis];
    let stride = strides[axis];
    if (extent === 0) return;
    if (extent === 1 || stride === 0) continue;
    if (stride < 0) {
      first += (extent - 1) * stride;
      stride = -stride;
    }
    axes.push([extent, stride]);
  }
  // Rows of a folded array are counted from its first element, wherever that is in memory.
  if (grid.mirror > 0) first = grid.mirror - axes.reduce((last, [extent, stride]) => last + (extent - 1) * stride, first);
  axes.sort((one, other) => other[1] - one[1]);
  place(grid, pieces, row, first, axes);
}

/**
 * The index of an element, or false if memory there is no element of the array.
 * @param {Grid} grid
 * @param {number} offset
 * @param {number[]} index
 */
function locate(grid, offset, index) {
  index.fill(0);
  for (const dimension of grid.order) {
    const stride = grid.strides[dimension];
    const at = Math.floor(offset / stride);
    if (at < 0 || at >= grid.sizes[dimension]) return false;
    index[dimension] = at;
    offset -= at * stride;
  }
  return offset === 0;
}

/**
 * Each axis of a box is along one dimension of the grid; one that runs over the end of a row is cut there.
 * @param {Grid} grid
 * @param {Pieces} pieces
 * @param {number} row
 * @param {number} first
 * @param {[number, number][]} axes  Extent and step of each, largest step first.
 */
function place(grid, pieces, row, first, axes) {
  const rank = grid.sizes.length;
  /** @type {number[]} */
  const start = new Array(rank);
  if (!locate(grid, first, start)) {
    pieces.outside++;
    return;
  }
  /** @type {number[]} */
  const count = new Array(rank).fill(1);
  /** @type {number[]} */
  const step = new Array(rank).fill(1);
  for (let which = 0; which < axes.length; which++) {
    const [extent, stride] = axes[which];
    const dimension = grid.order.find((one) => grid.strides[one] <= stride && stride % grid.strides[one] === 0);
    const by = dimension === undefined ? 0 : stride / grid.strides[dimension];
    const fits =
      dimension !== undefined &&
      count[dimension] === 1 &&
      start[dimension] + (extent - 1) * by < grid.sizes[dimension];
    if (!fits) {
      if (pieces.count > PIECE_LIMIT) bound(grid, pieces, row, first, axes);
      else if (dimension === undefined || count[dimension] !== 1 || !continues(grid, dimension))
        expand(grid, pieces, row, first, axes, which);
      else cut(grid, pieces, row, first, axes, which, dimension, start[dimension], by);
      return;
    }
    count[dimension] = extent;
    step[dimension] = by;
  }
  const at = pieces.add(row);
  for (let dimension = 0; dimension < rank; dimension++) {
    const size = grid.sizes[dimension];
    // Dimensions without a stride show the same memory at each index.
    if (grid.strides[dimension] === 0) count[dimension] = size;
    const last = start[dimension] + (count[dimension] - 1) * step[dimension];
    pieces.spans[at + 3 * dimension] = grid.reversed[dimension] ? size - 1 - last : start[dimension];
    pieces.spans[at + 3 * dimension + 1] = count[dimension];
    pieces.spans[at + 3 * dimension + 2] = step[dimension];
  }
}

/**
 * Whether a row's end is the beginning of the next in memory.
 * @param {Grid} grid
 * @param {number} dimension
 */
function continues(grid, dimension) {
  return grid.order.some((one) => grid.strides[one] === grid.sizes[dimension] * grid.strides[dimension]);
}

/**
 * One piece for each element along an axis that fits no dimension.
 * @param {Grid} grid
 * @param {Pieces} pieces
 * @param {number} row
 * @param {number} first
 * @param {[number, number][]} axes
 * @param {number} which
 */
function expand(grid, pieces, row, first, axes, which) {
  const rest = axes.filter((_, axis) => axis !== which);
  for (let at = 0; at < axes[which][0]; at++) place(grid, pieces, row, first + at * axes[which][1], rest);
}

/**
 * An axis that runs over the end of its dimension: the rest of the first row, whole rows, a part of the last.
 * @param {Grid} grid
 * @param {Pieces} pieces
 * @param {number} row
 * @param {number} first
 * @param {[number, number][]} axes
 * @param {number} which
 * @param {number} dimension
 * @param {number} start
 * @param {number} by
 */
function cut(grid, pieces, row, first, axes, which, dimension, start, by) {
  const [extent, stride] = axes[which];
  const size = grid.sizes[dimension];
  const whole = size % by === 0 ? size / by : 0;
  let done = 0;
  while (done < extent) {
    const within = start + done * by;
    const room = Math.ceil((size - (within % size)) / by);
    const rows = whole > 0 && within % size < by ? Math.floor((extent - done) / whole) : 0;
    /** @type {[number, number][]} */
    let part;
    let covered;
    if (rows > 1) {
      covered = rows * whole;
      part = [...axes.slice(0, which), [rows, whole * stride], [whole, stride], ...axes.slice(which + 1)];
    } else {
      covered = Math.min(room, extent - done);
      part = [...axes.slice(0, which), [covered, stride], ...axes.slice(which + 1)];
    }
    place(grid, pieces, row, first + done * stride, part.filter(([count]) => count > 1));
    done += covered;
  }
}

/**
 * @param {Grid} grid
 * @param {Pieces} pieces
 * @param {number} row
 * @param {number} first
 * @param {[number, number][]} axes
 */
function bound(grid, pieces, row, first, axes) {
  const rank = grid.sizes.length;
  /** @type {number[]} */
  const low = new Array(rank);
  /** @type {number[]} */
  const high = new Array(rank);
  const last = axes.reduce((offset, [extent, stride]) => offset + (extent - 1) * stride, first);
  if (!locate(grid, first, low) || !locate(grid, last, high)) {
    pieces.outside++;
    return;
  }
  pieces.bounded++;
  const at = pieces.add(row);
  let wide = false;
  for (const dimension of grid.order) {
    if (wide) {
      low[dimension] = 0;
      high[dimension] = grid.sizes[dimension] - 1;
    }
    wide ||= high[dimension] !== low[dimension];
  }
  for (let dimension = 0; dimension < rank; dimension++) {
    const size = grid.sizes[dimension];
    pieces.spans[at + 3 * dimension] = grid.reversed[dimension] ? size - 1 - high[dimension] : low[dimension];
    pieces.spans[at + 3 * dimension + 1] = high[dimension] - low[dimension] + 1;
    pieces.spans[at + 3 * dimension + 2] = 1;
  }
}

/**
 * The array's own index of a place in its grid, or null beyond the end of a folded array.
 * @param {Grid} grid
 * @param {ArrayInfo} array
 * @param {number[]} place
 */
export function indexAt(grid, array, place) {
  if (!grid.fold) return place.every((at, dimension) => at >= 0 && at < grid.sizes[dimension]) ? place : null;
  const [row, column] = place;
  const at = row * grid.fold + column;
  if (column < 0 || column >= grid.fold || at < 0 || at >= grid.length) return null;
  return array.shape.length ? [at] : [];
}
