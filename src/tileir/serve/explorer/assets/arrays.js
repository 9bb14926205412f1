// One array of the view of memory: its picture, what lies above it, and what is said about it.

import { outsideSentence } from "explorer/bounds.js";
import { findConflicts } from "explorer/conflicts.js";
import { amountColour, blockColour, pixel, ramp } from "explorer/drawing.js";
import { button, element, fill } from "page/elements.js";
import { foldWidth, indexAt, makeGrid, piecesOf } from "explorer/grid.js";
import { outlinesOf, paddingsOf } from "explorer/overlay.js";
import { reachBeyond } from "explorer/padding.js";
import { KEPT_BYTES, Picture, cellSizes } from "explorer/pictures.js";
import { areaOf, meeting, piecesOfRows, rowInSlice, touches } from "explorer/pieces.js";
import { Plot } from "explorer/plot.js";
import { counted, extents, grouped, short } from "explorer/words.js";

/** @typedef {import("./types").ArrayInfo} ArrayInfo */
/** @typedef {import("./types").Context} Context */
/** @typedef {import("./types").Selection} Selection */
/** @typedef {import("./accesses.js").AccessTable} AccessTable */
/** @typedef {import("./plot.js").Area} Area */
/** @typedef {import("./painting.js").Scene} Scene */

/**
 * What the view is asked to show.
 * @typedef {object} Options
 * @property {"last block" | "first block" | "last time" | "first time" | "count"} colour
 * @property {boolean[]} kinds  Reads, writes, atomics.
 * @property {boolean} whole  The whole launch, or up to the moment.
 * @property {boolean} conflicts
 */

/**
 * Two accesses, and a place in the grid at which they meet.
 * @typedef {{ place: number[], name: string, rows: number[], title: string, kind: string }} Race
 */

/**
 * @typedef {object} Owner
 * @property {() => void} redraw
 * @property {(card: ArrayCard, area: Area) => void} picked
 * @property {(card: ArrayCard, area: Area | null, point: { x: number, y: number }) => void} pointed
 */

const RAMP = ramp(amountColour);

export class ArrayCard {
  /**
   * @param {Context} context
   * @param {ArrayInfo} array
   * @param {AccessTable} table
   * @param {Owner} owner
   */
  constructor(context, array, table, owner) {
    this.context = context;
    this.array = array;
    this.table = table;
    this.owner = owner;
    this.grid = makeGrid(array, array.shape.length < 2 ? foldWidth(array, table) : 0);
    this.pieces = piecesOf(this.grid, table, array.id);
    /** Accesses that are recorded by their bounds. */
    this.approximate = table.rowsOfArray(array.id).reduce((count, row) => count + table.approximate[row], 0);
    this.beyond = reachBeyond(context.summary, this.grid, table, array.id);
    /** @type {Race[]} */
    this.races = [];
    /** @type {import("./conflicts.js").Conflicts | null} */
    this.conflicts = null;
    /** @type {Picture | null} */
    this.picture = null;
    /** @type {Scene | null} */
    this.scene = null;
    this._key = "";
    /** Parts of the block's accesses that have no outline. */
    this.left = 0;
    /** The largest number of accesses to an element. */
    this.most = 0;
    this._conflictKey = "";
    /** @type {Uint8Array | null} */
    this._conflictCells = null;
    this._blockPixels = Uint32Array.from(table.placeOf, (_, block) => pixel(blockColour(block, context.summary.grid)));
    this.plot = new Plot(`Picture of the array ${array.name}`, {
      framed: () => owner.redraw(),
      pointed: (area, point) => owner.pointed(this, area, point),
      picked: (area) => owner.picked(this, area),
    });
    this.plot.slice = this.grid.sizes.slice(0, -2).map(() => 0);
    this.plot.show(this.grid, this.beyond.rows, this.beyond.columns);
    this.caption = element("p", { class: "array-caption" });
    this.outside = this._outside();
    this.enlarge = this._button("Only", "Only this array", () => {
      const alone = this.context.selection.array === array.id;
      this.context.select({ array: alone ? null : array.id });
    });
    this.element = this._make();
  }

  /** Looks for elements that tile blocks share, in pauses of the page. */
  async search() {
    this.conflicts = await findConflicts(this.grid, this.pieces, this.table);
    this.owner.redraw();
  }

