// Modules of kernels: right, wrong, and how fast against what they are measured by.

import { outcomeChip } from "report/parts.js";
import { button, element, table } from "page/elements.js";
import { grouped, seconds } from "page/numbers.js";

/** @typedef {import("./types").Context} Context */

/** @param {Context} context */
export function createKernels(context) {
  const { kernels, programs } = context.report;
  const steps = [...new Set(kernels.flatMap((kernel) => kernel.speeds.map((speed) => speed.step)))];
  const rows = kernels.map((kernel) => [
    button(programs.name[kernel.program], () => context.select({ view: "programs", program: kernel.program }), { class: "link" }),
    outcomeChip(context, kernel.outcome),
    ...steps.map((step) => {
      const speed = kernel.speeds.find((each) => each.step === step);
      if (speed === undefined) return "";
      const times = speed.seconds === null || speed.baseline === null ? "" : `${seconds(speed.seconds)} against ${seconds(speed.baseline)}`;
      return element("span", { title: times }, `${speed.ratio.toFixed(2)}x`);
    }),
  ]);
  const view = element(
    "div",
    {},
    element(
      "div",
      { class: "panel scrolled" },
      table("Modules of kernels against their references", ["Module", "Verdict", ...steps], rows),
    ),
  );
  return { id: "kernels", title: `Kernels (${grouped(kernels.length)})`, element: view, update() {} };
}
