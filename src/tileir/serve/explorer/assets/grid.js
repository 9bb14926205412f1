// Where the elements of an array stand in its picture.
//
// An array is drawn as a grid of rows and columns: two-dimensional arrays as they are, others as slices along their
// outer dimensions.  One-dimensional arrays are folded into rows.  An access is a set of boxes in memory (a first
// element, extents, strides); in the grid they become pieces: for each dimension a start, a count and a step, so that
// drawing needs no addresses.

import { lowerBound } from "explorer/accesses.js";
import { product } from "explorer/text.js";

/** @param {ArrayInfo} array @returns {Grid} */
export function makeGrid({ shape, strides, fold: width }) {
  const length = product(shape);
  if (shape.length >= 2) return describe(shape, strides, 0, length, 0);
  const fold = Math.max(1, Math.min(width, length));
  const stride = shape.length ? Math.abs(strides[0]) : 1;
  const mirror = shape.length && strides[0] < 0 ? (length - 1) * stride : 0;
  return describe([Math.ceil(length / fold), fold], [stride * fold, stride], fold, length, mirror);
}

/**
 * @param {number[]} sizes @param {number[]} strides @param {number} fold @param {number} length @param {number} mirror
 * @returns {Grid}
 */
function describe(sizes, strides, fold, length, mirror) {
  const order = [...sizes.keys()].filter((dimension) => sizes[dimension] > 1 && strides[dimension] !== 0);
  return {
    sizes,
    strides: strides.map(Math.abs),
    reversed: strides.map((stride) => stride < 0),
    order: order.sort((one, other) => Math.abs(strides[other]) - Math.abs(strides[one])),
    mirror,
    fold,
    length,
    rows: sizes[sizes.length - 2],
    columns: sizes[sizes.length - 1],
  };
}

/** The same grid as if its elements stood in memory one after the other. @param {Grid} grid */
export function contiguous({ sizes, fold, length }) {
  return describe(sizes, sizes.map((_, dimension) => product(sizes.slice(dimension + 1))), fold, length, 0);
}

/**
 * The array's own index of a place in its grid, or null beyond the end of a folded array.
 * @param {Grid} grid @param {ArrayInfo} array @param {number[]} place
 */
export function indexAt(grid, array, place) {
  if (!grid.fold) return place.every((at, dimension) => at >= 0 && at < grid.sizes[dimension]) ? place : null;
  const [row, column] = place;
  const at = row * grid.fold + column;
  if (column < 0 || column >= grid.fold || at < 0 || at >= grid.length) return null;
  return array.shape.length ? [at] : [];
}

/** All pieces of an array, in the order of its accesses. @param {Grid} grid @param {AccessTable} table @param {number} array */
export function piecesOf(grid, table, array) {
  const pieces = new Pieces(grid);
  for (const row of table.rowsOfArray(array)) {
    for (let box = table.boxStart[row]; box < table.boxStart[row + 1]; box++) {
      /** @type {Axis[]} */
      const axes = [];
      for (let axis = table.extentStart[box]; axis < table.extentStart[box + 1]; axis++) {
        axes.push([table.extents[axis], table.strides[axis]]);
      }
      pieces.addBox(row, table.boxFirst[box], axes);
    }
  }
  return pieces;
}

/** Accesses to an array as pieces of its grid. */
export class Pieces {
  /** @param {Grid} grid */
  constructor(grid) {
    this.grid = grid;
    this.rank = grid.sizes.length;
    this.count = 0;
    /** Which row of the accesses each piece belongs to, never falling. */
    this.row = new Int32Array(1024);
    /** For each dimension of each piece a start, a count and a step. */
    this.spans = new Int32Array(1024 * 3 * this.rank);
    /** Boxes that are not within the array. */
    this.outside = 0;
  }

