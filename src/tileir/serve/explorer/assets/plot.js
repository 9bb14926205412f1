// A canvas that shows a grid of elements: axes with indices, zoom and pan, a cursor that keys move.

import { element, hasModifier } from "page/elements.js";
import { draw, hatching, joined, styleColor, ticks } from "page/shapes.js";

/** Cells of a picture along each side, at most. */
const CELLS = 512;
const ZOOM = 1.5;
/** Pixels of an element, at most. */
const LARGEST = 64;
const HIGHEST = 26;
/** Cells of fewer pixels have no lines between them, and conflicts in smaller ones no crosses. */
const LINED = 7;
const CROSSED = 5;
const LEFT = 58;
const TOP = 20;
const RIGHT = 10;
const BOTTOM = 8;

export class Plot {
  /** @param {string} label @param {PlotListener} listener */
  constructor(label, listener) {
    this.listener = listener;
    const roles = { tabindex: 0, role: "application", "aria-roledescription": "array picture", "aria-label": label };
    this.canvas = element("canvas.grid-picture", roles);
    this.width = LEFT + RIGHT;
    this.height = TOP + BOTTOM;
    /** Rows and columns of the array, and of what tiles have beyond its end. */
    this.rows = 1;
    this.columns = 1;
    this.beyond = { rows: 0, columns: 0 };
    /** How many columns the last row has: that of a folded array may be short. */
    this.lastColumns = 1;
    /** What a row is counted by: the index of its first element in a folded array. */
    this.rowLabel = 1;
    /** @type {number[]} */
    this.slice = [];
    /** The upper left corner in elements, and pixels of an element. */
    this.view = { row: 0, column: 0, x: 1, y: 1 };
    this.fit = { x: 1, y: 1 };
    /** How much larger than all of the array. */
    this.factor = 1;
    /** @type {Area | null} */
    this.cursor = null;
    this._listen();
  }

  /**
   * @param {Pick<Grid, "rows" | "columns" | "fold" | "length">} grid @param {{ rows: number, columns: number }} beyond
   * @param {number[]} slice
   */
  show(grid, beyond, slice) {
    this.rows = grid.rows;
    this.columns = grid.columns;
    this.rowLabel = grid.fold || 1;
    this.lastColumns = grid.fold ? grid.length - (grid.rows - 1) * grid.fold : grid.columns;
    this.beyond = beyond;
    this.slice = slice;
  }

  /** Gives the picture its room; who has zoomed in keeps the place. @param {number} width @param {number} highest */
  resize(width, highest) {
    const inner = Math.max(40, width - LEFT - RIGHT);
    const room = Math.max(40, highest - TOP - BOTTOM);
    const rows = this.rows + this.beyond.rows;
    const columns = this.columns + this.beyond.columns;
    let x = Math.min(inner / columns, LARGEST);
    // Few long rows would be a line, many short ones a thread.
    const least = Math.min(HIGHEST, room / rows, (this.rowLabel > 1 ? 220 : 120) / rows);
    const y = Math.max(Math.min(x, room / rows), least);
    if (x > y) x = Math.max(Math.min(x, y), Math.min(x, 160 / columns));
    this.fit = { x, y };
    this.width = LEFT + RIGHT + inner;
    this.height = TOP + BOTTOM + Math.min(room, Math.ceil(rows * y));
    this._enlarge(this.view.row, this.view.column);
  }

  /** Sizes of elements for the factor, with a corner within the picture. @param {number} row @param {number} column */
  _enlarge(row, column) {
    const { view, fit, factor } = this;
    // Where elements are large in one direction already, as in an array of one long row, the other goes on.
    view.x = Math.max(fit.x, Math.min(LARGEST, fit.x * factor));
    view.y = Math.max(fit.y, Math.min(LARGEST, fit.y * factor));
    view.row = Math.max(0, Math.min(row, this.rows + this.beyond.rows - this.seenRows));
    view.column = Math.max(0, Math.min(column, this.columns + this.beyond.columns - this.seenColumns));
  }

  reset() {
    this.factor = 1;
    this._enlarge(0, 0);
  }

  /** Rows that are seen, of the array or beyond it. */
  get seenRows() {
    return (this.height - TOP - BOTTOM) / this.view.y;
  }

  get seenColumns() {
    return (this.width - LEFT - RIGHT) / this.view.x;
  }

