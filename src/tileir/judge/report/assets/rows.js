// Rows of a table of which only those in sight are in the page: a hundred thousand scroll as ten do.

import { element } from "page/elements.js";

const HEIGHT = 30;
const BEYOND = 12;

/**
 * @typedef {object} RowColumn
 * @property {string} id
 * @property {string} title
 * @property {boolean} [isNumber]
 * @property {(row: number) => Node | string} cell
 */

/**
 * A table with sorted columns, a row of which is chosen.
 * @param {string} label
 * @param {RowColumn[]} columns
 * @param {{ sorted: (column: string) => void, chosen: (row: number) => void }} calls
 */
export function createRows(label, columns, calls) {
  const headers = columns.map((column) => {
    const sorting = element("button", { type: "button", onclick: () => calls.sorted(column.id) }, column.title);
    return element("div", { role: "columnheader", class: column.isNumber ? "number" : "", "aria-sort": "none" }, sorting);
  });
  const body = element("div", { class: "rows-body", role: "rowgroup" });
  const head = element("div", { class: "rows-head", role: "row", "aria-rowindex": "1" }, ...headers);
  const table = element(
    "div",
    { class: "rows", role: "grid", "aria-label": label, tabindex: "0" },
    element("div", { role: "rowgroup", class: "rows-headgroup" }, head),
    body,
  );
  table.style.setProperty("--columns", columns.map((column) => (column.isNumber ? "minmax(5rem, 7rem)" : widthOf(column.id))).join(" "));
  /** @type {ArrayLike<number>} */
  let order = [];
  let chosen = -1;
  /** @type {Map<number, HTMLElement>} */
  let made = new Map();
  let waiting = false;

  function draw() {
    waiting = false;
    const first = Math.max(0, Math.floor(table.scrollTop / HEIGHT) - BEYOND);
    const last = Math.min(order.length, Math.ceil((table.scrollTop + table.clientHeight) / HEIGHT) + BEYOND);
    /** @type {Map<number, HTMLElement>} */
    const kept = new Map();
    for (let place = first; place < last; place++) kept.set(place, made.get(place) ?? makeRow(place));
    for (const [place, row] of made) if (!kept.has(place)) row.remove();
    made = kept;
  }

  /** @param {number} place */
  function makeRow(place) {
    const number = order[place];
    const row = element(
      "div",
      {
        class: "row",
        role: "row",
        id: `row-${place}`,
        "aria-rowindex": String(place + 2),
        "aria-selected": String(place === chosen),
        style: { top: `${place * HEIGHT}px` },
        onclick: () => calls.chosen(number),
      },
      ...columns.map((column) =>
        element("div", { role: "gridcell", class: column.isNumber ? "number" : "" }, column.cell(number)),
      ),
    );
    body.append(row);
    return row;
  }

  function later() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(draw);
  }

  table.addEventListener("scroll", later, { passive: true });
  new ResizeObserver(later).observe(table);
  table.addEventListener("keydown", (event) => {
    if (event.target !== table || order.length === 0) return;
    const page = Math.max(1, Math.floor(table.clientHeight / HEIGHT) - 2);
    const last = order.length - 1;
    /** @type {Record<string, number>} */
    const targets = {
      ArrowDown: chosen + 1,
      ArrowUp: chosen - 1,
      PageDown: chosen + page,
      PageUp: chosen - page,
      Home: 0,
      End: last,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const place = Math.max(0, Math.min(last, target));
    reveal(place);
    calls.chosen(order[place]);
  });

  /** @param {number} place */
  function reveal(place) {
    const top = place * HEIGHT;
    const room = table.clientHeight - head.offsetHeight;
    if (top < table.scrollTop) table.scrollTop = top;
    else if (top + HEIGHT > table.scrollTop + room) table.scrollTop = top + HEIGHT - room;
    draw();
  }

  return {
    element: table,
    /**
     * Other rows, by their numbers.
     * @param {ArrayLike<number>} rows
     * @param {string} column
     * @param {boolean} descending
     */
    show(rows, column, descending) {
      order = rows;
      chosen = -1;
      for (const row of made.values()) row.remove();
      made = new Map();
      body.style.height = `${rows.length * HEIGHT}px`;
      table.setAttribute("aria-rowcount", String(rows.length + 1));
      table.removeAttribute("aria-activedescendant");
      for (const [index, each] of columns.entries()) {
        const sort = each.id === column ? (descending ? "descending" : "ascending") : "none";
        headers[index].setAttribute("aria-sort", sort);
      }
      table.scrollTop = 0;
      draw();
    },
    /**
     * Marks a row; it need not be in sight.
     * @param {number | null} number
     */
    choose(number) {
      const place = number === null ? -1 : Array.prototype.indexOf.call(order, number);
      if (place === chosen) return;
      made.get(chosen)?.setAttribute("aria-selected", "false");
      chosen = place;
      made.get(chosen)?.setAttribute("aria-selected", "true");
      if (place < 0) table.removeAttribute("aria-activedescendant");
      else table.setAttribute("aria-activedescendant", `row-${place}`);
    },
    draw: later,
  };
}

/** @param {string} id */
function widthOf(id) {
  return id === "name" || id === "cause" ? "minmax(12rem, 3fr)" : "minmax(6rem, 1fr)";
}
