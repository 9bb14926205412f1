// A tile as a table that scrolls over any number of elements: only what is seen is asked for and made.
//
// The table stays where it is while the space behind it scrolls; its rows and columns are those at the place scrolled
// to.  It is a grid for screen readers: the focus stays on it, and it says which cell is the active one.

import { element, fill } from "page/elements.js";
import { Plane, placeIn } from "explorer/tile_parts.js";

/**
 * @typedef {import("./types").Tile} Tile
 * @typedef {import("explorer/tile_parts.js").TileSource} TileSource
 */

const ROW_HEIGHT = 24;
const CHUNK = 64;
// Browsers do not scroll over more.
const LARGEST_SPACE = 8_000_000;
/** @type {Record<string, number>} */
const WIDTHS = { i1: 7, i4: 6, i8: 7, i16: 9, i32: 14, i64: 22, f64: 24, f32: 15 };
const POINTER_WIDTH = 20;
const OTHER_WIDTH = 11;

/**
 * @param {{ moved: (index: number[], text: string) => void }} told  `moved` is told of a cell that was chosen.
 */
export function createTileTable(told) {
  const head = element("thead");
  const body = element("tbody");
  const table = element("table", { role: "presentation", class: "tile-cells" }, head, body);
  const space = element("div", { class: "tile-space", role: "presentation" }, table);
  const root = element("div", { class: "tile-grid", role: "grid", tabindex: 0, "aria-label": "Elements" }, space);

  /** @type {TileSource | null} */
  let source = null;
  let plane = new Plane([], []);
  /** @type {number[]} */
  let cursor = [];
  /** @type {Tile | null} */
  let whole = null;
  /** @type {Map<string, Tile>} */
  let chunks = new Map();
  /** @type {Set<string>} */
  let wanted = new Set();
  let generation = 0;
  let cellWidth = 80;
  let headWidth = 48;
  let drawing = false;
  /** What is drawn meanwhile (a frame that was asked for before, a scroll) is still the tile of before. */
  let changing = false;

  root.addEventListener("scroll", draw);
  new ResizeObserver(draw).observe(root);
  root.addEventListener("keydown", (event) => {
    const [row, column] = plane.place(cursor);
    const page = Math.max(1, seen().rows - 1);
    /** @type {Record<string, [number, number]>} */
    const targets = {
      ArrowUp: [row - 1, column],
      ArrowDown: [row + 1, column],
      ArrowLeft: [row, column - 1],
      ArrowRight: [row, column + 1],
      PageUp: [Math.max(0, row - page), column],
      PageDown: [Math.min(plane.rows - 1, row + page), column],
      Home: event.ctrlKey ? [0, 0] : [row, 0],
      End: event.ctrlKey ? [plane.rows - 1, plane.columns - 1] : [row, plane.columns - 1],
    };
    const target = targets[event.key];
    if (target === undefined || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    let index = plane.index(...target);
    if (index === null && event.key === "End") index = plane.shape.map((extent) => extent - 1);
    if (index !== null) choose(index);
  });
  root.addEventListener("click", (event) => {
    const cell = event.target instanceof Element ? event.target.closest("td") : null;
    if (cell === null) return;
    const index = plane.index(Number(cell.dataset.row), Number(cell.dataset.column));
    if (index !== null) choose(index);
  });

  /** @param {number[]} index */
  function choose(index) {
    show(index);
    told.moved(index, textAt(index) ?? "");
  }

  function seen() {
    return {
      rows: Math.max(1, Math.floor((root.clientHeight - ROW_HEIGHT) / ROW_HEIGHT)),
      columns: Math.max(1, Math.floor((root.clientWidth - headWidth) / cellWidth)),
    };
  }

  /**
   * The first row or column that is seen.
   * @param {number} scrolled @param {number} size @param {number} count @param {number} fitting
   */
  function first(scrolled, size, count, fitting) {
    const most = Math.max(0, count - fitting);
    if (count * size <= LARGEST_SPACE) return Math.min(most, Math.round(scrolled / size));
    return Math.min(most, Math.round((scrolled / LARGEST_SPACE) * count));
  }

  /** @param {number} place @param {number} size @param {number} count */
  function scrolledTo(place, size, count) {
    return count * size <= LARGEST_SPACE ? place * size : (place / count) * LARGEST_SPACE;
  }

  /**
   * Scrolls so that an element is seen.
   * @param {readonly number[]} index
   */
  function show(index) {
    cursor = [...index];
    const [row, column] = plane.place(index);
    const { rows, columns } = seen();
    const top = first(root.scrollTop, ROW_HEIGHT, plane.rows, rows);
    const left = first(root.scrollLeft, cellWidth, plane.columns, columns);
    if (row < top) root.scrollTop = scrolledTo(row, ROW_HEIGHT, plane.rows);
    else if (row >= top + rows) root.scrollTop = scrolledTo(row - rows + 1, ROW_HEIGHT, plane.rows);
    if (column < left) root.scrollLeft = scrolledTo(column, cellWidth, plane.columns);
    else if (column >= left + columns) root.scrollLeft = scrolledTo(column - columns + 1, cellWidth, plane.columns);
    draw();
  }

  /**
   * The text of an element, as far as it is here.
   * @param {readonly number[]} index
   * @returns {string | null}
   */
  function textAt(index) {
    const tile = whole !== null && whole.text !== null ? whole : chunks.get(chunkOf(index).key);
    if (tile === undefined || tile.text === null) return null;
    const place = placeIn(tile, index);
    return place < 0 ? null : tile.text[place];
  }

  /** @param {readonly number[]} index */
  function chunkOf(index) {
    const [row, column] = plane.place(index);
    const top = row - (row % CHUNK);
    const left = column - (column % CHUNK);
    return { key: `${top},${left}`, top, left };
  }

  /** @param {readonly number[]} index */
  function load(index) {
    if (source === null || (whole !== null && whole.text !== null)) return;
    const { key, top, left } = chunkOf(index);
    if (wanted.has(key)) return;
    wanted.add(key);
    const asked = generation;
    const { start, extents } = plane.part(top, left, CHUNK, CHUNK);
    source.part(start, extents).then(
      (tile) => {
        if (asked !== generation) return;
        chunks.set(key, tile);
        draw();
      },
      () => {
        // Whoever asked for the tile itself is told.
        if (asked === generation) chunks.set(key, { .../** @type {Tile} */ (whole), text: null });
      },
    );
  }

  function draw() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => {
      drawing = false;
      drawNow();
    });
  }

  function drawNow() {
    if (source === null || root.clientHeight === 0) return;
    const { rows, columns } = seen();
    const top = first(root.scrollTop, ROW_HEIGHT, plane.rows, rows);
    const left = first(root.scrollLeft, cellWidth, plane.columns, columns);
    const bottom = Math.min(plane.rows, top + rows + 1);
    const right = Math.min(plane.columns, left + columns + 1);
    const [atRow, atColumn] = plane.place(cursor);
    const header = element("tr", { role: "row" }, element("td", { class: "corner", role: "presentation" }));
    for (let column = left; column < right; column += 1) {
      const name = plane.columnName(column);
      header.append(element("th", { scope: "col", role: "columnheader", "aria-colindex": column + 2 }, name));
    }
    fill(head, header);
    /** @type {Node[]} */
    const made = [];
    for (let row = top; row < bottom; row += 1) {
      const line = element("tr", { role: "row", "aria-rowindex": row + 2 });
      line.append(element("th", { scope: "row", role: "rowheader" }, plane.rowName(row)));
      for (let column = left; column < right; column += 1) {
        const index = plane.index(row, column);
        if (index === null) break;
        const text = textAt(index);
        if (text === null) load(index);
        const active = row === atRow && column === atColumn;
        const cell = element(
          "td",
          {
            role: "gridcell",
            id: active ? "active-cell" : null,
            "aria-selected": String(active),
            "aria-colindex": column + 2,
            class: `${classOf(text)} ${active ? "active" : ""}`.trim() || null,
            "data-row": row,
            "data-column": column,
            title: text !== null && text.length > 12 ? text : null,
          },
          text ?? "..",
        );
        line.append(cell);
      }
      made.push(line);
    }
    fill(body, ...made);
    root.setAttribute("aria-busy", String(changing || body.querySelector(".waiting") !== null));
    const onScreen = atRow >= top && atRow < bottom && atColumn >= left && atColumn < right;
    if (onScreen) root.setAttribute("aria-activedescendant", "active-cell");
    else root.removeAttribute("aria-activedescendant");
  }

  return {
    element: root,
    show,
    textAt,
    /** What is shown is about to change. */
    busy() {
      changing = true;
      root.setAttribute("aria-busy", "true");
    },
    /**
     * Shows a tile; the one before is forgotten.
     * @param {TileSource | null} given
     * @param {Tile | null} tile  The answer for all of it.
     * @param {readonly number[]} leading
     * @param {readonly number[]} index  The active element.
     */
    set(given, tile, leading, index) {
      const other = source?.shape.join() !== given?.shape.join();
      source = given;
      whole = tile;
      changing = false;
      chunks = new Map();
      wanted = new Set();
      generation += 1;
      if (given === null) {
        fill(head);
        fill(body);
        return;
      }
      plane = new Plane(given.shape, leading);
      cursor = [...index];
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
      if (other) root.scrollTo(0, 0);
      show(index);
    },
  };
}

/** @param {string | null} text */
function classOf(text) {
  if (text === null) return "waiting";
  if (/nan/i.test(text)) return "nan";
  if (/inf/i.test(text)) return "infinite";
  return /^-?0(\.0*)?(e.*)?$/.test(text) || text === "False" || text === "false" ? "zero" : "";
}