  /** The part that is seen, in cells. @returns {Frame} */
  frame() {
    const [row, binRows, rows] = bins(this.view.row, this.seenRows, this.rows, this.height - TOP - BOTTOM);
    const [column, binColumns, columns] = bins(this.view.column, this.seenColumns, this.columns, this.width - LEFT - RIGHT);
    return { slice: this.slice, row, column, binRows, binColumns, rows, columns };
  }

  /** @param {number} column */
  x(column) {
    return LEFT + (column - this.view.column) * this.view.x;
  }

  /** @param {number} row */
  y(row) {
    return TOP + (row - this.view.row) * this.view.y;
  }

  /** @param {Area} area */
  rect({ row, column, rows, columns }) {
    return { x: this.x(column), y: this.y(row), width: columns * this.view.x, height: rows * this.view.y };
  }

  // ---- Drawing ----

  /** @param {Scene} scene */
  draw(scene) {
    const cursor = this.cursor === null ? [] : this._outline({ ...this.cursor, color: styleColor("--text"), width: 2 });
    draw(this.canvas, this.width, this.height, this.shapes(scene, cursor));
  }

  /** The picture as shapes. @param {Scene} scene @param {Shape[]} [above] @returns {Shape[]} */
  shapes(scene, above = []) {
    const { frame } = scene;
    const [quiet, bad] = [styleColor("--text-quiet"), styleColor("--bad")];
    const cells = { row: frame.row, column: frame.column, rows: frame.rows * frame.binRows, columns: frame.columns * frame.binColumns };
    const [inner, high] = [this.width - LEFT - RIGHT + 2, this.height - TOP - BOTTOM + 2];
    const parts = [
      { d: this._edge(0), fill: styleColor("--surface-sunken") },
      // A bin at the edge is as large as others, but the array ends within it.
      { clip: this._edge(0), parts: [{ cells: { ...frame, pixels: scene.pixels }, rect: this.rect(cells) }] },
      { clip: this._edge(1), parts: [{ d: this._lines(frame), stroke: styleColor("--border"), opacity: 0.6 }] },
      ...scene.paddings.map((area) => ({ d: hatching(this.rect(area)), stroke: area.color })),
      { d: this._edge(0.5), stroke: quiet },
      ...(scene.conflicts === null ? [] : this._conflicts(frame, scene.conflicts, bad)),
      ...scene.outlines.flatMap((outline) => this._outline(outline)),
      ...scene.races.flatMap(({ row, column }) => this._race(row, column, bad)),
      ...above,
    ];
    return [{ clip: `M${LEFT - 1} ${TOP - 1}h${inner}v${high}h${-inner}z`, parts }, ...this._axes(quiet)];
  }

  /** The edge of the array, as a path; the last row may be short. @param {number} around  Pixels outside of it. */
  _edge(around) {
    const [left, top] = [this.x(0) - around, this.y(0) - around];
    const [right, short] = [this.x(this.columns) + around, this.x(this.lastColumns) + around];
    const [low, bottom] = [this.y(this.rows - 1) + around, this.y(this.rows) + around];
    const step = this.lastColumns < this.columns ? `V${low}H${short}` : "";
    return `M${left} ${top}H${right}${step}V${bottom}H${left}z`;
  }

  /** Lines between cells that are large. @param {Frame} frame */
  _lines(frame) {
    const { x, y, width, height } = this.rect({ row: 0, column: 0, rows: this.rows, columns: this.columns });
    let path = "";
    for (let cell = 0; cell <= frame.columns && frame.binColumns * this.view.x >= LINED; cell++) {
      path += `M${Math.round(this.x(frame.column + cell * frame.binColumns)) + 0.5} ${y}v${height}`;
    }
    for (let cell = 0; cell <= frame.rows && frame.binRows * this.view.y >= LINED; cell++) {
      path += `M${x} ${Math.round(this.y(frame.row + cell * frame.binRows)) + 0.5}h${width}`;
    }
    return path;
  }

