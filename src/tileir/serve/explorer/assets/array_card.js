// One array of the view of memory: its picture, what lies above it, and what is written about it.

import { outsideText } from "explorer/accesses.js";
import { unpack } from "explorer/data.js";
import { Pieces, contiguous, indexAt, makeGrid, piecesOf } from "explorer/grid.js";
import { outlinesOf, paddingsOf, reachBeyond } from "explorer/overlay.js";
import { amountColor, blockColor, pixel, ramp } from "explorer/palette.js";
import { Picture, cellSizes } from "explorer/pictures.js";
import { Plot } from "explorer/plot.js";
import { extents, indexText } from "explorer/text.js";
import { button, element, fill } from "page/elements.js";
import { counted, grouped, short } from "page/numbers.js";

const RAMP = ramp(amountColor);

export class ArrayCard {
  /** @param {Context} context @param {ArrayInfo} array @param {AccessTable} table @param {CardListener} listener */
  constructor(context, array, table, listener) {
    this.context = context;
    this.array = array;
    this.table = table;
    this.listener = listener;
    this.grid = makeGrid(array);
    this.pieces = piecesOf(this.grid, table, array.id);
    /** Accesses that are recorded by their bounds. */
    this.approximate = table.rowsOfArray(array.id).reduce((count, row) => count + table.approximate[row], 0);
    this.beyond = reachBeyond(context.summary, this.grid, table, array.id);
    /** @type {Race[]} */
    this.races = [];
    /** Elements that several tile blocks touch, one of them writing. @type {{ pieces: Pieces, elements: number } | null} */
    this.conflicts = null;
    /** @type {Picture | null} */
    this.picture = null;
    /** @type {Scene | null} */
    this.scene = null;
    /** Pieces of the block's accesses that have no outline. */
    this.left = 0;
    /** The largest number of accesses to an element; in bins, of the mean. */
    this.most = 0;
    this._pictureKey = "";
    this._conflictKey = "";
    /** @type {Uint8Array | null} */
    this._conflictCells = null;
    this._pixels = new Uint32Array(0);
    this._sizes = new Int32Array(0);
    this._blockPixels = Uint32Array.from(table.placeOf, (_, block) => pixel(blockColor(block, context.summary.grid)));
    this.plot = new Plot(`Picture of the array ${array.name}`, {
      framed: () => listener.redraw(),
      pointed: (area, point) => listener.pointed(this, area, point),
      picked: (area) => listener.picked(this, area),
    });
    this.plot.show(this.grid, this.beyond, this.grid.sizes.slice(0, -2).map(() => 0));
    this.caption = element("p.array-caption.quiet");
    this.only = this._button("Only", "Only this array", () => {
      context.select({ array: context.state.array === array.id ? null : array.id });
    });
    this.only.hidden = context.summary.arrays.length < 2;
    this._sliders = this.plot.slice.map((_, dimension) => this._slider(dimension));
    this.element = this._layout();
  }

  /** Asks which elements several tile blocks touch, one of them writing. */
  async findConflicts() {
    const found = /** @type {Conflicts} */ (await this.context.ask("conflicts", { array: this.array.id }));
    const [pieces, counts] = [new Pieces(contiguous(this.grid)), unpack(found.counts)];
    unpack(found.starts).forEach((start, run) => pieces.addBox(0, start, [[counts[run], 1]]));
    this.conflicts = { pieces, elements: found.elements };
    this.listener.redraw();
  }

  /** @param {string} text @param {string} name @param {() => void} pressed */
  _button(text, name, pressed) {
    return button(text, pressed, { "aria-label": `${name}: ${this.array.name}`, title: name });
  }

  _layout() {
    const { array, plot } = this;
    const whole = () => {
      plot.reset();
      this.listener.redraw();
    };
    const sliders = this._sliders.map(({ slider, text }, dimension) =>
      element("label.field", `dimension ${dimension}`, slider, text, `of ${this.grid.sizes[dimension]}`),
    );
    const zoom = element(
      "div.toolbar",
      this._button("\u2212", "Smaller", () => plot.zoom(1 / 1.5)),
      this._button("+", "Larger", () => plot.zoom(1.5)),
      this._button("0", "All of the array", whole),
      this.only,
    );
    const type = element("span.quiet", `${array.element}, ${extents(array.shape)}`);
    return element(
      "section.panel.array-card",
      { "aria-label": `Array ${array.name}` },
      element("header.toolbar", element("h2", { title: array.name }, array.name), type, zoom),
      element("div.toolbar.slices", ...sliders),
      plot.canvas,
      this.caption,
      this._outside(),
    );
  }

