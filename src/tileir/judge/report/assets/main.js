// The page of a sweep: unpacks what it carries, and makes its views.

import { createChanges } from "report/changes.js";
import { createKernels } from "report/kernels.js";
import { createKinds } from "report/kinds.js";
import { createPlan } from "report/plan.js";
import { createPrograms } from "report/programs.js";
import { read, written } from "report/state.js";
import { button, byId, element, fill } from "page/elements.js";
import { inflated } from "page/packing.js";
import { createTabs } from "page/tabs.js";
import { createTheme, isTyping } from "page/theme.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Report} Report
 * @typedef {import("./types").View} View
 */

async function main() {
  const carried = JSON.parse(byId("embedded").textContent ?? "{}");
  /** @type {Report} */
  const report = JSON.parse(await inflated(carried.report));
  byId("title").textContent = report.file;
  fill(
    byId("facts"),
    ...report.outcomes
      .filter((outcome) => outcome.count > 0)
      .map((outcome) =>
        element("span", { class: `chip ${tone(outcome.id)}` }, `${outcome.count.toLocaleString("en-US")} ${outcome.title}`),
      ),
  );
  byId("tools").append(createTheme());
  byId("status").textContent = report.summary;

  /** @type {View[]} */
  const views = [];
  /** @type {Context} */
  const context = {
    report,
    selection: read("", ["kinds"], 0),
    select(change) {
      const next = { ...this.selection, ...change };
      if (written(next) === written(this.selection)) return;
      // Typing a word is one step back, not one for each letter.
      const replaces = Object.keys(change).every((name) => name === "search" || name === "program" || name === "sort");
      history[replaces ? "replaceState" : "pushState"](null, "", `#${written(next)}`);
      Object.assign(this, { selection: next });
      update();
    },
    announce(text) {
      byId("announcements").textContent = text;
    },
  };
  if (report.changes !== null) views.push(createChanges(context));
  views.push(createKinds(context), createPrograms(context));
  if (report.kernels.length > 0) views.push(createKernels(context));
  views.push(createPlan(context));
  const ids = views.map((view) => view.id);
  const tabs = createTabs(context, views);
  fill(byId("content"), ...views.map((view) => tabs.panel(view)));

  function update() {
    tabs.update();
    views.find((view) => view.id === context.selection.view)?.update(context.selection);
  }

  function open() {
    Object.assign(context, { selection: read(location.hash, ids, report.programs.name.length) });
    update();
  }

  addEventListener("popstate", open);
  addEventListener("hashchange", open);
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("content").focus();
  });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
    if (/^[1-9]$/.test(event.key) && Number(event.key) <= ids.length) context.select({ view: ids[Number(event.key) - 1] });
    if (event.key === "/") {
      event.preventDefault();
      context.select({ view: "programs" });
      byId("search").focus();
    }
  });
  open();
}

/**
 * What colour an outcome has.
 * @param {string} outcome
 */
function tone(outcome) {
  if (outcome === "passed") return "good";
  return outcome === "refused" || outcome === "skipped" ? "warning" : "bad";
}

main().catch((error) => {
  const words = error instanceof Error ? error.message : String(error);
  const problem = element("p", { class: "problem" }, element("span", {}, words));
  problem.append(button("Close", () => problem.remove()));
  byId("problems").append(problem);
});
