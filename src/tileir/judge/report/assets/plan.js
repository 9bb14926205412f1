// What was done: the steps with their outcomes, and the plan.

import { button, element, table } from "page/elements.js";
import { counted, grouped } from "page/numbers.js";

/** @typedef {import("./types").Context} Context */

/** @param {Context} context */
export function createPlan(context) {
  const { steps, outcomes, plan, duplicates, untold } = context.report;
  const shown = outcomes.filter((outcome) => steps.some((step) => (step.counts[outcome.id] ?? 0) > 0));
  const rows = steps.map((step) => [
    step.name,
    ...shown.map((outcome) => {
      const count = step.counts[outcome.id] ?? 0;
      if (count === 0 || outcome.id === "passed" || outcome.id === "skipped") return count === 0 ? "" : grouped(count);
      const label = `${grouped(count)} programs that ${outcome.title} in ${step.name}`;
      return button(
        grouped(count),
        () => context.select({ view: "programs", step: step.name, outcome: outcome.id, kind: "", search: "" }),
        { class: "link", "aria-label": label },
      );
    }),
  ]);
  const settings = Object.entries(plan.settings).map(([name, value]) => [name, JSON.stringify(value)]);
  const notes = [];
  if (duplicates > 0) notes.push(`${counted(duplicates, "program")} had the same contents as another, and were judged once.`);
  if (untold > 0) notes.push(`Of ${counted(untold, "program")} that failed, this page has no messages: tileir report --show has them.`);
  const view = element(
    "div",
    { class: "panels" },
    element(
      "section",
      { class: "panel scrolled steps" },
      table("How often each step came to which outcome", ["Step", ...shown.map((outcome) => outcome.title)], rows),
      ...notes.map((note) => element("p", { class: "note" }, note)),
    ),
    element("section", { class: "panel scrolled" }, table(`The plan, ${plan.digest}`, ["Setting", "Value"], settings)),
  );
  return { id: "plan", title: "Steps and plan", element: view, update() {} };
}
