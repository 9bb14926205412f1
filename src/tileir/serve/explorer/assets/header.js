// The buttons of the header: pictures, dark and light, help; and the keys that work everywhere.

import { button, byId, element, table } from "explorer/elements.js";
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

/** @param {EventTarget | null} target */
function isTyping(target) {
  return (
    target instanceof HTMLSelectElement ||
    target instanceof HTMLTextAreaElement ||
    (target instanceof HTMLInputElement && !["range", "checkbox", "radio", "button"].includes(target.type))
  );
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

/** @param {() => void} redraw */
function createTheme(redraw) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  let wanted = remembered();
  const apply = () => {
    const dark = wanted === null ? system.matches : wanted === "dark";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    toggle.textContent = dark ? "Light" : "Dark";
    toggle.title = dark ? "Light colours" : "Dark colours";
    redraw();
  };
  const toggle = button("", () => {
    wanted = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("tileir-theme", wanted);
    } catch {
      // Pages from files and inside of others may keep nothing.
    }
    apply();
  });
  system.addEventListener("change", apply);
  apply();
  return toggle;
}

function remembered() {
  try {
    const theme = localStorage.getItem("tileir-theme");
    return theme === "dark" || theme === "light" ? theme : null;
  } catch {
    return null;
  }
}