  /**
   * @param {string} text
   * @param {string} name
   * @param {() => void} pressed
   */
  _button(text, name, pressed) {
    return button(text, pressed, { "aria-label": `${name}: ${this.array.name}`, title: name });
  }

  _make() {
    const { array, plot } = this;
    return element(
      "section",
      { class: "panel array-card", "aria-label": `Array ${array.name}` },
      element(
        "header",
        {},
        element("h2", { title: array.name }, array.name),
        element("span", { class: "quiet" }, `${array.element}, ${extents(array.shape)}`),
        element(
          "div",
          { class: "toolbar" },
          this._button("\u2212", "Smaller", () => plot.zoom(1 / 1.5)),
          this._button("+", "Larger", () => plot.zoom(1.5)),
          this._button("0", "All of the array", () => {
            plot.reset();
            this.owner.redraw();
          }),
          this.enlarge,
        ),
      ),
      element("div", { class: "slices" }, ...this._sliceSliders()),
      plot.canvas,
      this.caption,
      this.outside,
    );
  }

  /** What is said of accesses that miss the array, with the way to the first. */
  _outside() {
    const rows = this.table.rowsOutside(this.array.id);
    if (rows.length === 0) return null;
    const show = button("Show the first", () => {
      const { place, step, operation } = this.table.momentOf(rows[0]);
      this.context.select({ place, step, operation, marked: [rows[0]] });
    });
    return element("p", { class: "note bad" }, outsideSentence(rows, this.table, this.array), " ", show);
  }

  /** One for each outer dimension. */
  _sliceSliders() {
    return this.plot.slice.map((_, dimension) => {
      const text = element("span", {}, "0");
      const size = this.grid.sizes[dimension];
      const slider = element("input", {
        type: "range", min: 0, max: size - 1, value: 0, "aria-label": `Index in dimension ${dimension} of ${this.array.name}`,
        oninput: () => {
          this.showSlice(dimension, Number(slider.value));
          this.owner.redraw();
        },
      });
      this._sliders = [...(this._sliders ?? []), { slider, text }];
      return element("label", { class: "field" }, `dimension ${dimension}`, slider, text, `of ${size}`);
    });
  }

  /**
   * @param {number} dimension
   * @param {number} index
   */
  showSlice(dimension, index) {
    this.plot.slice = this.plot.slice.map((one, at) => (at === dimension ? index : one));
    const control = this._sliders?.[dimension];
    if (control === undefined) return;
    control.slider.value = String(index);
    fill(control.text, String(index));
  }

  /**
   * Shows the slice, and the part, in which an access is.
   * @param {number} row
   */
  reveal(row) {
    const [from, to] = piecesOfRows(this.pieces, row, row + 1);
    if (from === to) return;
    const { rank, spans } = this.pieces;
    const at = 3 * rank * from;
    for (let dimension = 0; dimension < rank - 2; dimension++) {
      const start = spans[at + 3 * dimension];
      const shown = this.plot.slice[dimension] - start;
      const step = spans[at + 3 * dimension + 2];
      if (shown < 0 || shown % step !== 0 || shown / step >= spans[at + 3 * dimension + 1]) this.showSlice(dimension, start);
    }
    if (!this.plot.whole) this.plot.reveal(areaOf(this.pieces, from));
  }

  /**
   * Shows what the block accesses at a moment, if that is in another slice.
   * @param {Selection} selection
   */
  follow({ place, step }) {
    for (const row of this.table.rowsOfBlock(this.table.order[place] ?? -1)) {
      if (this.table.step[row] !== step || this.table.array[row] !== this.array.id) continue;
      if (!rowInSlice(this.pieces, row, this.plot.slice)) this.reveal(row);
      return;
    }
  }

  /**
   * @param {number} width
   * @param {number} highest
   */
  resize(width, highest) {
    this.plot.resize(width, highest);
  }

