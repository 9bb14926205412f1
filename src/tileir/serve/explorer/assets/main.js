// Puts the page together: asks for the summary and makes the views.

import { createView as createCost } from "explorer/cost.js";
import { answersInside, answersOfServer, cached, unpack } from "explorer/data.js";
import { createView as createFindings } from "explorer/findings.js";
import { createView as createForms } from "explorer/forms.js";
import { createHints } from "explorer/hints.js";
import { createView as createMemory } from "explorer/memory.js";
import { createView as createOverview } from "explorer/overview.js";
import { BEGINNING, firstState, limitedState } from "explorer/state.js";
import { createTimeline } from "explorer/timeline.js";
import { createView as createValues } from "explorer/values.js";
import { button, byId, element, fill, hasModifier, isTyping, table } from "page/elements.js";
import { bytes, counted } from "page/numbers.js";
import { announce, createTheme, embedded, readState, showViews, startPage } from "page/page.js";
import { savePicture } from "page/shapes.js";

/** The views, in the order of their tabs: a line for each. */
const VIEWS = [createOverview, createForms, createMemory, createValues, createFindings, createCost];

const KEYS = [
  ["1 .. 9", "the view with that number"],
  [", and .", "a step back, a step on"],
  ["< and >", "the tile block before, the next one"],
  ["arrows, Home, End", "in sliders, tabs, tables, pictures and stages; in sliders with Shift: tile blocks"],
  ["Page Down, Page Up", "in sliders: the next access, the one before"],
  ["Space", "in sliders: play and pause"],
  ["+, -, 0", "in pictures: larger, smaller, whole"],
  ["Enter", "in pictures and stages: choose what is pointed at"],
  ["/", "in stages: find; n and p: the next change of an optimizer step, the one before"],
  ["?", "hints and keys; Escape closes them"],
];

async function main() {
  const carried = embedded();
  const ask = cached(carried === null ? answersOfServer : answersInside(carried.bundles));
  const summary = /** @type {Summary} */ (await ask("summary"));
  /** @type {Context} */
  const context = {
    summary,
    ask,
    order: unpack(summary.recording.order),
    steps: unpack(summary.recording.steps),
    state: BEGINNING,
    opening: BEGINNING,
    select() {},
    async executed(place) {
      const { operation } = /** @type {Steps} */ (await ask("steps", { block: context.order[place] }));
      return unpack(operation);
    },
    announce,
  };
  const views = VIEWS.map((create) => create(context));
  const limited = (/** @type {ViewState} */ state) => limitedState(context, views, state);
  const isOpening = location.hash === "";
  if (isOpening) context.state = context.opening = limited(await firstState(context));
  else context.state = limited(readState(location.hash, BEGINNING));
  const timeline = createTimeline(context);
  byId("moment").append(timeline.element);
  const { shown, redraw } = showViews(context, views, BEGINNING, limited, ["view"], [timeline]);

  const { kernel, title } = summary;
  document.title = `${["", kernel].includes(title) ? kernel : `${kernel} in ${title}`}: tileir explorer`;
  fill(byId("title"), kernel);
  const facts = [title === kernel ? "" : title, `grid ${summary.grid.join(" x ")}`, summary.schedule];
  fill(byId("facts"), ...facts.filter((text) => text !== "").map((text) => element("span", text)));
  fill(byId("status"), sizes(summary));
  byId("tools").append(pictureButtons(summary, shown), createTheme(redraw), createHelp(createHints(context, isOpening)));
}

/** @param {Summary} summary */
function sizes({ grid, recording, version }) {
  if (recording.limit === 0) return `not run; tileir ${version}`;
  const counts = `${counted(grid[0] * grid[1] * grid[2], "tile block")}, ${counted(recording.accesses, "access", "accesses")}`;
  return `${counts}, recording of ${bytes(recording.bytes)} (at most ${bytes(recording.limit)}); tileir ${version}`;
}

/** @param {Summary} summary @param {() => View} shown */
function pictureButtons({ kernel }, shown) {
  const buttons = /** @type {const} */ (["svg", "png"]).map((kind) => {
    const save = () => {
      const { picture, title, id } = shown();
      const drawn = picture?.() ?? null;
      if (drawn === null) announce(`The view ${title} has no picture to save at this step.`);
      else void savePicture(drawn, `${kernel}-${id}`, kind);
    };
    return button(kind.toUpperCase(), save, { title: `Save this view's picture as ${kind.toUpperCase()}` });
  });
  return element("span.toolbar", { role: "group", "aria-label": "Save the picture" }, ...buttons);
}

/** @param {() => void} showHints */
function createHelp(showHints) {
  const rows = KEYS.map(([key, text]) => [element("kbd", key), text]);
  const again = () => (dialog.close(), showHints());
  const buttons = [button("Show the hints", again, { class: "primary" }), button("Close", () => dialog.close())];
  const list = table("Keys", ["Key", "What it does"], rows);
  const dialog = element("dialog", { "aria-label": "Help" }, element("div.toolbar", ...buttons), list);
  document.body.appendChild(dialog);
  addEventListener("keydown", (event) => {
    if (event.key !== "?" || hasModifier(event) || isTyping(event.target)) return;
    event.preventDefault();
    if (!dialog.open) dialog.showModal();
  });
  return button("?", () => dialog.showModal(), { "aria-label": "Help", title: "Hints and keys (?)" });
}

startPage(main);
