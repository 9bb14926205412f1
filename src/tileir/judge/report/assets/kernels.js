// Modules of kernels: right, wrong, and how fast against what they are measured by.

import { outcomeChip } from "report/parts.js";
import { button, element, table } from "page/elements.js";
import { grouped, seconds } from "page/numbers.js";

/** @typedef {import("./types").Context} Context */

/** @param {Context} context */
export function createKernels(context) {
  const { kernels, programs } = context.report;
  const rows = kernels.map((kernel) => [
    button(programs.name[kernel.program], () => context.select({ view: "programs", program: kernel.program }), { class: "link" }),
    outcomeChip(context, kernel.outcome),
    kernel.seconds === null ? "" : seconds(kernel.seconds),
    kernel.baseline === null ? "" : seconds(kernel.baseline),
    kernel.speed === null ? "" : `${kernel.speed.toFixed(2)}x`,
  ]);
  const view = element(
    "div",
    {},
    element(
      "div",
      { class: "panel scrolled" },
      table("Modules of kernels against their references", ["Module", "Verdict", "Time", "Baseline", "Speed"], rows),
    ),
  );
  return { id: "kernels", title: `Kernels (${grouped(kernels.length)})`, element: view, update() {} };
}
