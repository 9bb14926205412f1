// The page of a sweep: unpacks what it carries, and makes its views.

import { createKinds } from "report/kinds.js";
import { outcomeChip } from "report/parts.js";
import { createPrograms } from "report/programs.js";
import { createChanges, createKernels, createPlan } from "report/tables.js";
import { byId, fill, isTyping } from "page/elements.js";
import { grouped } from "page/numbers.js";
import { announce, createTabs, createTheme, embedded, readState, startPage, unpacked, writtenState } from "page/page.js";

/** @type {ViewState} */
const BEGINNING = { view: "", kind: "", outcome: "", step: "", search: "", sort: "", program: null };

async function main() {
  const report = /** @type {SweepReport} */ (await unpacked(embedded().report));
  /** @type {Context} */
  const context = {
    report,
    state: BEGINNING,
    select(change) {
      const next = { ...context.state, ...change };
      const hash = writtenState(next, BEGINNING);
      if (hash === writtenState(context.state, BEGINNING)) return;
      // Typing a word is one step back, not one for each letter.
      const isSmall = Object.keys(change).every((name) => ["search", "program", "sort"].includes(name));
      history[isSmall ? "replaceState" : "pushState"](null, "", `#${hash}`);
      context.state = next;
      update();
    },
    announce,
  };
  const views = [
    ...(report.changes === null ? [] : [createChanges(context, report.changes)]),
    createKinds(context),
    createPrograms(context),
    ...(report.kernels.length > 0 ? [createKernels(context)] : []),
    createPlan(context),
  ];
  const counts = report.outcomes.filter((outcome) => outcome.count > 0);
  byId("title").textContent = report.file;
  fill(byId("facts"), ...counts.map(({ id, title, count }) => outcomeChip(id, `${grouped(count)} ${title}`)));
  byId("tools").append(createTheme());
  byId("status").textContent = report.summary;
  const showTab = createTabs(views, (view) => context.select({ view }));

  function update() {
    showTab(context.state.view);
    views.find((view) => view.id === context.state.view)?.update(context.state);
  }

  function open() {
    const read = readState(location.hash, BEGINNING);
    const view = views.some(({ id }) => id === read.view) ? read.view : views[0].id;
    const program = read.program !== null && read.program < report.programs.name.length ? read.program : null;
    context.state = { ...read, view, program };
    update();
  }

  addEventListener("popstate", open);
  addEventListener("hashchange", open);
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
    event.preventDefault();
    context.select({ view: "programs" });
    byId("search").focus();
  });
  open();
}

startPage(main);