  /** What is written of accesses that miss the array, with a link to the first. */
  _outside() {
    const rows = this.table.rowsOutside(this.array.id);
    if (rows.length === 0) return null;
    const show = button("Show the first", () => {
      this.context.select({ ...this.table.momentOf(rows[0]), marked: [rows[0]] });
    });
    return element("p.note.bad", outsideText(rows, this.table, this.array), " ", show);
  }

  /** @param {number} dimension */
  _slider(dimension) {
    const slider = element("input", {
      type: "range", min: 0, max: this.grid.sizes[dimension] - 1, value: 0,
      "aria-label": `Index in dimension ${dimension} of ${this.array.name}`,
      oninput: () => {
        this._showSlice(dimension, Number(slider.value));
        this.listener.redraw();
      },
    });
    return { slider, text: element("span", "0") };
  }

  /** @param {number} dimension @param {number} index */
  _showSlice(dimension, index) {
    this.plot.slice = this.plot.slice.map((one, at) => (at === dimension ? index : one));
    this._sliders[dimension].slider.value = String(index);
    fill(this._sliders[dimension].text, String(index));
  }

  /** Shows the slice, and the part, in which an access is. @param {number} row */
  reveal(row) {
    const [from, to] = this.pieces.ofRow(row);
    if (from === to) return;
    if (!this.pieces.inSlice(from, this.plot.slice)) {
      for (const dimension of this.plot.slice.keys()) this._showSlice(dimension, this.pieces.span(from, dimension)[0]);
    }
    if (this.plot.factor !== 1) this.plot.reveal(this.pieces.areaOf(from));
  }

  /** Shows what the block accesses at a step, if that is in another slice. @param {ViewState} state */
  follow({ place, step }) {
    const { table, array } = this;
    const row = table.rowsAt(place).find((one) => table.step[one] === step && table.array[one] === array.id);
    if (row !== undefined && !this.pieces.rowInSlice(row, this.plot.slice)) this.reveal(row);
  }

  /** @param {ViewState} state @param {MemoryOptions} options */
  draw(state, options) {
    const { table, plot } = this;
    const frame = plot.frame();
    const quantity = options.color === "count" ? "count" : options.color.startsWith("first") ? "first" : "last";
    const key = JSON.stringify([frame, quantity, options.kinds]);
    if (this.picture === null || key !== this._pictureKey) {
      this._pictureKey = key;
      this.picture = new Picture(this.pieces, table.kind, frame, quantity, options.kinds);
      this._pixels = new Uint32Array(frame.rows * frame.columns);
      this._sizes = cellSizes(frame, this.grid);
      this.most = quantity === "count" ? this._largest(this.picture.at(table.count)) : 0;
    }
    const happened = options.whole ? table.count : table.upTo(state.place, state.step);
    this._color(this.picture.at(happened), happened, options.color);
    this._findConflictCells(frame, options.conflicts);
    const { outlines, left } = outlinesOf(this, state, options.kinds, happened);
    this.left = left;
    const races = this.races.filter(({ place }) => plot.slice.every((index, dimension) => index === place[dimension]));
    this.scene = {
      frame,
      pixels: this._pixels,
      conflicts: this._conflictCells,
      outlines,
      paddings: paddingsOf(this, state),
      races: races.map(({ place }) => ({ row: place[place.length - 2], column: place[place.length - 1] })),
    };
    plot.draw(this.scene);
    const text = this._text(frame);
    if (text !== this.caption.textContent) fill(this.caption, text);
    const isAlone = state.array === this.array.id;
    fill(this.only, isAlone ? "All" : "Only");
    this.only.title = isAlone ? "All arrays" : "Only this array";
    this.only.setAttribute("aria-label", isAlone ? "All arrays" : `Only this array: ${this.array.name}`);
  }

  /** @param {ArrayLike<number>} cells */
  _largest(cells) {
    return this._sizes.reduce((most, size, cell) => (size > 0 ? Math.max(most, cells[cell] / size) : most), 0);
  }

  /** @param {ArrayLike<number>} cells @param {number} happened @param {MemoryOptions["color"]} color */
  _color(cells, happened, color) {
    const { _pixels: pixels, _sizes: sizes, _blockPixels: blockPixels, table } = this;
    const isBlock = color.endsWith("block");
    const scale = 255 / (color === "count" ? this.most || 1 : Math.max(1, table.count - 1));
    for (let cell = 0; cell < cells.length; cell++) {
      const row = cells[cell] - 1;
      if (color === "count") pixels[cell] = cells[cell] > 0 ? RAMP[Math.min(255, Math.round((cells[cell] / sizes[cell]) * scale))] : 0;
      else if (row < 0 || row >= happened) pixels[cell] = 0;
      else pixels[cell] = isBlock ? blockPixels[table.block[row]] : RAMP[Math.round(row * scale)];
    }
  }