  /**
   * Large cells are crossed, small ones hatched together, and single pixels filled, so that each is seen.
   * @param {Frame} frame @param {Uint8Array} conflicts @param {string} color @returns {Shape[]}
   */
  _conflicts(frame, conflicts, color) {
    const [width, height] = [frame.binColumns * this.view.x, frame.binRows * this.view.y];
    let crosses = "";
    /** @type {Shape[]} */
    const shapes = [];
    for (const run of joined(conflicts, frame.rows, frame.columns)) {
      const [x, y] = [this.x(frame.column + run.column * frame.binColumns), this.y(frame.row + run.row * frame.binRows)];
      const rect = { x, y, width: Math.max(1, run.columns * width), height: Math.max(1, run.rows * height) };
      const [isSmall, isTiny] = [Math.min(width, height) < CROSSED, Math.min(rect.width, rect.height) < CROSSED];
      if (isTiny) shapes.push({ rect, fill: color });
      else if (isSmall) shapes.push({ rect, stroke: color }, { d: hatching(rect), stroke: color });
      if (isSmall || isTiny) continue;
      for (let cell = 0; cell < run.rows * run.columns; cell++) {
        const [left, top] = [x + (cell % run.columns) * width + 1.5, y + Math.floor(cell / run.columns) * height + 1.5];
        crosses += `M${left} ${top}l${width - 3} ${height - 3}m${3 - width} 0l${width - 3} ${3 - height}`;
      }
    }
    return [...shapes, { d: crosses, stroke: color, width: Math.min(2, Math.max(1, width / 5)) }];
  }

  /** @param {Outline} outline @returns {Shape[]} */
  _outline({ color, width, dashed, label = "", shift = 0, ...area }) {
    const paper = styleColor("--surface");
    const rect = this.rect(area);
    // What is smaller than a few pixels is still seen.
    Object.assign(rect, { width: Math.max(rect.width, 4), height: Math.max(rect.height, 4) });
    // A light edge, so that the line is seen on cells of its color; none where a line below is to be seen too.
    const edge = dashed && label ? [] : [{ rect, stroke: paper, width: width + 2 }];
    const line = { rect, stroke: color, width, dash: dashed ? "4 3" : "" };
    if (label === "") return [...edge, line];
    const top = Math.max(TOP, rect.y - 15);
    const box = { x: rect.x + shift - 1, y: top, width: 15, height: 15 };
    return [...edge, line, { rect: box, fill: color }, { text: label, x: box.x + 3, y: top + 12, size: 12, bold: true, fill: paper }];
  }

  /** @param {number} row @param {number} column @param {string} color @returns {Shape[]} */
  _race(row, column, color) {
    const paper = styleColor("--surface");
    const [x, y] = [this.x(column + 0.5), this.y(row + 0.5)];
    const triangle = { d: `M${x} ${y - 8}l8 14h-16z`, fill: color, stroke: paper, width: 1.5 };
    return [triangle, { text: "!", x, y: y + 5, anchor: "middle", bold: true, fill: paper }];
  }

  /** @param {string} fill @returns {Shape[]} */
  _axes(fill) {
    const { view } = this;
    const room = 12 + 7 * String(this.columns).length;
    const rows = ticks(view.row, Math.min(this.seenRows, this.rows - view.row), view.y, 18);
    const columns = ticks(view.column, Math.min(this.seenColumns, this.columns - view.column), view.x, room);
    return [
      ...rows.map((row) => {
        const [text, y] = [String(row * this.rowLabel), this.y(row + 0.5) + 4];
        return /** @type {Shape} */ ({ text, x: LEFT - 6, y, anchor: "end", fill });
      }),
      ...columns.filter((column) => this.x(column + 0.5) <= this.width - room / 2 + 8).map((column) => {
        const x = Math.max(LEFT + 4, this.x(column + 0.5));
        return /** @type {Shape} */ ({ text: String(column), x, y: TOP - 6, anchor: "middle", fill });
      }),
    ];
  }

  // ---- Zoom, pan, cursor ----

  /** Keeps the point at (x, y) where it is. @param {number} factor @param {number} [x] @param {number} [y] */
  zoom(factor, x = (LEFT + this.width - RIGHT) / 2, y = (TOP + this.height - BOTTOM) / 2) {
    const { view, fit } = this;
    const column = view.column + (x - LEFT) / view.x;
    const row = view.row + (y - TOP) / view.y;
    const most = Math.max(1, LARGEST / Math.min(fit.x, fit.y));
    this.factor = Math.min(most, Math.max(1, this.factor * factor));
    this._enlarge(row, column);
    this._move(row - (y - TOP) / view.y, column - (x - LEFT) / view.x);
  }

  /** @param {number} row @param {number} column */
  _move(row, column) {
    this._enlarge(row, column);
    this.listener.framed();
  }

  /** Moves an area into sight. @param {Area} area */
  reveal({ row, column, rows, columns }) {
    const { view, seenRows, seenColumns } = this;
    const isSeen =
      row >= view.row && column >= view.column && row + rows <= view.row + seenRows && column + columns <= view.column + seenColumns;
    if (!isSeen) this._move(row + rows / 2 - seenRows / 2, column + columns / 2 - seenColumns / 2);
  }