  /**
   * @param {Selection} selection
   * @param {Options} options
   */
  draw(selection, options) {
    const frame = this.plot.frame();
    const quantity = options.colour === "count" ? "count" : options.colour.startsWith("first") ? "first" : "last";
    const key = JSON.stringify([frame, quantity, options.kinds]);
    if (this.picture === null || key !== this._key) {
      this._key = key;
      const bytes = Math.min(KEPT_BYTES, (4 * KEPT_BYTES) / this.context.summary.arrays.length);
      this.picture = new Picture(this.pieces, this.table.kind, frame, quantity, options.kinds, bytes);
      this.pixels = new Uint32Array(frame.rows * frame.columns);
      this._sizes = cellSizes(frame, this.grid);
      this.most = quantity === "count" ? this._largest(this.picture.at(this.table.count)) : 0;
    }
    const happened = options.whole ? this.table.count : this.table.upTo(selection.place, selection.step);
    this._colour(this.picture, happened, options.colour);
    this._findConflictCells(frame, options.conflicts);
    const { outlines, left } = outlinesOf(this, selection, options.kinds, happened);
    this.left = left;
    /** @type {Scene} */
    const scene = {
      frame,
      pixels: this.pixels ?? new Uint32Array(0),
      conflicts: this._conflictCells,
      outlines,
      paddings: paddingsOf(this, selection),
      races: this.races.flatMap(({ place }) => this._inShownSlice(place)),
    };
    this.scene = scene;
    this.plot.draw(scene);
    const words = this._words(frame);
    if (words !== this.caption.textContent) fill(this.caption, words);
    const alone = selection.array === this.array.id;
    fill(this.enlarge, alone ? "All" : "Only");
    this.enlarge.title = alone ? "All arrays" : "Only this array";
    this.enlarge.setAttribute("aria-label", alone ? "All arrays" : `Only this array: ${this.array.name}`);
    this.enlarge.hidden = this.context.summary.arrays.length < 2;
  }

  /**
   * The largest number of accesses to an element; in bins, of the mean.
   * @param {ArrayLike<number>} cells
   */
  _largest(cells) {
    let most = 0;
    this._each((cell, size) => {
      if (size > 0 && cells[cell] / size > most) most = cells[cell] / size;
    });
    return most;
  }

  /** @param {(cell: number, size: number) => void} visit */
  _each(visit) {
    const sizes = this._sizes;
    if (sizes === undefined) return;
    let cell = 0;
    for (const rows of sizes.rows) for (const columns of sizes.columns) visit(cell++, rows * columns);
  }

  /**
   * @param {Picture} picture
   * @param {number} happened
   * @param {Options["colour"]} colour
   */
  _colour(picture, happened, colour) {
    const cells = picture.at(happened);
    const { pixels, table, _blockPixels: blockPixels } = this;
    if (pixels === undefined) return;
    if (colour === "count") {
      const scale = this.most ? 255 / this.most : 0;
      this._each((cell, size) => {
        pixels[cell] = cells[cell] > 0 ? RAMP[Math.min(255, Math.round((cells[cell] / size) * scale))] : 0;
      });
      return;
    }
    const byBlock = colour.endsWith("block");
    const scale = 255 / Math.max(1, table.count - 1);
    for (let cell = 0; cell < cells.length; cell++) {
      const row = cells[cell] - 1;
      if (row < 0 || row >= happened) pixels[cell] = 0;
      else pixels[cell] = byBlock ? blockPixels[table.block[row]] : RAMP[Math.round(row * scale)];
    }
  }

  /**
   * @param {import("./pictures.js").Frame} frame
   * @param {boolean} shown
   */
  _findConflictCells(frame, shown) {
    if (!shown || this.conflicts === null || this.conflicts.elements === 0) {
      this._conflictCells = null;
      this._conflictKey = "";
      return;
    }
    const key = JSON.stringify(frame);
    if (key === this._conflictKey) return;
    this._conflictKey = key;
    const picture = new Picture(this.conflicts.pieces, [0], frame, "last", [true]);
    this._conflictCells = Uint8Array.from(picture.at(1), (row) => Math.min(row, 1));
  }

  /**
   * The row and the column of a place, if it is in the shown slice.
   * @param {number[]} place
   */
  _inShownSlice(place) {
    if (this.plot.slice.some((index, dimension) => index !== place[dimension])) return [];
    return [{ row: place[place.length - 2], column: place[place.length - 1] }];
  }

  /**
   * Notes two accesses that race.
   * @param {number[]} rows
   * @param {string} title
   * @param {string} kind
   */
  addRace(rows, title, kind) {
    const last = rows[rows.length - 1];
    const one = piecesOfRows(this.pieces, rows[0], rows[0] + 1);
    const other = piecesOfRows(this.pieces, last, last + 1);
    for (let first = one[0]; first < one[1]; first++) {
      for (let second = other[0]; second < other[1]; second++) {
        const place = meeting(this.pieces, first, second);
        if (place === null) continue;
        const index = indexAt(this.grid, this.array, place) ?? [];
        const name = index.length ? `${this.array.name}[${index.join(", ")}]` : this.array.name;
        this.races.push({ place, name, rows, title, kind });
        return;
      }
    }
  }