  /** @param {Frame} frame @param {boolean} isShown */
  _findConflictCells(frame, isShown) {
    if (!isShown || this.conflicts === null || this.conflicts.elements === 0) {
      this._conflictCells = null;
      return;
    }
    const key = JSON.stringify(frame);
    if (this._conflictCells !== null && key === this._conflictKey) return;
    this._conflictKey = key;
    const picture = new Picture(this.conflicts.pieces, [0], frame, "last", [true]);
    this._conflictCells = Uint8Array.from(picture.at(1), (row) => Math.min(row, 1));
  }

  /** Notes two accesses that race. @param {number[]} rows @param {string} title @param {string} kind */
  addRace(rows, title, kind) {
    const [one, other] = [this.pieces.ofRow(rows[0]), this.pieces.ofRow(rows[rows.length - 1])];
    for (let first = one[0]; first < one[1]; first++) {
      for (let second = other[0]; second < other[1]; second++) {
        const place = this.pieces.meeting(first, second);
        if (place === null) continue;
        this.races.push({ place, name: this._elementName(indexAt(this.grid, this.array, place) ?? []), rows, title, kind });
        return;
      }
    }
  }

  /** @param {number[]} index */
  _elementName(index) {
    return index.length ? `${this.array.name}${indexText(index)}` : this.array.name;
  }

  /** @param {Frame} frame */
  _text({ binRows, binColumns }) {
    const { grid, pieces, table, conflicts, approximate, left } = this;
    const parts = [];
    if (grid.fold && grid.rows > 1) parts.push(`folded into rows of ${grouped(grid.fold)}`);
    if (binRows * binColumns > 1) parts.push(`a cell is ${grouped(binRows)} x ${grouped(binColumns)} elements`);
    const count = table.rowsOfArray(this.array.id).length;
    parts.push(count === 0 ? "never touched" : counted(count, "access", "accesses"));
    if (conflicts === null) parts.push("looking for conflicts ..");
    else if (conflicts.elements > 0) {
      parts.push(`${counted(conflicts.elements, "element")} that several tile blocks touch, one of them writing`);
    }
    if (this.picture?.quantity === "count") {
      const mean = binRows * binColumns > 1 ? " (mean of a cell)" : "";
      parts.push(`at most ${counted(Number(short(this.most)), "access", "accesses")} to an element${mean}`);
    }
    if (approximate > 0) parts.push(`${counted(approximate, "scattered access", "scattered accesses")} recorded by their bounds`);
    if (pieces.outside > 0) parts.push(`${counted(pieces.outside, "box", "boxes")} between elements`);
    if (left > 0) parts.push(`${counted(left, "part")} of this tile block's accesses without an outline`);
    return `${parts.join("; ")}.`;
  }

  // ---- What is under the pointer ----

  /** `c[3, 4]`, or the range of a bin. @param {Area} area */
  nameOf({ row, column, rows, columns }) {
    const { slice } = this.plot;
    const first = indexAt(this.grid, this.array, [...slice, row, column]);
    if (first === null || first.length === 0) return first === null ? null : this.array.name;
    const range = (/** @type {number} */ from, /** @type {number} */ count) =>
      count > 1 ? `${from}..${from + count - 1}` : String(from);
    const { fold, length } = this.grid;
    if (fold && rows === 1) return `${this.array.name}[${range(first[0], Math.min(columns, length - row * fold - column))}]`;
    if (fold) return `${this.array.name}, rows ${range(row, rows)} and columns ${range(column, columns)} of the picture`;
    return `${this.array.name}[${[...slice.map(String), range(row, rows), range(column, columns)].join(", ")}]`;
  }

  /** The index of an area that is one element, else null. @param {Area} area */
  elementAt({ row, column, rows, columns }) {
    return rows === 1 && columns === 1 ? indexAt(this.grid, this.array, [...this.plot.slice, row, column]) : null;
  }

  /** The accesses of some pieces that touch any element of an area, in order. @param {Area} area @param {Pieces} [pieces] */
  touching({ row, column, rows, columns }, pieces = this.pieces) {
    const start = [...this.plot.slice, row, column];
    const extent = [...this.plot.slice.map(() => 1), rows, columns];
    /** @type {number[]} */
    const found = [];
    for (let piece = 0; piece < pieces.count; piece++) {
      const access = pieces.row[piece];
      if (found[found.length - 1] !== access && pieces.touches(piece, start, extent)) found.push(access);
    }
    return found;
  }

  /** Whether any element of an area has a conflict. @param {Area} area */
  hasConflict(area) {
    return this.conflicts !== null && this.touching(area, this.conflicts.pieces).length > 0;
  }
}