  /**
   * Adds a piece: its first and last index, and a step, in each dimension.
   * @param {number} row @param {number[]} first @param {number[]} last @param {number[]} steps
   */
  _add(row, first, last, steps) {
    if (this.count === this.row.length) {
      const [rows, spans] = [this.row, this.spans];
      this.row = new Int32Array(2 * rows.length);
      this.spans = new Int32Array(2 * spans.length);
      this.row.set(rows);
      this.spans.set(spans);
    }
    const { sizes, reversed } = this.grid;
    let at = 3 * this.rank * this.count;
    for (let dimension = 0; dimension < this.rank; dimension++) {
      this.spans[at++] = reversed[dimension] ? sizes[dimension] - 1 - last[dimension] : first[dimension];
      this.spans[at++] = (last[dimension] - first[dimension]) / steps[dimension] + 1;
      this.spans[at++] = steps[dimension];
    }
    this.row[this.count++] = row;
  }

  /** Adds the pieces that a box in memory covers. @param {number} row @param {number} first @param {Axis[]} box */
  addBox(row, first, box) {
    if (box.some(([extent]) => extent === 0)) return;
    const wide = box.filter(([extent, stride]) => extent > 1 && stride !== 0);
    for (const [extent, stride] of wide) if (stride < 0) first += (extent - 1) * stride;
    const axes = wide.map(([extent, stride]) => /** @type {Axis} */ ([extent, Math.abs(stride)]));
    axes.sort((one, other) => other[1] - one[1]);
    // Rows of a folded array are counted from its first element, wherever that is in memory.
    if (this.grid.mirror > 0) first = this.grid.mirror - lastOf(first, axes);
    this._place(row, first, axes);
  }

  /** The index of an element; null if memory there is no element of the array. @param {number} offset */
  _locate(offset) {
    const { sizes, strides, order } = this.grid;
    const index = sizes.map(() => 0);
    for (const dimension of order) {
      const at = Math.floor(offset / strides[dimension]);
      if (at < 0 || at >= sizes[dimension]) return null;
      index[dimension] = at;
      offset -= at * strides[dimension];
    }
    return offset === 0 ? index : null;
  }

  /**
   * Each axis of a box is along one dimension of the grid; one that runs over the end of a row is cut there.
   * @param {number} row @param {number} first @param {Axis[]} axes  Largest stride first.
   */
  _place(row, first, axes) {
    const { sizes, strides, order } = this.grid;
    const start = this._locate(first);
    if (start === null) {
      this.outside++;
      return;
    }
    const last = [...start];
    const steps = sizes.map(() => 1);
    for (const [which, [extent, stride]] of axes.entries()) {
      const dimension = order.find((one) => strides[one] <= stride && stride % strides[one] === 0) ?? -1;
      const isFree = dimension >= 0 && last[dimension] === start[dimension];
      const by = stride / strides[dimension];
      if (!isFree || start[dimension] + (extent - 1) * by >= sizes[dimension]) {
        if (isFree && this._continues(dimension)) this._cut(row, first, axes, which, dimension, start[dimension]);
        else this._expand(row, first, axes, which);
        return;
      }
      last[dimension] += (extent - 1) * by;
      steps[dimension] = by;
    }
    // Dimensions without a stride show the same memory at each index.
    for (const [dimension, stride] of strides.entries()) if (stride === 0) last[dimension] = start[dimension] + sizes[dimension] - 1;
    this._add(row, start, last, steps);
  }

  /** Whether a row's end is the beginning of the next in memory. @param {number} dimension */
  _continues(dimension) {
    const { sizes, strides, order } = this.grid;
    return order.some((one) => strides[one] === sizes[dimension] * strides[dimension]);
  }

  /**
   * One piece for each element along an axis that fits no dimension.
   * @param {number} row @param {number} first @param {Axis[]} axes @param {number} which
   */
  _expand(row, first, axes, which) {
    const rest = axes.filter((_, axis) => axis !== which);
    for (let at = 0; at < axes[which][0]; at++) this._place(row, first + at * axes[which][1], rest);
  }

