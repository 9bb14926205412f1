// Puts the page together: asks for the summary, makes the views, and tells them what is selected.

import { createView as createCost } from "explorer/cost.js";
import { asking, inside, server } from "explorer/data.js";
import { byId, element, fill } from "page/elements.js";
import { createView as createFindings } from "explorer/findings.js";
import { createView as createForms } from "explorer/forms.js";
import { createTools } from "explorer/header.js";
import { createView as createMemory } from "explorer/memory.js";
import { createView as createOverview } from "explorer/overview.js";
import { beginning, equal, limiting, opening, read, written } from "explorer/state.js";
import { createTabs } from "page/tabs.js";
import { createTimeline } from "explorer/timeline.js";
import { createView as createValues } from "explorer/values.js";
import { bytes, counted } from "explorer/words.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").Selection} Selection
 * @typedef {import("./types").Summary} Summary
 * @typedef {import("./types").View} View
 */

/** The views, in the order of their tabs: a line for each. */
const VIEWS = [
  createOverview,
  createForms,
  createMemory,
  createValues,
  createFindings,
  createCost,
];

/**
 * What stands in the header and shows the moment, above all views.
 * @type {((context: Context) => View)[]}
 */
const ABOVE = [
  createTimeline,
];

/** @param {unknown} error */
function report(error) {
  const words = error instanceof Error ? error.message : String(error);
  const problems = byId("problems");
  for (const shown of Array.from(problems.children)) if (shown.firstChild?.textContent === words) return;
  const close = element("button", { type: "button", onclick: () => shown.remove() }, "Dismiss");
  const shown = element("p", { class: "problem" }, element("span", {}, words), close);
  problems.appendChild(shown);
}

/**
 * Calls what brings a view up to date, one call at a time, always for the newest selection.
 * @param {View} view
 * @param {() => Selection} newest
 */
function updating(view, newest) {
  let running = false;
  let again = false;
  return async () => {
    again = true;
    if (running) return;
    running = true;
    while (again) {
      again = false;
      try {
        await view.update(newest());
      } catch (error) {
        report(error);
      }
    }
    running = false;
  };
}

async function start() {
  const embedded = JSON.parse(byId("embedded").textContent ?? "null");
  const ask = asking(embedded === null ? server() : inside(embedded));
  /** @type {Summary} */
  const summary = await ask("summary");

  let selection = beginning();
  let opened = selection;
  let limited = (/** @type {Selection} */ wanted) => wanted;
  /** @type {(() => void)[]} */
  const listeners = [];
  let planned = false;

  const changed = () => {
    if (planned) return;
    planned = true;
    // A slider moves more often than the screen is drawn.
    requestAnimationFrame(() => {
      planned = false;
      remember(selection);
      for (const listener of listeners) listener();
    });
  };
  /** @param {Selection} wanted */
  const go = (wanted) => {
    const next = limited(wanted);
    if (equal(next, selection)) return;
    selection = next;
    changed();
  };
  /** @type {Context} */
  const context = {
    summary,
    ask,
    get selection() {
      return selection;
    },
    get opening() {
      return opened;
    },
    select: (change) => go({ ...selection, ...change }),
    announce: (text) => fill(byId("announcements"), text),
  };

  const views = VIEWS.map((create) => create(context));
  limited = limiting(summary, views.map((view) => view.id));
  if (location.hash === "") selection = opened = limited(await opening(summary, ask));
  else selection = limited(read(location.hash));
  const tabs = createTabs(context, views);
  fill(byId("content"), ...views.map((view) => tabs.panel(view)));

  const above = ABOVE.map((create) => create(context));
  fill(byId("moment"), ...above.map((part) => part.element));
  const updates = new Map([...views, ...above].map((view) => [view, updating(view, () => selection)]));
  const shown = () => views.find((view) => view.id === selection.view) ?? views[0];
  listeners.push(() => {
    tabs.update();
    for (const view of [...above, shown()]) void updates.get(view)?.();
  });
  addEventListener("hashchange", () => go(read(location.hash)));

  document.title = `${summary.kernel}: tileir explorer`;
  fill(byId("title"), summary.kernel);
  fill(
    byId("facts"),
    element("span", {}, `grid ${summary.grid.join(" x ")}`),
    element("span", {}, summary.schedule),
    summary.title === summary.kernel ? null : element("span", {}, summary.title),
  );
  fill(byId("status"), sizes(summary));
  createTools(byId("tools"), context, shown, changed);
  changed();
}

/** @param {Summary} summary */
function sizes(summary) {
  const { accesses, bytes: size, limit } = summary.recording;
  const blocks = summary.grid[0] * summary.grid[1] * summary.grid[2];
  if (limit === 0) return `not run; tileir ${summary.version}`;
  return (
    `${counted(blocks, "tile block")}, ${counted(accesses, "access", "accesses")}, ` +
    `recording of ${bytes(size)} (at most ${bytes(limit)}); tileir ${summary.version}`
  );
}

/** @param {Selection} selection */
function remember(selection) {
  const hash = `#${written(selection)}`;
  if (location.hash === hash) return;
  try {
    // A change of view is a place to come back to; each step of a slider is not.
    const other = read(location.hash).view !== selection.view && location.hash !== "";
    history[other ? "pushState" : "replaceState"](null, "", hash);
  } catch {
    // A page inside of another one, as in a notebook, has no address of its own.
  }
}

addEventListener("error", (event) => report(event.error ?? event.message));
addEventListener("unhandledrejection", (event) => report(event.reason));
start().catch((error) => {
  byId("loading").remove();
  report(error);
});
