// What a launch costs on a target: time and its reasons, the roofline, memory by array, operations by kind, waves.

import { button, choice, element, empty, field, fill, table } from "page/elements.js";
import { PAGE_COLOURS, PAPER_COLOURS, drawRoofline, standing } from "explorer/roofline.js";
import { drawWaves } from "explorer/waves.js";
import { amount, bytes, counted, grouped, seconds, short } from "explorer/words.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Cost} Cost
 * @typedef {import("./types").View} View
 * @typedef {import("page/elements.js").Child} Child
 */

/**
 * @param {Context} context
 * @returns {View}
 */
export function createView(context) {
  const { targets, kernel } = context.summary;
  let target = targets[0]?.id ?? "";
  /** @type {string | null} */
  let shown = null;
  /** @type {Cost | null} */
  let cost = null;
  const body = element("div", { class: "cost-body" });
  const chooser = choice(
    targets.map(({ id, title }) => ({ value: id, title })),
    target,
    (chosen) => {
      target = chosen;
      void update();
    },
  );
  const all = button("Compare all targets", () => void compare(), { disabled: targets.length < 2 });
  const others = element("div", { class: "cost-others", "aria-live": "polite" });
  const view = element(
    "div",
    { class: "cost" },
    element("div", { class: "toolbar" }, field("Target", chooser), all),
    others,
    body,
  );

  async function update() {
    if (target === shown) return;
    const asked = target;
    shown = asked;
    cost = null;
    if (asked === "") {
      fill(body, empty("There is no target to estimate costs for."));
      return;
    }
    fill(body, empty("Counting .."));
    try {
      const answer = /** @type {Cost} */ (await context.ask("cost", { target: asked }));
      if (asked !== target) return;
      cost = answer;
      fill(body, ...parts(answer, kernel));
      context.announce(`${answer.title}: about ${seconds(answer.time.seconds)}`);
    } catch (error) {
      if (asked !== target) return;
      // It may be asked for again.
      shown = null;
      fill(body, empty(error instanceof Error ? error.message : String(error)));
    }
  }

  async function compare() {
    all.disabled = true;
    /** @type {Child[][]} */
    const rows = [];
    for (const { id, title } of targets) {
      fill(others, empty(`Counting for ${title} ..`));
      try {
        const one = /** @type {Cost} */ (await context.ask("cost", { target: id }));
        const measured = one.measured === null ? "" : `, measured ${seconds(one.measured)}`;
        rows.push([title, `${seconds(one.time.seconds)}${measured}`, one.time.reasons.at(-1) ?? ""]);
      } catch (error) {
        rows.push([title, "", error instanceof Error ? error.message : String(error)]);
      }
    }
    fill(others, scrolled("Estimated times", table("Estimated time on each target", ["Target", "Time", "Reason"], rows)));
    all.disabled = false;
  }

  return {
    id: "cost",
    title: "Cost",
    element: view,
    update,
    picture: () => (cost === null ? null : drawRoofline(cost, kernel, PAPER_COLOURS)),
  };
}

/**
 * @param {Cost} cost
 * @param {string} kernel
 * @returns {Child[]}
 */
function parts(cost, kernel) {
  return [
    element("div", { class: "panels" }, panel("Estimated time", ...time(cost)), panel("Waves", ...waves(cost)), panel("Occupancy", ...occupancy(cost))),
    panel(
      "Roofline",
      element("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": "Roofline chart" }, drawRoofline(cost, kernel, PAGE_COLOURS)),
      element("p", { class: "quiet" }, standing(cost, kernel)),
    ),
    element("div", { class: "panels" }, panel("Memory", ...memory(cost)), panel("Operations", ...operations(cost))),
    panel(
      "Where the numbers come from",
      ...cost.notes.map((note) => element("p", { class: "note" }, note)),
      element("ul", { class: "cost-sources" }, ...cost.sources.map((source) => element("li", {}, source))),
    ),
  ];
}

/**
 * @param {string} title
 * @param {Child[]} children
 */
