// What a launch costs on a target: time and its reasons, the roofline, memory by array, operations by kind, waves.

import { drawRoofline, drawWaves, standing } from "explorer/charts.js";
import {
  button, choice, element, empty, field, fill, fillLater, messageOf, notes, pairs, panel, scrolled, share, table,
} from "page/elements.js";
import { amount, bytes, counted, grouped, seconds, short } from "page/numbers.js";

/** @param {Context} context @returns {View} */
export function createView(context) {
  const { targets, kernel } = context.summary;
  /** @type {string | null} */
  let shown = null;
  /** @type {Cost | null} */
  let cost = null;
  const body = element("div");
  const others = element("div", { "aria-live": "polite" });
  const options = targets.map(({ id, title }) => ({ value: id, title }));
  const target = choice(options, targets[0]?.id ?? "", () => void update());
  const all = button("Compare all targets", () => void compare(), { disabled: targets.length < 2 });
  const view = element("div.stack", element("div.toolbar", field("Target", target), all), others, body);

  async function update() {
    const id = target.value;
    if (id === shown) return;
    [shown, cost] = [id, null];
    // The answer for a target that was left meanwhile comes into an element that is no longer shown.
    const part = element("div.stack");
    fill(body, part);
    if (id === "") fill(part, empty("There is no target to estimate costs for."));
    else if (!(await fillLater(part, "Counting ..", context.ask("cost", { target: id }), made)) && id === shown) shown = null;
  }

  /** @param {Cost} answer */
  function made(answer) {
    if (answer.target === shown) {
      cost = answer;
      context.announce(`${answer.title}: about ${seconds(answer.time.seconds)}`);
    }
    return parts(answer, kernel);
  }

  async function compare() {
    all.disabled = true;
    const rows = [];
    for (const { id, title } of targets) {
      fill(others, empty(`Counting for ${title} ..`));
      try {
        const { time, measured } = /** @type {Cost} */ (await context.ask("cost", { target: id }));
        const also = measured === null ? "" : `, measured ${seconds(measured)}`;
        rows.push([title, `${seconds(time.seconds)}${also}`, time.reasons.at(-1) ?? ""]);
      } catch (error) {
        rows.push([title, "", messageOf(error)]);
      }
    }
    fill(others, scrolled("Estimated times", table("Estimated time on each target", ["Target", "Time", "Reason"], rows)));
    all.disabled = false;
  }

  function picture() {
    if (cost === null) return null;
    const chart = drawRoofline(cost, kernel);
    // In colors for print.
    chart.style.colorScheme = "light";
    return chart;
  }

  return { id: "cost", title: "Cost", element: view, update, picture };
}

/** @param {Cost} cost @param {string} kernel @returns {Child[]} */
function parts(cost, kernel) {
  const chart = scrolled("Roofline chart", drawRoofline(cost, kernel));
  const sources = element("ul.quiet", ...cost.sources.map((source) => element("li", source)));
  return [
    element(
      "div.panels",
      panel("Estimated time", ...time(cost)),
      panel("Waves", ...waves(cost)),
      panel("Occupancy", ...occupancy(cost)),
    ),
    panel("Roofline", chart, element("p.quiet", standing(cost, kernel))),
    element("div.panels", panel("Memory", ...memory(cost)), panel("Operations", ...operations(cost))),
    panel("Where the numbers come from", ...notes(cost.notes), sources),
  ];
}

/** @param {Cost} cost */
function time({ measured, time: { seconds: estimate, reasons } }) {
  const factor = measured === null ? "" : `measured here: ${seconds(measured)}, ${short(measured / estimate)} times the estimate`;
  return [
    element("p.cost-time", seconds(estimate)),
    factor === "" ? null : element("p", factor),
    element("ul", ...reasons.map((reason) => element("li", reason))),
  ];
}

/** @param {Cost} cost */
function waves({ waves: found }) {
  const facts = pairs([
    ["tile blocks", grouped(found.blocks)],
    ["at once", grouped(found.atOnce)],
    ["waves", short(found.waves)],
    ["last wave", `${short(found.tail * 100)} % full`],
  ]);
  return [facts, drawWaves(found), ...notes(found.reason === null ? [] : [found.reason])];
}

/** @param {Cost} cost */
function occupancy({ occupancy: { registers, sharedMemory, blocksPerMultiprocessor, warps, limit, reason } }) {
  /** @type {[string, string][]} */
  const rows = [];
  if (registers !== null) rows.push(["registers a thread", grouped(registers)]);
  if (sharedMemory !== null) rows.push(["shared memory", bytes(sharedMemory)]);
  if (warps !== null) rows.push(["warps a tile block", grouped(warps)]);
  if (blocksPerMultiprocessor !== null) rows.push(["tile blocks a multiprocessor", grouped(blocksPerMultiprocessor)]);
  if (limit !== "") rows.push(["limited by", limit]);
  return [rows.length === 0 ? null : pairs(rows), ...notes(reason === null ? [] : [reason])];
}

/** @param {Cost} cost */
function memory({ memory: arrays, bytesMoved, footprint, intensity }) {
  const most = Math.max(1, ...arrays.map((array) => array.read + array.written));
  const rows = arrays.map((array) => [
    element("code", array.name),
    ...[array.read, array.written, array.footprint].map((count) => element("span.number", bytes(count))),
    share((array.read + array.written) / most),
  ]);
  const facts = pairs([
    ["moved", bytes(bytesMoved)],
    ["footprint", bytes(footprint)],
    ["intensity", intensity === null ? "none" : `${short(intensity)} operations a byte of the footprint`],
  ]);
  const headers = ["Array", "Read", "Written", "Footprint", "Share"];
  return [facts, scrolled("Memory by array", table("Bytes by array", headers, rows))];
}

/** @param {Cost} cost */
function operations({ operations: kinds, flops }) {
  const most = Math.max(1, ...kinds.map((kind) => kind.count));
  const rows = kinds.map(({ kind, count }) => [kind, element("span.number", grouped(count)), share(count / most)]);
  const facts = pairs([["floating point", `${amount(flops, "op")} in ${counted(kinds.length, "kind")}`]]);
  return [facts, scrolled("Operations by kind", table("Operations by kind", ["Kind", "Count", "Share"], rows))];
}
