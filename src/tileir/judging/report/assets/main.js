// The page of a sweep: unpacks what it carries, and makes its views.

import { createKinds } from "report/kinds.js";
import { outcomeChip } from "report/parts.js";
import { createPrograms } from "report/programs.js";
import { createChanges, createKernels, createPlan } from "report/tables.js";
import { byId, fill, hasModifier, isTyping } from "page/elements.js";
import { grouped } from "page/numbers.js";
import { announce, createTheme, embedded, readState, showViews, startPage, unpacked } from "page/page.js";

/** @type {ViewState} */
const BEGINNING = { view: "", kind: "", outcome: "", step: "", search: "", sort: "", program: null };

async function main() {
  const report = /** @type {SweepReport} */ (await unpacked(embedded().report));
  /** @type {Context} */
  const context = { report, state: BEGINNING, select() {}, announce };
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
  const limited = (/** @type {ViewState} */ state) => {
    const view = views.some(({ id }) => id === state.view) ? state.view : views[0].id;
    const program = state.program !== null && state.program < report.programs.name.length ? state.program : null;
    return { ...state, view, program };
  };
  context.state = limited(readState(location.hash, BEGINNING));
  // A word that is typed, or another program, is no step of the browser's way back.
  showViews(context, views, BEGINNING, limited, ["view", "kind", "outcome", "step"]);
  addEventListener("keydown", (event) => {
    if (event.key !== "/" || hasModifier(event) || isTyping(event.target)) return;
    event.preventDefault();
    context.select({ view: "programs" });
    requestAnimationFrame(() => byId("search").focus());
  });
}

startPage(main);
