// A canvas that shows a grid of elements: axes with indices, zoom and pan, a cursor that keys move.

import { element } from "page/elements.js";
import { MARGIN, paint } from "explorer/painting.js";

/** @typedef {import("./pictures.js").Frame} Frame */
/** @typedef {{ row: number, column: number, rows: number, columns: number }} Area */

/** @typedef {import("./painting.js").Scene} Scene */

/**
 * @typedef {object} Listener
 * @property {() => void} framed  Another part is seen: draw again.
 * @property {(area: Area | null, point: { x: number, y: number }) => void} pointed
 * @property {(area: Area) => void} picked
 */

/** Cells of a picture along each side, at most. */
const CELLS = 512;
const ZOOM = 1.5;
/** Pixels of an element, at most. */
const LARGEST = 64;
const HIGHEST = 26;

export class Plot {
  /**
   * @param {string} label
   * @param {Listener} listener
   */
  constructor(label, listener) {
    this.listener = listener;
    this.canvas = element("canvas", {
      class: "grid-picture",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "array picture",
      "aria-label": label,
    });
    /** The cells, a pixel each. */
    this.cells = document.createElement("canvas");
    /** @type {ImageData | null} */
    this.image = null;
    this.width = 0;
    this.height = 0;
    /** Rows and columns of the array, and of what tiles have beyond its end. */
    this.rows = 1;
    this.columns = 1;
    this.beyondRows = 0;
    this.beyondColumns = 0;
    /** How many columns the last row has: that of a folded array may be short. */
    this.lastColumns = 1;
    /** What a row is counted by: the index of its first element in a folded array. */
    this.rowLabel = 1;
    this.flexible = false;
    /** @type {number[]} */
    this.slice = [];
    /** The upper left corner in elements, and pixels of an element. */
    this.view = { row: 0, column: 0, x: 1, y: 1 };
    /** How much larger than all of the array. */
    this.factor = 1;
    /** @type {Area | null} */
    this.cursor = null;
    this._listen();
  }

  /**
   * @param {{ rows: number, columns: number, fold: number, length: number }} grid
   * @param {number} rows
   * @param {number} columns Beyond the end.
   */
  show(grid, rows, columns) {
    this.rows = grid.rows;
    this.columns = grid.columns;
    this.rowLabel = grid.fold || 1;
    this.flexible = grid.fold > 0;
    this.lastColumns = grid.fold ? grid.length - (grid.rows - 1) * grid.fold : grid.columns;
    this.beyondRows = rows;
    this.beyondColumns = columns;
    this.cursor = null;
  }

  /**
   * Gives the picture its room, and shows all of the array.
   * @param {number} width
   * @param {number} highest
   */
  resize(width, highest) {
    const inner = Math.max(40, width - MARGIN.left - MARGIN.right);
    const rows = this.rows + this.beyondRows;
    const columns = this.columns + this.beyondColumns;
    const room = Math.max(40, highest - MARGIN.top - MARGIN.bottom);
    let x = Math.min(inner / columns, LARGEST);
    let y = Math.min(x, room / rows);
    // Few long rows would be a line, many short ones a thread.
    y = Math.max(y, Math.min(HIGHEST, room / rows, (this.flexible ? 220 : 120) / rows));
    if (x > y) x = Math.max(Math.min(x, y), Math.min(x, 160 / columns));
    this.fit = { x, y };
    this.width = MARGIN.left + MARGIN.right + inner;
    this.height = MARGIN.top + MARGIN.bottom + Math.min(room, Math.ceil(rows * y));
    // Who has zoomed in keeps the place.
    if (this.factor === 1) this.reset();
    else this._enlarge(this.view.row, this.view.column);
  }

  /**
   * Sizes of elements for the factor, with a corner that is within the picture.
   * @param {number} row
   * @param {number} column
   */
  _enlarge(row, column) {
    const { view } = this;
    const fit = this.fit ?? { x: 1, y: 1 };
    // Where elements are large in one direction already, as in an array of one long row, the other goes on.
    view.x = Math.max(fit.x, Math.min(LARGEST, fit.x * this.factor));
    view.y = Math.max(fit.y, Math.min(LARGEST, fit.y * this.factor));
    view.row = Math.max(0, Math.min(row, this.rows + this.beyondRows - this.innerHeight / view.y));
    view.column = Math.max(0, Math.min(column, this.columns + this.beyondColumns - this.innerWidth / view.x));
  }

