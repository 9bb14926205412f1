// The first view: what was launched with what, what the recording holds, and where to look next.

import { button, element, fill, table } from "page/elements.js";
import { bytes, counted, extents, grouped } from "explorer/words.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Summary} Summary
 * @typedef {import("./types").View} View
 */

/**
 * @param {Context} context
 * @returns {View}
 */
export function createView(context) {
  const { summary } = context;
  const body = element(
    "div",
    {},
    summary.failure === null ? null : element("p", { class: "note bad" }, `The launch failed: ${summary.failure}`),
    element(
      "div",
      { class: "panels" },
      panel("Launch", launch(summary), findings(context)),
      panel("Parameters", parameters(context)),
      panel("Arrays", arrays(context)),
      panel("Recording", recording(summary)),
      panel("Forms", forms(context)),
    ),
  );
  return { id: "overview", title: "Overview", element: body, update() {} };
}

/**
 * @param {string} title
 * @param {Node[]} parts
 */
function panel(title, ...parts) {
  return element("section", { class: "panel", "aria-label": title }, element("h2", {}, title), ...parts);
}

/** @param {[string, string | Node][]} rows */
function pairs(rows) {
  const list = element("dl", { class: "pairs" });
  for (const [term, text] of rows) list.append(element("dt", {}, term), element("dd", {}, text));
  return list;
}

/** @param {Summary} summary */
function launch(summary) {
  const [x, y, z] = summary.grid;
  return pairs([
    ["kernel", element("code", {}, summary.kernel)],
    ["program", summary.title],
    ["grid", `${x} x ${y} x ${z}: ${counted(x * y * z, "tile block")}`],
    ["order", summary.schedule],
    ["operations", grouped(summary.operations.length)],
  ]);
}

/** @param {Context} context */
function findings(context) {
  const { findings: count, failure, recording: kept } = context.summary;
  // What did not run to its end was not looked at: nothing found is no praise then.
  if (count === 0 && (failure !== null || kept.order.shape[0] === 0)) return element("p");
  const chip =
    count === 0
      ? element("span", { class: "chip good" }, "no findings")
      : element("span", { class: "chip bad" }, counted(count, "finding"));
  const place = element("p", {}, chip, " ");
  if (count > 0) place.append(button("Show them", () => context.select({ view: "findings" })));
  return place;
}

/** @param {Context} context */
function parameters(context) {
  const { summary } = context;
  const rows = summary.parameters.map((parameter) => [
    element("code", {}, parameter.name),
    element("code", {}, parameter.type),
    // An address says nothing to anybody: the array does.
    parameter.array === null ? parameter.value : element("span", { class: "whole" }, arrayWords(summary.arrays[parameter.array])),
  ]);
  return scrolled(table(counted(rows.length, "parameter"), ["Name", "Type", "Value"], rows));
}

/** @param {import("./types").ArrayInfo | undefined} array */
function arrayWords(array) {
  return array === undefined ? "an array" : `${extents(array.shape)} ${array.element}`;
}

/** @param {Context} context */
function arrays(context) {
  const { summary } = context;
  const rows = summary.arrays.map((array) => [
    button(array.name, () => context.select({ view: "memory", array: array.id }), { class: "link mono" }),
    array.element,
    element("span", { class: "whole" }, extents(array.shape)),
    element("span", { class: "whole" }, bytes(array.bytes)),
    [array.read ? "read" : "", array.written ? "written" : ""].filter((word) => word !== "").join(", ") || "not touched",
  ]);
  return scrolled(table(counted(rows.length, "array"), ["Name", "Element", "Shape", "Size", "Use"], rows));
}

/** @param {HTMLElement} part */
function scrolled(part) {
  return element("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": "Table" }, part);
}

/** @param {Summary} summary */
function recording(summary) {
  const { recording: kept } = summary;
  const place = element("div");
  fill(
    place,
    kept.limit === 0
      ? null
      : pairs([
          ["tile blocks", grouped(kept.order.shape[0] ?? 0)],
          ["accesses", grouped(kept.accesses)],
          ["size", `${bytes(kept.bytes)} of at most ${bytes(kept.limit)}`],
        ]),
    ...[...kept.notes, ...summary.notes].map((text) => element("p", { class: "note" }, text)),
  );
  return place;
}

/** @param {Context} context */
function forms(context) {
  const rows = context.summary.forms.map((form) => [
    form.title,
    form.reason ??
      button("read it", () => context.select({ view: "forms", form: form.id }), { class: "link", "aria-label": `Read ${form.title}` }),
  ]);
  return scrolled(table(counted(rows.length, "form"), ["Form", "Here"], rows));
}
