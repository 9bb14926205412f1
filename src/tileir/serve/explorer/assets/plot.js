// A canvas that shows a grid of elements: axes with indices, zoom and pan, a cursor that keys move.

import { element } from "explorer/elements.js";
import { hatch, sharpen, styleColour, ticks } from "explorer/drawing.js";

/** @typedef {import("./pictures.js").Frame} Frame */
/** @typedef {{ row: number, column: number, rows: number, columns: number }} Area */

/**
 * What is drawn: a pixel for each cell of the frame (0: none), and what lies above.
 * @typedef {object} Scene
 * @property {Frame} frame
 * @property {Uint32Array} pixels
 * @property {Uint8Array | null} conflicts  Cells with any conflict.
 * @property {(Area & { colour: string, width: number, dashed?: boolean, label?: string })[]} outlines
 * @property {(Area & { colour: string })[]} paddings  Parts of tiles that are outside of the array.
 * @property {{ row: number, column: number }[]} races
 */

/**
 * @typedef {object} Listener
 * @property {() => void} framed  Another part is seen: draw again.
 * @property {(area: Area | null, point: { x: number, y: number }) => void} pointed
 * @property {(area: Area) => void} picked
 */

export const MARGIN = { left: 46, top: 20, right: 10, bottom: 8 };
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
    this._cells = document.createElement("canvas");
    /** @type {ImageData | null} */
    this._image = null;
    this.width = 0;
    this.height = 0;
    /** Rows and columns of the array, and of what tiles have beyond its end. */
    this.rows = 1;
    this.columns = 1;
    this.beyondRows = 0;
    this.beyondColumns = 0;
    /** @type {number[]} */
    this.slice = [];
    /** The upper left corner in elements, and pixels of an element. */
    this.view = { row: 0, column: 0, x: 1, y: 1 };
    /** @type {Area | null} */
    this.cursor = null;
    this._listen();
  }

  /**
   * @param {{ rows: number, columns: number }} grid
   * @param {number} rows
   * @param {number} columns Beyond the end.
   */
  show(grid, rows, columns) {
    this.rows = grid.rows;
    this.columns = grid.columns;
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
    y = Math.max(y, Math.min(HIGHEST, room / rows, 120 / rows));
    if (x > y) x = Math.max(Math.min(x, y), Math.min(x, 160 / columns));
    this.fit = { x, y };
    this.width = MARGIN.left + MARGIN.right + inner;
    this.height = MARGIN.top + MARGIN.bottom + Math.min(room, Math.ceil(rows * y));
    this.reset();
  }

  reset() {
    this.view = { row: 0, column: 0, ...(this.fit ?? { x: 1, y: 1 }) };
  }

  get whole() {
    return this.fit !== undefined && this.view.x === this.fit.x && this.view.y === this.fit.y;
  }

  /**
   * The part that is seen.
   * @returns {Frame}
   */
  frame() {
    const { view } = this;
    const [row, binRows, rows] = bins(view.row, this._innerHeight / view.y, this.rows, this._innerHeight);
    const [column, binColumns, columns] = bins(view.column, this._innerWidth / view.x, this.columns, this._innerWidth);
    return { slice: this.slice, row, column, binRows, binColumns, rows, columns };
  }

  get _innerWidth() {
    return this.width - MARGIN.left - MARGIN.right;
  }

  get _innerHeight() {
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

  /** @param {Scene} scene */
  draw(scene) {
    const pen = sharpen(this.canvas, this.width, this.height);
    const text = styleColour(this.canvas, "--text-quiet", "#555");
    const line = styleColour(this.canvas, "--border", "#ccc");
    const bad = styleColour(this.canvas, "--bad", "#b00");
    pen.clearRect(0, 0, this.width, this.height);
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left - 1, MARGIN.top - 1, this._innerWidth + 2, this._innerHeight + 2);
    pen.clip();
    pen.fillStyle = styleColour(this.canvas, "--surface-sunken", "#eee");
    pen.fillRect(this.x(0), this.y(0), this.columns * this.view.x, this.rows * this.view.y);
    this._paint(pen, scene);
    this._lines(pen, scene.frame, line);
    for (const { row, column, rows, columns, colour } of scene.paddings) {
      hatch(pen, this.x(column), this.y(row), columns * this.view.x, rows * this.view.y, colour);
    }
    pen.strokeStyle = text;
    pen.lineWidth = 1;
    pen.strokeRect(this.x(0) - 0.5, this.y(0) - 0.5, this.columns * this.view.x + 1, this.rows * this.view.y + 1);
    if (scene.conflicts !== null) this._conflicts(pen, scene, bad);
    for (const outline of scene.outlines) this._outline(pen, outline);
    for (const { row, column } of scene.races) this._race(pen, row, column, bad);
    if (this.cursor !== null) {
      this._outline(pen, { ...this.cursor, colour: styleColour(this.canvas, "--text", "#000"), width: 2 });
    }
    pen.restore();
    this._axes(pen, text);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {Scene} scene
   */
  _paint(pen, { frame, pixels }) {
    if (frame.rows === 0 || frame.columns === 0) return;
    if (this._image === null || this._image.width !== frame.columns || this._image.height !== frame.rows) {
      this._image = new ImageData(frame.columns, frame.rows);
      this._cells.width = frame.columns;
      this._cells.height = frame.rows;
    }
    new Uint32Array(this._image.data.buffer).set(pixels);
    this._cells.getContext("2d")?.putImageData(this._image, 0, 0);
    pen.imageSmoothingEnabled = false;
    // A bin at the edge is as large as others, but the array ends within it.
    pen.save();
    pen.beginPath();
    pen.rect(this.x(0), this.y(0), this.columns * this.view.x, this.rows * this.view.y);
    pen.clip();
    const width = frame.columns * frame.binColumns * this.view.x;
    const height = frame.rows * frame.binRows * this.view.y;
    pen.drawImage(this._cells, this.x(frame.column), this.y(frame.row), width, height);
    pen.restore();
  }

  /**
   * Lines between cells that are large.
   * @param {CanvasRenderingContext2D} pen
   * @param {Frame} frame
   * @param {string} colour
   */
  _lines(pen, frame, colour) {
    const x = frame.binColumns * this.view.x;
    const y = frame.binRows * this.view.y;
    pen.strokeStyle = colour;
    pen.lineWidth = 1;
    pen.globalAlpha = 0.6;
    pen.beginPath();
    const bottom = Math.min(this.y(this.rows), this.height);
    const right = Math.min(this.x(this.columns), this.width);
    if (x >= 7) {
      for (let cell = 0; cell <= frame.columns; cell++) {
        const at = Math.round(this.x(frame.column + cell * frame.binColumns)) + 0.5;
        pen.moveTo(at, Math.max(MARGIN.top, this.y(0)));
        pen.lineTo(at, bottom);
      }
    }
    if (y >= 7) {
      for (let cell = 0; cell <= frame.rows; cell++) {
        const at = Math.round(this.y(frame.row + cell * frame.binRows)) + 0.5;
        pen.moveTo(Math.max(MARGIN.left, this.x(0)), at);
        pen.lineTo(right, at);
      }
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {Scene} scene
   * @param {string} colour
   */
  _conflicts(pen, { frame, conflicts }, colour) {
    const width = frame.binColumns * this.view.x;
    const height = frame.binRows * this.view.y;
    // A cell of a pixel is filled; a larger one keeps its colour and is crossed.
    const crossed = width >= 5 && height >= 5;
    pen.fillStyle = colour;
    pen.strokeStyle = colour;
    pen.lineWidth = Math.min(2, width / 5);
    pen.beginPath();
    for (let row = 0; row < frame.rows; row++) {
      for (let column = 0; column < frame.columns; column++) {
        if (!conflicts?.[row * frame.columns + column]) continue;
        const x = this.x(frame.column + column * frame.binColumns);
        const y = this.y(frame.row + row * frame.binRows);
        if (!crossed) pen.rect(x, y, Math.max(1, width), Math.max(1, height));
        else {
          pen.moveTo(x + 1.5, y + 1.5);
          pen.lineTo(x + width - 1.5, y + height - 1.5);
          pen.moveTo(x + width - 1.5, y + 1.5);
          pen.lineTo(x + 1.5, y + height - 1.5);
        }
      }
    }
    if (crossed) pen.stroke();
    else pen.fill();
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {Area & { colour: string, width: number, dashed?: boolean, label?: string }} outline
   */
  _outline(pen, { row, column, rows, columns, colour, width, dashed, label }) {
    const x = this.x(column);
    const y = this.y(row);
    // What is smaller than a few pixels is still seen.
    const right = Math.max(columns * this.view.x, 4);
    const down = Math.max(rows * this.view.y, 4);
    pen.lineJoin = "round";
    pen.setLineDash([]);
    pen.strokeStyle = styleColour(this.canvas, "--surface", "#fff");
    pen.lineWidth = width + 2;
    pen.strokeRect(x, y, right, down);
    pen.setLineDash(dashed ? [4, 3] : []);
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.strokeRect(x, y, right, down);
    pen.setLineDash([]);
    if (label) {
      pen.font = "bold 12px sans-serif";
      const size = pen.measureText(label).width + 6;
      pen.fillStyle = colour;
      pen.fillRect(x - 1, Math.max(MARGIN.top, y - 15), size, 15);
      pen.fillStyle = styleColour(this.canvas, "--surface", "#fff");
      pen.textBaseline = "middle";
      pen.textAlign = "left";
      pen.fillText(label, x + 2, Math.max(MARGIN.top, y - 15) + 8);
    }
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {number} row
   * @param {number} column
   * @param {string} colour
   */
  _race(pen, row, column, colour) {
    const x = this.x(column + 0.5);
    const y = this.y(row + 0.5);
    pen.beginPath();
    pen.moveTo(x, y - 8);
    pen.lineTo(x + 8, y + 6);
    pen.lineTo(x - 8, y + 6);
    pen.closePath();
    pen.fillStyle = colour;
    pen.strokeStyle = styleColour(this.canvas, "--surface", "#fff");
    pen.lineWidth = 1.5;
    pen.fill();
    pen.stroke();
    pen.font = "bold 11px sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillStyle = styleColour(this.canvas, "--surface", "#fff");
    pen.fillText("!", x, y + 1);
  }

  /**
   * @param {CanvasRenderingContext2D} pen
   * @param {string} colour
   */
  _axes(pen, colour) {
    pen.fillStyle = colour;
    pen.strokeStyle = colour;
    pen.font = "11px sans-serif";
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    const { view } = this;
    for (const row of ticks(Math.max(0, view.row), this._seenRows, view.y, 18)) {
      pen.fillText(String(row), MARGIN.left - 6, this.y(row + 0.5));
    }
    pen.textAlign = "center";
    const room = 12 + 7 * String(this.columns).length;
    for (const column of ticks(Math.max(0, view.column), this._seenColumns, view.x, room)) {
      pen.fillText(String(column), Math.max(MARGIN.left + 4, this.x(column + 0.5)), MARGIN.top - 10);
    }
  }

  get _seenRows() {
    const from = Math.max(0, this.view.row);
    return Math.min(this.rows, this.view.row + this._innerHeight / this.view.y) - from;
  }

  get _seenColumns() {
    const from = Math.max(0, this.view.column);
    return Math.min(this.columns, this.view.column + this._innerWidth / this.view.x) - from;
  }

  // ---- Zoom, pan, cursor ----

  /**
   * Keeps the point at (x, y) where it is.
   * @param {number} factor
   * @param {number} [x]
   * @param {number} [y]
   */
  zoom(factor, x = MARGIN.left + this._innerWidth / 2, y = MARGIN.top + this._innerHeight / 2) {
    const { view } = this;
    const fit = this.fit ?? { x: 1, y: 1 };
    const column = view.column + (x - MARGIN.left) / view.x;
    const row = view.row + (y - MARGIN.top) / view.y;
    // Both directions end at the same factor: the shape of elements stays.
    const most = Math.max(1, LARGEST / Math.max(fit.x, fit.y));
    const now = Math.min(most, Math.max(1, (view.x / fit.x) * factor));
    view.x = fit.x * now;
    view.y = fit.y * now;
    this._move(row - (y - MARGIN.top) / view.y, column - (x - MARGIN.left) / view.x);
  }

  /**
   * @param {number} row
   * @param {number} column
   */
  _move(row, column) {
    const { view } = this;
    const lastRow = this.rows + this.beyondRows - this._innerHeight / view.y;
    const lastColumn = this.columns + this.beyondColumns - this._innerWidth / view.x;
    view.row = Math.max(0, Math.min(row, lastRow));
    view.column = Math.max(0, Math.min(column, lastColumn));
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
      row + rows <= view.row + this._innerHeight / view.y &&
      column + columns <= view.column + this._innerWidth / view.x;
    if (seen) return;
    this._move(
      row + rows / 2 - this._innerHeight / view.y / 2,
      column + columns / 2 - this._innerWidth / view.x / 2,
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
      const rows = (direction[0] * this._innerHeight) / this.view.y / 4;
      const columns = (direction[1] * this._innerWidth) / this.view.x / 4;
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