  reset() {
    this.factor = 1;
    this.view = { row: 0, column: 0, ...(this.fit ?? { x: 1, y: 1 }) };
  }

  get whole() {
    return this.factor === 1;
  }

  /**
   * The part that is seen.
   * @returns {Frame}
   */
  frame() {
    const { view } = this;
    const [row, binRows, rows] = bins(view.row, this.innerHeight / view.y, this.rows, this.innerHeight);
    const [column, binColumns, columns] = bins(view.column, this.innerWidth / view.x, this.columns, this.innerWidth);
    return { slice: this.slice, row, column, binRows, binColumns, rows, columns };
  }

  get innerWidth() {
    return this.width - MARGIN.left - MARGIN.right;
  }

  get innerHeight() {
    return this.height - MARGIN.top - MARGIN.bottom;
  }

  /** @param {number} column */
  x(column) {
    return MARGIN.left + (column - this.view.column) * this.view.x;
  }

  /** @param {number} row */
  y(row) {
    return MARGIN.top + (row - this.view.row) * this.view.y;
  }

  get seenRows() {
    const from = Math.max(0, this.view.row);
    return Math.min(this.rows, this.view.row + this.innerHeight / this.view.y) - from;
  }

  get seenColumns() {
    const from = Math.max(0, this.view.column);
    return Math.min(this.columns, this.view.column + this.innerWidth / this.view.x) - from;
  }

  /** @param {Scene} scene */
  draw(scene) {
    paint(this, scene);
  }

  // ---- Zoom, pan, cursor ----

  /**
   * Keeps the point at (x, y) where it is.
   * @param {number} factor
   * @param {number} [x]
   * @param {number} [y]
   */
  zoom(factor, x = MARGIN.left + this.innerWidth / 2, y = MARGIN.top + this.innerHeight / 2) {
    const { view } = this;
    const fit = this.fit ?? { x: 1, y: 1 };
    const column = view.column + (x - MARGIN.left) / view.x;
    const row = view.row + (y - MARGIN.top) / view.y;
    const most = Math.max(1, LARGEST / Math.min(fit.x, fit.y));
    this.factor = Math.min(most, Math.max(1, this.factor * factor));
    this._enlarge(row, column);
    this._move(row - (y - MARGIN.top) / view.y, column - (x - MARGIN.left) / view.x);
  }

  /**
   * @param {number} row
   * @param {number} column
   */
  _move(row, column) {
    this._enlarge(row, column);
    this.listener.framed();
  }

  /**
   * Makes an area seen, as large as it can be if it is small.
   * @param {Area} area
   */
  reveal({ row, column, rows, columns }) {
    const { view } = this;
    const seen =
      row >= view.row &&
      column >= view.column &&
      row + rows <= view.row + this.innerHeight / view.y &&
      column + columns <= view.column + this.innerWidth / view.x;
    if (seen) return;
    this._move(
      row + rows / 2 - this.innerHeight / view.y / 2,
      column + columns / 2 - this.innerWidth / view.x / 2,
    );
  }

  /**
   * The cell at a point of the canvas, or null.
   * @param {number} x
   * @param {number} y
   * @returns {Area | null}
   */
  cellAt(x, y) {
    const frame = this.frame();
    const column = Math.floor(this.view.column + (x - MARGIN.left) / this.view.x);
    const row = Math.floor(this.view.row + (y - MARGIN.top) / this.view.y);
    if (x < MARGIN.left || y < MARGIN.top || row < 0 || column < 0 || row >= this.rows || column >= this.columns) {
      return null;
    }
    return this._cell(frame, row, column);
  }

  /**
   * @param {Frame} frame
   * @param {number} row
   * @param {number} column
   * @returns {Area}
   */
  _cell(frame, row, column) {
    const top = Math.floor(row / frame.binRows) * frame.binRows;
    const left = Math.floor(column / frame.binColumns) * frame.binColumns;
    return {
      row: top,
      column: left,
      rows: Math.min(frame.binRows, this.rows - top),
      columns: Math.min(frame.binColumns, this.columns - left),
    };
  }