  /** The cell at a point of the canvas, or null. @param {number} x @param {number} y */
  cellAt(x, y) {
    const column = Math.floor(this.view.column + (x - LEFT) / this.view.x);
    const row = Math.floor(this.view.row + (y - TOP) / this.view.y);
    const isInside = x >= LEFT && y >= TOP && row >= 0 && column >= 0 && row < this.rows && column < this.columns;
    return isInside ? this._cell(row, column) : null;
  }

  /** @param {number} row @param {number} column @returns {Area} */
  _cell(row, column) {
    const { binRows, binColumns } = this.frame();
    const top = Math.floor(row / binRows) * binRows;
    const left = Math.floor(column / binColumns) * binColumns;
    const [rows, columns] = [Math.min(binRows, this.rows - top), Math.min(binColumns, this.columns - left)];
    return { row: top, column: left, rows, columns };
  }

  _listen() {
    const { canvas, listener } = this;
    /** @type {{ x: number, y: number, row: number, column: number, moved: boolean } | null} */
    let drag = null;
    canvas.addEventListener("pointerdown", ({ pointerId, offsetX: x, offsetY: y }) => {
      canvas.setPointerCapture(pointerId);
      drag = { x, y, row: this.view.row, column: this.view.column, moved: false };
    });
    canvas.addEventListener("pointermove", ({ offsetX: x, offsetY: y }) => {
      if (drag !== null && (drag.moved || Math.hypot(x - drag.x, y - drag.y) > 4)) {
        drag.moved = true;
        this._move(drag.row - (y - drag.y) / this.view.y, drag.column - (x - drag.x) / this.view.x);
      } else listener.pointed(this.cellAt(x, y), { x, y });
    });
    canvas.addEventListener("pointerup", ({ offsetX: x, offsetY: y }) => {
      const cell = this.cellAt(x, y);
      if (drag !== null && !drag.moved && cell !== null) this._pick(cell);
      drag = null;
    });
    canvas.addEventListener("pointercancel", () => (drag = null));
    canvas.addEventListener("pointerleave", () => listener.pointed(null, { x: 0, y: 0 }));
    const zoomByWheel = (/** @type {WheelEvent} */ event) => {
      // The page scrolls over pictures that nobody works with.
      if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
    };
    canvas.addEventListener("wheel", zoomByWheel, { passive: false });
    canvas.addEventListener("keydown", (event) => this._key(event));
  }

  /** @param {Area} cell */
  _pick(cell) {
    this.cursor = cell;
    this.listener.picked(cell);
  }

  /** @param {KeyboardEvent} event */
  _key(event) {
    if (hasModifier(event)) return;
    /** @type {Record<string, [number, number]>} */
    const directions = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const direction = directions[event.key];
    if (direction !== undefined && event.shiftKey) {
      const [down, right] = direction;
      this._move(this.view.row + (down * this.seenRows) / 4, this.view.column + (right * this.seenColumns) / 4);
    } else if (direction !== undefined) this._step(direction);
    else if (event.key === "+" || event.key === "=") this.zoomAtCursor(ZOOM);
    else if (event.key === "-") this.zoomAtCursor(1 / ZOOM);
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

  /** Larger or smaller around the cursor. @param {number} factor */
  zoomAtCursor(factor) {
    if (this.cursor === null) return this.zoom(factor);
    const { x, y, width, height } = this.rect(this.cursor);
    this.zoom(factor, x + width / 2, y + height / 2);
  }

  /** @param {[number, number]} direction */
  _step([down, right]) {
    const { row, column, binRows, binColumns } = this.frame();
    const at = this.cursor ?? { row: row - down * binRows, column: column - right * binColumns };
    const next = [at.row + down * binRows, at.column + right * binColumns];
    const cursor = this._cell(Math.min(this.rows - 1, Math.max(0, next[0])), Math.min(this.columns - 1, Math.max(0, next[1])));
    this.cursor = cursor;
    this.reveal(cursor);
    this.listener.framed();
    this.listener.pointed(cursor, { x: this.x(cursor.column + cursor.columns), y: this.y(cursor.row + cursor.rows) });
  }
}

/**
 * Bins along a dimension: the first element, elements of a bin, and bins.
 * @param {number} from @param {number} seen @param {number} size @param {number} room
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
