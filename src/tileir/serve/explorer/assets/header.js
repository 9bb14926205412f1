// The buttons of the header: pictures, dark and light, help; and the keys that work everywhere.

import { button, byId, element, table } from "page/elements.js";
import { createTheme, isTyping } from "page/theme.js";
import { savePicture } from "explorer/saving.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").View} View
 */

const KEYS = [
  ["1 .. 9", "the view with that number"],
  [", and .", "a step back, a step on"],
  ["< and >", "the tile block before, the next one"],
  ["arrows, Home, End", "in sliders, tabs, tables, pictures and forms; in sliders with Shift: tile blocks"],
  ["Page Down, Page Up", "in sliders: the next access, the one before"],
  ["Space", "in sliders: play and pause"],
  ["+, -, 0", "in pictures: larger, smaller, whole"],
  ["Enter", "in pictures and forms: choose what is pointed at"],
  ["/", "in forms: find; n and p: the next change of an optimizer step, the one before"],
  ["?", "this list; Escape closes it"],
];

/**
 * @param {HTMLElement} place
 * @param {Context} context
 * @param {() => View} shown
 * @param {() => void} redraw
 */
export function createTools(place, context, shown, redraw) {
  const help = createHelp();
  const theme = createTheme(redraw);
  const svg = button("SVG", () => void savePicture(context, shown(), "svg"), { title: "Save this view's picture as SVG" });
  const png = button("PNG", () => void savePicture(context, shown(), "png"), { title: "Save this view's picture as PNG" });
  place.append(
    element("span", { class: "toolbar", role: "group", "aria-label": "Save the picture" }, svg, png),
    theme,
    button("?", () => help.showModal(), { "aria-label": "Keys", title: "Keys (?)" }),
  );
  byId("skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("content").focus();
  });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
    if (event.key === "?") {
      event.preventDefault();
      if (!help.open) help.showModal();
    } else if (/^[1-9]$/.test(event.key) && !help.open) {
      const tab = byId("tabs").children[Number(event.key) - 1];
      if (tab instanceof HTMLElement) {
        tab.focus();
        tab.click();
      }
    }
  });
}

function createHelp() {
  const close = button("Close", () => dialog.close(), { class: "primary" });
  const dialog = element(
    "dialog",
    { "aria-label": "Keys" },
    table("Keys", ["Key", "What it does"], KEYS.map(([key, text]) => [element("kbd", {}, key), text])),
    element("p", {}, close),
  );
  document.body.appendChild(dialog);
  return dialog;
}