  _listen() {
    const { canvas } = this;
    /** @type {{ x: number, y: number, row: number, column: number, moved: boolean } | null} */
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      drag = { x: event.offsetX, y: event.offsetY, row: this.view.row, column: this.view.column, moved: false };
    });
    canvas.addEventListener("pointermove", (event) => {
      const { offsetX: x, offsetY: y } = event;
      if (drag !== null && (drag.moved || Math.hypot(x - drag.x, y - drag.y) > 4)) {
        drag.moved = true;
        this._move(drag.row - (y - drag.y) / this.view.y, drag.column - (x - drag.x) / this.view.x);
      } else this.listener.pointed(this.cellAt(x, y), { x, y });
    });
    canvas.addEventListener("pointerup", (event) => {
      const cell = this.cellAt(event.offsetX, event.offsetY);
      if (drag !== null && !drag.moved && cell !== null) this._pick(cell);
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => (drag = null));
    canvas.addEventListener("pointerleave", () => this.listener.pointed(null, { x: 0, y: 0 }));
    canvas.addEventListener(
      "wheel",
      (event) => {
        // The page scrolls over pictures that nobody works with.
        if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
        event.preventDefault();
        this.zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => this._key(event));
  }

  /** @param {Area} cell */
  _pick(cell) {
    this.cursor = cell;
    this.listener.picked(cell);
  }

  /** @param {KeyboardEvent} event */
  _key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    /** @type {Record<string, [number, number]>} */
    const directions = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const direction = directions[event.key];
    if (direction !== undefined && event.shiftKey) {
      const rows = (direction[0] * this.innerHeight) / this.view.y / 4;
      const columns = (direction[1] * this.innerWidth) / this.view.x / 4;
      this._move(this.view.row + rows, this.view.column + columns);
    } else if (direction !== undefined) this._step(direction);
    else if (event.key === "+" || event.key === "=") this._zoomAtCursor(ZOOM);
    else if (event.key === "-") this._zoomAtCursor(1 / ZOOM);
    else if (event.key === "0") {
      this.reset();
      this.listener.framed();
    } else if ((event.key === "Enter" || event.key === " ") && this.cursor !== null) this._pick(this.cursor);
    else if (event.key === "Escape" && this.cursor !== null) {
      this.cursor = null;
      this.listener.pointed(null, { x: 0, y: 0 });
      this.listener.framed();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {number} factor */
  _zoomAtCursor(factor) {
    if (this.cursor === null) this.zoom(factor);
    else this.zoom(factor, this.x(this.cursor.column + this.cursor.columns / 2), this.y(this.cursor.row + this.cursor.rows / 2));
  }

  /** @param {[number, number]} direction */
  _step([down, right]) {
    const frame = this.frame();
    const at = this.cursor;
    const row = at === null ? frame.row : Math.min(this.rows - 1, Math.max(0, at.row + down * frame.binRows));
    const column = at === null ? frame.column : Math.min(this.columns - 1, Math.max(0, at.column + right * frame.binColumns));
    this.cursor = this._cell(frame, row, column);
    this.reveal(this.cursor);
    this.listener.framed();
    this.listener.pointed(this.cursor, {
      x: this.x(this.cursor.column + this.cursor.columns),
      y: this.y(this.cursor.row + this.cursor.rows),
    });
  }
}

/**
 * Bins along a dimension: the first element, elements of a bin, and bins.
 * @param {number} from
 * @param {number} seen
 * @param {number} size
 * @param {number} room
 * @returns {[number, number, number]}
 */
function bins(from, seen, size, room) {
  const first = Math.max(0, Math.floor(from));
  const end = Math.min(size, Math.ceil(from + seen));
  let bin = 1;
  // Powers of two, as tiles have: a bin then seldom has parts of two tiles.
  while ((end - first) / bin > Math.min(CELLS, Math.max(16, room))) bin *= 2;
  const start = Math.floor(first / bin) * bin;
  return [start, bin, Math.max(0, Math.ceil((end - start) / bin))];
}
