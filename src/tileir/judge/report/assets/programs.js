// All programs: searched, filtered, sorted; and the chosen one with what is said of it.

import { command, outcomeChip, quoted } from "report/parts.js";
import { createRows } from "report/rows.js";
import { button, choice, element, field, fill } from "page/elements.js";
import { bytes, counted, grouped, seconds } from "page/numbers.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Selection} Selection
 */

/** @param {Context} context */
export function createPrograms(context) {
  const { programs, outcomes, steps, kinds } = context.report;
  const count = programs.name.length;
  const words = programs.name.map((name, number) => `${name} ${causeOf(number)}`.toLowerCase());
  const rows = createRows(
    "Programs",
    [
      { id: "name", title: "Program", cell: (row) => named(row) },
      { id: "outcome", title: "Outcome", cell: (row) => outcomeChip(context, outcomes[programs.outcome[row]].id) },
      { id: "step", title: "Step", cell: stepOf },
      { id: "cause", title: "Cause", cell: causeOf },
      { id: "operations", title: "Operations", isNumber: true, cell: (row) => (programs.operations[row] > 0 ? grouped(programs.operations[row]) : "") },
      { id: "bytes", title: "Bytes", isNumber: true, cell: (row) => (programs.bytes[row] > 0 ? grouped(programs.bytes[row]) : "") },
      { id: "seconds", title: "Time", isNumber: true, cell: (row) => seconds(programs.seconds[row]) },
      { id: "peak", title: "Memory", isNumber: true, cell: (row) => (programs.peak[row] > 0 ? bytes(programs.peak[row]) : "") },
    ],
    {
      sorted: (column) => {
        const now = context.selection.sort;
        context.select({ sort: now === column ? `-${column}` : now === `-${column}` ? "" : column });
      },
      chosen: (program) => context.select({ program }),
    },
  );
  const search = element("input", {
    id: "search",
    type: "search",
    placeholder: "name or cause",
    spellcheck: "false",
    oninput: () => context.select({ search: search.value, program: null }),
  });
  const anything = { value: "", title: "all" };
  const outcome = choice(
    [anything, ...outcomes.filter((each) => each.count > 0).map((each) => ({ value: each.id, title: each.title }))],
    "",
    (value) => context.select({ outcome: value }),
  );
  const step = choice([anything, ...steps.map((each) => ({ value: each.name, title: each.name }))], "", (value) =>
    context.select({ step: value }),
  );
  const kind = choice(
    [anything, ...kinds.map((each) => ({ value: each.key, title: `${each.steps}: ${shortened(each.title)}` }))],
    "",
    (value) => context.select({ kind: value }),
    { class: "kind-choice" },
  );
  const found = element("span", { class: "quiet", role: "status" });
  const clear = button("Clear", () => context.select({ search: "", outcome: "", step: "", kind: "", sort: "", program: null }));
  const detail = element("div", { class: "detail program", role: "region", "aria-label": "The chosen program" });
  const view = element(
    "div",
    { class: "filling programs" },
    element(
      "div",
      { class: "toolbar", role: "search" },
      field("Search", search),
      field("Outcome", outcome),
      field("Step", step),
      field("Kind", kind),
      clear,
      found,
    ),
    rows.element,
    detail,
  );
  let filtered = "";
  let shown = -2;

  /** @param {number} row */
  function named(row) {
    const others = programs.others[row];
    const name = element("span", { class: "name", title: programs.name[row] }, programs.name[row]);
    return others === 0 ? name : element("span", { class: "named" }, name, element("span", { class: "chip" }, `+${others}`));
  }

  /** @param {number} row */
  function stepOf(row) {
    return programs.step[row] < 0 ? "" : steps[programs.step[row]].name;
  }

  /** @param {number} row */
  function causeOf(row) {
    const first = programs.kinds[row][0];
    return first === undefined ? "" : kinds[first].title;
  }

  /** @param {Selection} selection */
  function filter(selection) {
    const asked = selection.search.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const outcomeNumber = outcomes.findIndex((each) => each.id === selection.outcome);
    const stepNumber = steps.findIndex((each) => each.name === selection.step);
    const kindNumber = kinds.findIndex((each) => each.key === selection.kind);
    const kept = [];
    for (let row = 0; row < count; row++) {
      if (outcomeNumber >= 0 && programs.outcome[row] !== outcomeNumber) continue;
      if (stepNumber >= 0 && programs.step[row] !== stepNumber) continue;
      if (kindNumber >= 0 && !programs.kinds[row].includes(kindNumber)) continue;
      if (!asked.every((word) => words[row].includes(word))) continue;
      kept.push(row);
    }
    const descending = selection.sort.startsWith("-");
    const column = selection.sort.replace(/^-/, "");
    const compare = comparing(column);
    // Rows are in the order of their names, and sorting keeps those in order that are equal.
    if (compare !== null) kept.sort((one, two) => (descending ? compare(two, one) : compare(one, two)));
    else if (column === "name" && descending) kept.reverse();
    rows.show(kept, column, descending);
    found.textContent = kept.length === count ? counted(count, "program") : `${grouped(kept.length)} of ${counted(count, "program")}`;
    context.announce(found.textContent);
  }

  /**
   * @param {string} column
   * @returns {((one: number, two: number) => number) | null}
   */
  function comparing(column) {
    switch (column) {
      case "operations":
      case "bytes":
      case "seconds":
      case "peak":
      case "outcome":
      case "step":
        return (one, two) => programs[column][one] - programs[column][two];
      case "cause":
        return (one, two) => (causeOf(one) < causeOf(two) ? -1 : causeOf(one) > causeOf(two) ? 1 : 0);
      default:
        return null;
    }
  }

  /** @param {Selection} selection */
  function update(selection) {
    if (document.activeElement !== search) search.value = selection.search;
    outcome.value = selection.outcome;
    step.value = selection.step;
    kind.value = selection.kind;
    const wanted = JSON.stringify([selection.search, selection.outcome, selection.step, selection.kind, selection.sort]);
    if (wanted !== filtered) {
      filtered = wanted;
      filter(selection);
    }
    rows.choose(selection.program);
    rows.draw();
    const program = selection.program ?? -1;
    if (program !== shown) {
      shown = program;
      fill(detail, ...(program < 0 ? [] : details(program)));
      detail.hidden = program < 0;
    }
  }

  /** @param {number} row */
  function details(row) {
    const name = programs.name[row];
    const failures = context.report.failures[String(row)] ?? [];
    const facts = [outcomes[programs.outcome[row]].title];
    if (programs.operations[row] > 0) facts.push(counted(programs.operations[row], "operation"));
    if (programs.bytes[row] > 0) facts.push(bytes(programs.bytes[row]));
    facts.push(seconds(programs.seconds[row]));
    if (programs.peak[row] > 0) facts.push(bytes(programs.peak[row]));
    /** @type {HTMLElement[]} */
    const parts = [
      element(
        "div",
        { class: "toolbar" },
        element("h2", { class: "name" }, name),
        element("span", { class: "quiet" }, facts.join(", ")),
        button("Close", () => context.select({ program: null })),
      ),
      element("p", { class: "quiet" }, "All of it: ", command(context, `--show ${quoted(programs.digest[row])}`)),
    ];
    for (const failure of failures) {
      parts.push(
        element("p", { class: "toolbar" }, outcomeChip(context, failure.outcome), element("strong", {}, failure.step || "start")),
        element("pre", { class: "message", tabindex: "0", "aria-label": failure.step }, failure.message),
      );
    }
    for (const number of programs.kinds[row]) {
      parts.push(
        element(
          "p",
          {},
          button(`Kind: ${kinds[number].title}`, () => context.select({ view: "kinds", kind: kinds[number].key }), { class: "link" }),
        ),
      );
    }
    return parts;
  }

  return { id: "programs", title: `Programs (${grouped(count)})`, element: view, update };
}

/** @param {string} text */
function shortened(text) {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}