  /** @param {import("./pictures.js").Frame} frame */
  _words(frame) {
    const words = [];
    if (this.grid.fold && this.grid.rows > 1) words.push(`folded into rows of ${grouped(this.grid.fold)}`);
    if (frame.binRows > 1 || frame.binColumns > 1) {
      words.push(`a cell is ${grouped(frame.binRows)} x ${grouped(frame.binColumns)} elements`);
    }
    const rows = this.table.rowsOfArray(this.array.id);
    words.push(rows.length === 0 ? "never touched" : counted(rows.length, "access", "accesses"));
    if (this.conflicts === null) words.push("looking for conflicts ..");
    else if (this.conflicts.elements > 0) {
      words.push(`${counted(this.conflicts.elements, "element")} that several tile blocks touch, one of them writing`);
    }
    const { bounded } = this.pieces;
    if (bounded > 0) words.push(`${counted(bounded, "irregular box", "irregular boxes")} drawn by their bounds`);
    if (this.picture?.quantity === "count") {
      const mean = frame.binRows * frame.binColumns > 1 ? " (mean of a cell)" : "";
      words.push(`at most ${counted(Number(short(this.most)), "access", "accesses")} to an element${mean}`);
    }
    if (this.approximate > 0) {
      words.push(`${counted(this.approximate, "scattered access", "scattered accesses")} recorded by their bounds`);
    }
    if (this.pieces.outside > 0) words.push(`${counted(this.pieces.outside, "box", "boxes")} between elements`);
    if (this.left) words.push(`${counted(this.left, "part")} of this tile block's accesses without an outline`);
    return `${words.join("; ")}.`;
  }

  // ---- What is under the pointer ----

  /**
   * `c[3, 4]`, or the range of a bin.
   * @param {Area} area
   */
  nameOf({ row, column, rows, columns }) {
    const { slice } = this.plot;
    const first = indexAt(this.grid, this.array, [...slice, row, column]);
    if (first === null) return null;
    if (first.length === 0) return this.array.name;
    const range = (/** @type {number} */ from, /** @type {number} */ count) =>
      count > 1 ? `${from}..${from + count - 1}` : String(from);
    if (this.grid.fold) {
      if (rows === 1) {
        const count = Math.min(columns, this.grid.length - row * this.grid.fold - column);
        return `${this.array.name}[${range(first[0], count)}]`;
      }
      return `${this.array.name}, rows ${range(row, rows)} and columns ${range(column, columns)} of the picture`;
    }
    return `${this.array.name}[${[...slice.map(String), range(row, rows), range(column, columns)].join(", ")}]`;
  }

  /**
   * The index of an area that is one element, else null.
   * @param {Area} area
   */
  elementAt({ row, column, rows, columns }) {
    return rows === 1 && columns === 1 ? indexAt(this.grid, this.array, [...this.plot.slice, row, column]) : null;
  }

  /**
   * The accesses that touch any element of an area, in order.
   * @param {Area} area
   */
  touching({ row, column, rows, columns }) {
    const start = [...this.plot.slice, row, column];
    const extent = [...this.plot.slice.map(() => 1), rows, columns];
    /** @type {number[]} */
    const found = [];
    for (let piece = 0; piece < this.pieces.count; piece++) {
      const access = this.pieces.row[piece];
      if (found[found.length - 1] !== access && touches(this.pieces, piece, start, extent)) found.push(access);
    }
    return found;
  }

  /**
   * Whether any element of an area has a conflict.
   * @param {Area} area
   */
  hasConflict({ row, column, rows, columns }) {
    if (this.conflicts === null) return false;
    const start = [...this.plot.slice, row, column];
    const extent = [...this.plot.slice.map(() => 1), rows, columns];
    const { pieces } = this.conflicts;
    for (let piece = 0; piece < pieces.count; piece++) if (touches(pieces, piece, start, extent)) return true;
    return false;
  }

  /** What the ends of the colours mean. */
  get legendMost() {
    return short(this.most ?? 0);
  }
}
