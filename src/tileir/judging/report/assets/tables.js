// Views that are tables: the changes since an older sweep, modules of kernels with their speeds, the steps and the plan.

import { outcomeChip } from "report/parts.js";
import { button, element, notes, table } from "page/elements.js";
import { counted, grouped, seconds } from "page/numbers.js";

/** Rows of one table; the command line has all. */
const MOST = 1000;

/** @param {Context} _ @param {Changes} changes @returns {View} */
export function createChanges(_, changes) {
  /** @param {string} title @param {Changes["newKinds"]} found */
  const kinds = (title, found) => {
    const rows = found.map((kind) => [kind.title, outcomeChip(kind.outcome), kind.steps, kind.count, kind.smallest]);
    return section(title, found.length, table(title, ["Cause", "Outcome", "Step", "Programs", "Smallest"], rows));
  };
  /** @param {string} title @param {Change[]} found */
  const programs = (title, found) => {
    const rows = found.slice(0, MOST).map((change) => [change.name, change.before, change.now]);
    return section(title, found.length, table(title, ["Program", "Before", "Now"], rows));
  };
  const view = element(
    "div.stack",
    element(changes.worse ? "p.note.bad" : "p.note", changes.summary),
    kinds("New kinds of failures", changes.newKinds),
    programs("Broken", changes.broken),
    programs("Fixed", changes.fixed),
    programs("Failing otherwise", changes.changed),
    kinds("Kinds of failures that are gone", changes.goneKinds),
  );
  return { id: "changes", title: "Changes", element: view, update() {} };
}

/** @param {string} title @param {number} count @param {HTMLElement} inside */
function section(title, count, inside) {
  return count === 0 ? null : element("section.panel.scrolled", element("h2", `${title} (${grouped(count)})`), inside);
}

/** @param {Context} context @returns {View} */
export function createKernels(context) {
  const { kernels, programs } = context.report;
  const steps = [...new Set(kernels.flatMap((kernel) => kernel.speeds.map((speed) => speed.step)))];
  const rows = kernels.map(({ program, outcome, speeds }) => [
    button(programs.name[program], () => context.select({ view: "programs", program }), { class: "link" }),
    outcomeChip(outcome),
    ...steps.map((step) => {
      const speed = speeds.find((each) => each.step === step);
      if (speed === undefined) return "";
      const isMeasured = speed.seconds !== null && speed.baseline !== null;
      const title = isMeasured ? `${seconds(Number(speed.seconds))} against ${seconds(Number(speed.baseline))}` : "";
      return element("span", { title }, `${speed.ratio.toFixed(2)}x`);
    }),
  ]);
  const caption = "Modules of kernels against their references";
  const view = element("div", element("div.panel.scrolled", table(caption, ["Module", "Verdict", ...steps], rows)));
  return { id: "kernels", title: `Kernels (${grouped(kernels.length)})`, element: view, update() {} };
}

/** @param {Context} context @returns {View} */
export function createPlan(context) {
  const { steps, outcomes, plan, duplicates, untold } = context.report;
  const shown = outcomes.filter((outcome) => steps.some((step) => (step.counts[outcome.id] ?? 0) > 0));
  const rows = steps.map(({ name, counts }) => [
    name,
    ...shown.map(({ id, title }) => {
      const count = counts[id] ?? 0;
      if (count === 0 || id === "passed" || id === "skipped") return count === 0 ? "" : grouped(count);
      const choose = () => context.select({ view: "programs", step: name, outcome: id, kind: "", search: "" });
      const label = `${grouped(count)} programs that ${title} in ${name}`;
      return button(grouped(count), choose, { class: "link", "aria-label": label });
    }),
  ]);
  const settings = Object.entries(plan.settings).map(([name, value]) => [name, JSON.stringify(value)]);
  const same = `${counted(duplicates, "program")} had the same contents as another, and were judged once.`;
  const missing = `Of ${counted(untold, "program")} that failed, this page has no messages: tileir report --show has them.`;
  const caption = "How often each step came to which outcome";
  const view = element(
    "div.panels",
    element(
      "section.panel.scrolled",
      table(caption, ["Step", ...shown.map((outcome) => outcome.title)], rows),
      ...notes([...(duplicates > 0 ? [same] : []), ...(untold > 0 ? [missing] : [])]),
    ),
    element("section.panel.scrolled", table(`The plan, ${plan.digest}`, ["Setting", "Value"], settings)),
  );
  return { id: "plan", title: "Steps and plan", element: view, update() {} };
}
