// A tile as a table that scrolls over any number of elements: only what is seen is asked for and made.
//
// The table stays where it is while the space behind it scrolls; its rows and columns are those at the place scrolled
// to.  It is a grid for screen readers: the focus stays on it, and it says which cell is the active one.

import { Plane, placeIn } from "explorer/tiles.js";
import { element, fill } from "page/elements.js";
import { oncePerFrame } from "page/page.js";

const ROW_HEIGHT = 24;
const CHUNK = 64;
/** Browsers do not scroll over more pixels. */
const LARGEST_SPACE = 8_000_000;
/** Characters of an element. @type {Record<string, number>} */
const WIDTHS = { i1: 7, i4: 6, i8: 7, i16: 9, i32: 14, i64: 22, f64: 24, f32: 15 };
const POINTER_WIDTH = 20;
const OTHER_WIDTH = 11;

/** @param {(index: number[], text: string) => void} moved  Called with a cell that was chosen. */
export function createTileTable(moved) {
  const head = element("thead");
  const body = element("tbody");
  const space = element("div.tile-space", { role: "presentation" }, element("table.tile-cells", { role: "presentation" }, head, body));
  const root = element("div.boxed.tile-grid", { role: "grid", tabindex: 0, "aria-label": "Elements" }, space);
  /** @type {TileSource | null} */
  let source = null;
  let plane = new Plane([], []);
  /** @type {readonly number[]} */
  let cursor = [];
  /** @type {Tile | null} */
  let whole = null;
  /** Squares of elements by their place; null while one is asked for, or if it cannot be had. @type {Map<string, Tile | null>} */
  let chunks = new Map();
  let cellWidth = 80;
  let headWidth = 48;
  /** Whether another tile is about to come: until then the one before is drawn. */
  let isChanging = false;

  const draw = oncePerFrame(drawNow);
  root.addEventListener("scroll", draw);
  new ResizeObserver(draw).observe(root);
  root.addEventListener("keydown", (event) => {
    const [row, column] = plane.place(cursor);
    const page = Math.max(1, seen().rows - 1);
    const [lastRow, lastColumn] = [plane.rows - 1, plane.columns - 1];
    /** @type {Record<string, [number, number]>} */
    const targets = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      PageUp: [Math.max(0, row - page), column],
      PageDown: [Math.min(lastRow, row + page), column],
      Home: [event.ctrlKey ? 0 : row, 0],
      End: [event.ctrlKey ? lastRow : row, lastColumn],
    };
    const target = targets[event.key];
    if (target === undefined || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    const index = plane.index(...target) ?? (event.key === "End" ? plane.shape.map((extent) => extent - 1) : null);
    if (index !== null) choose(index);
  });
  root.addEventListener("click", (event) => {
    const cell = event.target instanceof Element ? event.target.closest("td") : null;
    const index = cell === null ? null : plane.index(Number(cell.dataset.row), Number(cell.dataset.column));
    if (index !== null) choose(index);
  });

  /** @param {number[]} index */
  function choose(index) {
    show(index);
    moved(index, textAt(index) ?? "");
  }

  /** The rows and columns that are seen: the first ones, and how many. */
  function seen() {
    const rows = Math.max(1, Math.floor((root.clientHeight - ROW_HEIGHT) / ROW_HEIGHT));
    const columns = Math.max(1, Math.floor((root.clientWidth - headWidth) / cellWidth));
    const top = Math.round(root.scrollTop / scaled(ROW_HEIGHT, plane.rows));
    const left = Math.round(root.scrollLeft / scaled(cellWidth, plane.columns));
    const [lastTop, lastLeft] = [Math.max(0, plane.rows - rows), Math.max(0, plane.columns - columns)];
    return { rows, columns, top: Math.min(lastTop, top), left: Math.min(lastLeft, left) };
  }

  /** Pixels of a row or a column on the scroll bar. @param {number} size @param {number} count */
  function scaled(size, count) {
    return Math.min(size, LARGEST_SPACE / count);
  }

  /** Scrolls so that an element is seen. @param {readonly number[]} index */
  function show(index) {
    cursor = index;
    const [row, column] = plane.place(index);
    const { rows, columns, top, left } = seen();
    const [down, right] = [scaled(ROW_HEIGHT, plane.rows), scaled(cellWidth, plane.columns)];
    if (row < top) root.scrollTop = row * down;
    else if (row >= top + rows) root.scrollTop = (row - rows + 1) * down;
    if (column < left) root.scrollLeft = column * right;
    else if (column >= left + columns) root.scrollLeft = (column - columns + 1) * right;
    draw();
  }

  /** The text of an element, as far as it is here. @param {readonly number[]} index */
  function textAt(index) {
    const tile = whole !== null && whole.text !== null ? whole : (chunks.get(chunkOf(index).key) ?? null);
    const place = tile === null ? -1 : placeIn(tile, index);
    return place < 0 ? null : (tile?.text?.[place] ?? null);
  }

  /** @param {readonly number[]} index */
  function chunkOf(index) {
    const [top, left] = plane.place(index).map((at) => at - (at % CHUNK));
    return { key: `${top},${left}`, top, left };
  }

  /** @param {readonly number[]} index */
  async function load(index) {
    const { key, top, left } = chunkOf(index);
    if (source === null || whole?.text || chunks.has(key)) return;
    const into = chunks;
    into.set(key, null);
    const { start, extents } = plane.part(top, left, CHUNK, CHUNK);
    try {
      into.set(key, await source.part(start, extents));
      draw();
    } catch {
      // Whoever asked for the tile itself is told.
    }
  }

  function drawNow() {
    if (source === null || root.clientHeight === 0) return;
    const { rows, columns, top, left } = seen();
    const bottom = Math.min(plane.rows, top + rows + 1);
    const right = Math.min(plane.columns, left + columns + 1);
    const [atRow, atColumn] = plane.place(cursor);
    const header = element("tr.cut", { role: "row" }, element("td.corner", { role: "presentation" }));
    for (let column = left; column < right; column += 1) {
      const place = { scope: "col", role: "columnheader", "aria-colindex": column + 2 };
      header.append(element("th", place, plane.columnName(column)));
    }
    fill(head, header);
    fill(body);
    for (let row = top; row < bottom; row += 1) {
      const line = element("tr.cut", { role: "row", "aria-rowindex": row + 2 });
      line.append(element("th", { scope: "row", role: "rowheader" }, plane.rowName(row)));
      for (let column = left; column < right; column += 1) {
        const index = plane.index(row, column);
        if (index === null) break;
        line.append(cell(index, row, column, row === atRow && column === atColumn));
      }
      body.append(line);
    }
    root.setAttribute("aria-busy", String(isChanging || body.querySelector(".waiting") !== null));
    const isSeen = atRow >= top && atRow < bottom && atColumn >= left && atColumn < right;
    if (isSeen) root.setAttribute("aria-activedescendant", "active-cell");
    else root.removeAttribute("aria-activedescendant");
  }

  /** @param {number[]} index @param {number} row @param {number} column @param {boolean} isActive */
  function cell(index, row, column, isActive) {
    const text = textAt(index);
    if (text === null) void load(index);
    const attributes = {
      role: "gridcell",
      id: isActive ? "active-cell" : null,
      class: [classOf(text), isActive ? "active" : ""].join(" ").trim() || null,
      "aria-selected": String(isActive),
      "aria-colindex": column + 2,
      "data-row": row,
      "data-column": column,
      title: text !== null && text.length > 12 ? text : null,
    };
    return element("td", attributes, text ?? "..");
  }

  return {
    element: root,
    show,
    textAt,
    /** What is shown is about to change. */
    busy() {
      isChanging = true;
      root.setAttribute("aria-busy", "true");
    },
    /**
     * Shows a tile; `tile` is the answer for all of it.
     * @param {TileSource} given @param {Tile} tile @param {readonly number[]} leading @param {readonly number[]} index
     */
    set(given, tile, leading, index) {
      const isOther = source?.shape.join() !== given.shape.join();
      source = given;
      whole = tile;
      isChanging = false;
      chunks = new Map();
      plane = new Plane(given.shape, leading);
      const characters = given.element.startsWith("ptr") ? POINTER_WIDTH : (WIDTHS[given.element] ?? OTHER_WIDTH);
      cellWidth = Math.round(characters * 7.2 + 14);
      headWidth = Math.max(36, plane.rowName(plane.rows - 1).length * 8 + 18);
      root.style.setProperty("--cell-width", `${cellWidth}px`);
      root.style.setProperty("--head-width", `${headWidth}px`);
      space.style.width = `${Math.min(plane.columns * cellWidth, LARGEST_SPACE) + headWidth}px`;
      space.style.height = `${Math.min(plane.rows * ROW_HEIGHT, LARGEST_SPACE) + ROW_HEIGHT}px`;
      root.setAttribute("aria-rowcount", String(plane.rows + 1));
      root.setAttribute("aria-colcount", String(plane.columns + 1));
      root.setAttribute("aria-label", `Elements of ${given.name}`);
      if (isOther) root.scrollTo(0, 0);
      show(index);
    },
  };
}

/** @param {string | null} text */
function classOf(text) {
  if (text === null) return "waiting quiet";
  if (/nan/i.test(text)) return "nan";
  if (/inf/i.test(text)) return "infinite";
  return /^-?0(\.0*)?(e.*)?$|^false$/i.test(text) ? "quiet" : "";
}
