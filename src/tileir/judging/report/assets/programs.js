// All programs: searched, filtered, sorted; and the chosen one with its messages.

import { outcomeChip, showCommand } from "report/parts.js";
import { button, choice, element, field, fill, moveByKeys } from "page/elements.js";
import { bytes, counted, grouped, seconds } from "page/numbers.js";
import { VirtualRows } from "page/rows.js";

const ROW_HEIGHT = 30;

/** @param {Context} context @returns {View} */
export function createPrograms(context) {
  const { programs, outcomes, steps, kinds, failures } = context.report;
  const count = programs.name.length;
  const causeOf = (/** @type {number} */ row) => kinds[programs.kinds[row][0]]?.title ?? "";
  const [wide, usual] = ["minmax(12rem, 3fr)", "minmax(6rem, 1fr)"];
  const stepOf = (/** @type {number} */ row) => steps[programs.step[row]]?.name ?? "";
  const chipOf = (/** @type {number} */ row) => outcomeChip(outcomes[programs.outcome[row]].id);
  /** @type {ProgramColumn[]} */
  const columns = [
    { id: "name", title: "Program", width: wide, cell: named, key: (row) => row },
    { id: "outcome", title: "Outcome", width: usual, cell: chipOf, key: (row) => programs.outcome[row] },
    { id: "step", title: "Step", width: usual, cell: stepOf, key: (row) => programs.step[row] },
    { id: "cause", title: "Cause", width: wide, cell: causeOf, key: causeOf },
    ...programs.figures.map(({ title, unit, values }) => ({
      id: title.toLowerCase(),
      title,
      width: "minmax(5rem, 7rem)",
      class: "number",
      cell: (/** @type {number} */ row) => figureText(unit, values[row]),
      key: (/** @type {number} */ row) => values[row],
    })),
  ];
  const texts = programs.name.map((name, row) => `${name} ${causeOf(row)}`.toLowerCase());

  // ---- The table ----

  const headers = columns.map(({ id, title, ...column }) => {
    const sort = () => {
      const now = context.state.sort;
      context.select({ sort: now === id ? `-${id}` : now === `-${id}` ? "" : id });
    };
    return element("div", { role: "columnheader", "aria-sort": "none", class: column.class }, button(title, sort));
  });
  const body = element("div.rows-body", { role: "rowgroup" });
  const table = element(
    "div.boxed.rows",
    { role: "grid", "aria-label": "Programs", tabindex: 0, style: { "--columns": columns.map(({ width }) => width).join(" ") } },
    element("div.rows-head", { role: "rowgroup" }, element("div.columns.cut", { role: "row", "aria-rowindex": 1 }, ...headers)),
    body,
  );
  const rows = new VirtualRows(table, body, makeRow, ROW_HEIGHT);
  rows.covered = ROW_HEIGHT;
  /** The programs that are shown, in their order. @type {number[]} */
  let order = [];
  moveByKeys(table, () => ({ at: rows.cursor, last: order.length - 1, page: rows.page }), (place) => {
    rows.reveal(place);
    context.select({ program: order[place] });
  });

  /** @param {number} place @returns {HTMLElement} */
  function makeRow(place) {
    const program = order[place];
    const attributes = {
      role: "row", id: `row-${place}`, "aria-rowindex": place + 2, "aria-selected": String(place === rows.cursor),
      onclick: () => context.select({ program }),
    };
    return element(
      "div.row.cut",
      attributes,
      ...columns.map(({ cell, ...column }) => element("div", { role: "gridcell", class: column.class }, cell(program))),
    );
  }

  /** @param {number} row */
  function named(row) {
    const others = programs.others[row];
    const name = element("span.name", { title: programs.name[row] }, programs.name[row]);
    return others === 0 ? name : element("span.named.cut", name, element("span.chip", `+${others}`));
  }

  // ---- Searching and sorting ----

  const search = element("input", {
    id: "search", type: "search", placeholder: "name or cause", spellcheck: "false",
    oninput: () => context.select({ search: search.value, program: null }),
  });
  /** @param {"outcome" | "step" | "kind"} name @param {{ value: string, title: string }[]} options */
  const filterBy = (name, options) =>
    choice([{ value: "", title: "all" }, ...options], "", (value) => context.select({ [name]: value }), { class: `${name}-choice` });
  const present = outcomes.filter((each) => each.count > 0);
  const outcome = filterBy("outcome", present.map(({ id, title }) => ({ value: id, title })));
  const step = filterBy("step", steps.map(({ name }) => ({ value: name, title: name })));
  const kind = filterBy("kind", kinds.map(({ key, steps: of, title }) => ({ value: key, title: `${of}: ${shortened(title)}` })));
  const found = element("span.quiet", { role: "status" });
  const nothing = { search: "", outcome: "", step: "", kind: "", sort: "", program: null };
  const clear = button("Clear", () => context.select(nothing));
  const detail = element("div.boxed.detail.program", { role: "region", "aria-label": "The chosen program" });
  const controls = [field("Search", search), field("Outcome", outcome), field("Step", step), field("Kind", kind), clear, found];
  const view = element("div.filling.column", element("div.toolbar", { role: "search" }, ...controls), table, detail);
  let filtered = "";
  /** @type {number | null} */
  let shown = -1;

  /** @param {ViewState} state */
  function filter(state) {
    const wanted = state.search.toLowerCase().split(/\s+/);
    const outcomeNumber = outcomes.findIndex((each) => each.id === state.outcome);
    const stepNumber = steps.findIndex((each) => each.name === state.step);
    const kindNumber = kinds.findIndex((each) => each.key === state.kind);
    order = [...programs.name.keys()].filter(
      (row) =>
        (outcomeNumber < 0 || programs.outcome[row] === outcomeNumber) &&
        (stepNumber < 0 || programs.step[row] === stepNumber) &&
        (kindNumber < 0 || programs.kinds[row].includes(kindNumber)) &&
        wanted.every((word) => texts[row].includes(word)),
    );
    const isDescending = state.sort.startsWith("-");
    const id = state.sort.replace(/^-/, "");
    const key = columns.find((column) => column.id === id)?.key;
    // Rows are in the order of their names, and sorting keeps those in order that are equal.
    const sign = isDescending ? -1 : 1;
    if (key !== undefined) order.sort((one, two) => sign * (key(one) < key(two) ? -1 : key(one) > key(two) ? 1 : 0));
    for (const [index, column] of columns.entries()) {
      headers[index].setAttribute("aria-sort", column.id !== id ? "none" : isDescending ? "descending" : "ascending");
    }
    table.setAttribute("aria-rowcount", String(order.length + 1));
    rows.show(order.length);
    const all = counted(count, "program");
    found.textContent = order.length === count ? all : `${grouped(order.length)} of ${all}`;
    context.announce(found.textContent);
  }

  /** @param {ViewState} state */
  function update(state) {
    if (document.activeElement !== search) search.value = state.search;
    outcome.value = state.outcome;
    step.value = state.step;
    kind.value = state.kind;
    const wanted = JSON.stringify([state.search, state.outcome, state.step, state.kind, state.sort]);
    if (wanted !== filtered) {
      filtered = wanted;
      filter(state);
    }
    const cursor = state.program === null ? -1 : order.indexOf(state.program);
    if (cursor !== rows.cursor) {
      rows.cursor = cursor;
      rows.redraw();
    }
    if (state.program === shown) return;
    shown = state.program;
    detail.hidden = shown === null;
    fill(detail, ...(shown === null ? [] : details(shown)));
  }

  /** @param {number} row */
  function details(row) {
    const facts = [outcomes[programs.outcome[row]].title];
    for (const { title, unit, values } of programs.figures) {
      const text = figureText(unit, values[row]);
      if (text !== "") facts.push(`${title.toLowerCase()} ${text}`);
    }
    const close = button("Close", () => context.select({ program: null }));
    return [
      element("div.toolbar", element("h2.name", programs.name[row]), element("span.quiet", facts.join(", ")), close),
      showCommand(context, programs.digest[row]),
      ...(failures[String(row)] ?? []).flatMap((failure) => [
        element("p.toolbar", outcomeChip(failure.outcome), element("strong", failure.step || "start")),
        element("pre.message", { tabindex: 0, "aria-label": failure.step }, failure.message),
      ]),
      ...programs.kinds[row].map((number) => {
        const go = () => context.select({ view: "kinds", kind: kinds[number].key });
        return element("p", button(`Kind: ${kinds[number].title}`, go, { class: "link" }));
      }),
    ];
  }

  return { id: "programs", title: `Programs (${grouped(count)})`, element: view, update };
}

const WRITTEN = { count: grouped, seconds, bytes };

/** A number, which is unknown if it is 0 and no time. @param {"count" | "seconds" | "bytes"} unit @param {number} value */
function figureText(unit, value) {
  return value > 0 || unit === "seconds" ? WRITTEN[unit](value) : "";
}

/** @param {string} text */
function shortened(text) {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