function panel(title, ...children) {
  return element("section", { class: "panel", "aria-label": title }, element("h2", {}, title), ...children);
}

/**
 * @param {string} name
 * @param {HTMLElement} part
 */
function scrolled(name, part) {
  return element("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": name }, part);
}

/** @param {[string, Child][]} rows */
function pairs(rows) {
  const list = element("dl", { class: "pairs" });
  for (const [term, words] of rows) list.append(element("dt", {}, term), element("dd", {}, words));
  return list;
}

/** @param {Cost} cost */
function time(cost) {
  return [
    element("p", { class: "cost-time" }, seconds(cost.time.seconds)),
    cost.measured === null
      ? null
      : element("p", {}, `measured here: ${seconds(cost.measured)}, ${short(cost.measured / cost.time.seconds)} times the estimate`),
    element("ul", {}, ...cost.time.reasons.map((reason) => element("li", {}, reason))),
  ];
}

/** @param {Cost} cost */
function waves(cost) {
  const { blocks, atOnce, waves: count, tail, reason } = cost.waves;
  return [
    pairs([
      ["tile blocks", grouped(blocks)],
      ["at once", grouped(atOnce)],
      ["waves", short(count)],
      ["last wave", `${short(tail * 100)} % full`],
    ]),
    drawWaves(cost.waves),
    reason === null ? null : element("p", { class: "note" }, reason),
  ];
}

/** @param {Cost} cost */
function occupancy(cost) {
  const { registers, sharedMemory, blocksPerMultiprocessor, warps, limit, reason } = cost.occupancy;
  /** @type {[string, Child][]} */
  const rows = [];
  if (registers !== null) rows.push(["registers a thread", grouped(registers)]);
  if (sharedMemory !== null) rows.push(["shared memory", bytes(sharedMemory)]);
  if (warps !== null) rows.push(["warps a tile block", grouped(warps)]);
  if (blocksPerMultiprocessor !== null) rows.push(["tile blocks a multiprocessor", grouped(blocksPerMultiprocessor)]);
  if (limit !== "") rows.push(["limited by", limit]);
  return [rows.length === 0 ? null : pairs(rows), reason === null ? null : element("p", { class: "note" }, reason)];
}

/** @param {Cost} cost */
function memory(cost) {
  const most = Math.max(1, ...cost.memory.map((array) => array.read + array.written));
  const rows = cost.memory.map((array) => [
    element("code", {}, array.name),
    numeric(bytes(array.read)),
    numeric(bytes(array.written)),
    numeric(bytes(array.footprint)),
    share((array.read + array.written) / most),
  ]);
  return [
    pairs([
      ["moved", bytes(cost.bytesMoved)],
      ["footprint", bytes(cost.footprint)],
      ["intensity", cost.intensity === null ? "none" : `${short(cost.intensity)} operations a byte of the footprint`],
    ]),
    scrolled("Memory by array", table("Bytes by array", ["Array", "Read", "Written", "Footprint", "Share"], rows)),
  ];
}

/** @param {Cost} cost */
function operations(cost) {
  const most = Math.max(1, ...cost.operations.map((operation) => operation.count));
  const rows = cost.operations.map(({ kind, count }) => [kind, numeric(grouped(count)), share(count / most)]);
  return [
    pairs([["floating point", `${amount(cost.flops, "op")} in ${counted(cost.operations.length, "kind")}`]]),
    scrolled("Operations by kind", table("Operations by kind", ["Kind", "Count", "Share"], rows)),
  ];
}

/** @param {string} words */
function numeric(words) {
  return element("span", { class: "number" }, words);
}

/**
 * A bar for eyes; the numbers stand beside it.
 * @param {number} part
 */
function share(part) {
  const bar = element("span", { class: "share", "aria-hidden": "true" }, element("span", { class: "share-part" }));
  bar.style.setProperty("--part", `${Math.max(0, Math.min(1, part)) * 100}%`);
  return bar;
}