  /**
   * An axis that runs over the end of its dimension: the rest of the first row, whole rows, a part of the last.
   * @param {number} row @param {number} first @param {Axis[]} axes
   * @param {number} which @param {number} dimension @param {number} start
   */
  _cut(row, first, axes, which, dimension, start) {
    const [extent, stride] = axes[which];
    const size = this.grid.sizes[dimension];
    const by = stride / this.grid.strides[dimension];
    const whole = size % by === 0 ? size / by : 0;
    for (let done = 0; done < extent; ) {
      const within = (start + done * by) % size;
      const rows = whole > 0 && within < by ? Math.floor((extent - done) / whole) : 0;
      const covered = rows > 1 ? rows * whole : Math.min(Math.ceil((size - within) / by), extent - done);
      /** @type {Axis[]} */
      const part = rows > 1 ? [[rows, whole * stride], [whole, stride]] : [[covered, stride]];
      const cut = [...axes.slice(0, which), ...part, ...axes.slice(which + 1)];
      this._place(row, first + done * stride, cut.filter(([count]) => count > 1));
      done += covered;
    }
  }

  /** The pieces of an access: the first, and the one behind the last. @param {number} row @returns {[number, number]} */
  ofRow(row) {
    const find = (/** @type {number} */ wanted) => lowerBound(this.count, (at) => this.row[at] < wanted);
    return [find(row), find(row + 1)];
  }

  /** Start, count and step of a piece in a dimension. @param {number} piece @param {number} dimension */
  span(piece, dimension) {
    const at = 3 * (this.rank * piece + dimension);
    return this.spans.subarray(at, at + 3);
  }

  /**
   * Whether a piece touches any element of a part of the grid: a start and an extent for each dimension.
   * @param {number} piece @param {ArrayLike<number>} start @param {ArrayLike<number>} extents
   */
  touches(piece, start, extents) {
    const { spans, rank } = this;
    let at = 3 * rank * piece;
    for (let dimension = 0; dimension < rank; dimension++, at += 3) {
      const from = Math.max(0, Math.ceil((start[dimension] - spans[at]) / spans[at + 2]));
      const found = spans[at] + from * spans[at + 2];
      if (from >= spans[at + 1] || found >= start[dimension] + extents[dimension]) return false;
    }
    return true;
  }

  /** A place that two pieces both touch, or null. @param {number} one @param {number} other */
  meeting(one, other) {
    /** @type {number[]} */
    const place = [];
    for (let dimension = 0; dimension < this.rank; dimension++) {
      const [start, count, step] = this.span(one, dimension);
      const [begin, length, by] = this.span(other, dimension);
      const end = Math.min(start + count * step, begin + length * by);
      let at = start + Math.max(0, Math.ceil((begin - start) / step)) * step;
      while (at < end && (at - begin) % by !== 0) at += step;
      if (at >= end) return null;
      place.push(at);
    }
    return place;
  }

  /** The rows and columns from the first to the last that a piece touches. @param {number} piece @returns {Area} */
  areaOf(piece) {
    const [row, rows, down] = this.span(piece, this.rank - 2);
    const [column, columns, right] = this.span(piece, this.rank - 1);
    return { row, column, rows: (rows - 1) * down + 1, columns: (columns - 1) * right + 1 };
  }

  /** Whether a slice has a part of a piece. @param {number} piece @param {number[]} slice */
  inSlice(piece, slice) {
    return slice.every((index, dimension) => {
      const [start, count, step] = this.span(piece, dimension);
      return index >= start && (index - start) % step === 0 && (index - start) / step < count;
    });
  }

  /** Whether a slice has a part of an access. @param {number} row @param {number[]} slice */
  rowInSlice(row, slice) {
    const [from, to] = this.ofRow(row);
    for (let piece = from; piece < to; piece++) if (this.inSlice(piece, slice)) return true;
    return false;
  }
}

/** The last element of a box. @param {number} first @param {Axis[]} axes */
function lastOf(first, axes) {
  return axes.reduce((last, [extent, stride]) => last + (extent - 1) * stride, first);
}
