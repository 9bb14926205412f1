// The buttons of the header: pictures, dark and light, help; and the keys that work everywhere.

import { button, byId, element, table } from "explorer/elements.js";
import { savePicture } from "explorer/saving.js";

/**
 * @typedef {import("./types").Context} Context
 * @typedef {import("./types").View} View
 */

const KEYS = [
  ["1 .. 9", "the view with that number"],
  ["left, right", "among tabs, and among steps of the tile block where their slider has the focus; with Shift, tile blocks"],
  [", .", "a step back, a step forward"],
  ["< >", "the tile block before, the next one"],
  ["+ - 0", "in a picture: larger, smaller, all of it"],
  ["Tab", "from part to part"],
  ["?", "this list"],
  ["Escape", "close this list"],
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
    table("Keys that work everywhere; each view's own are said in it", ["Key", "What it does"], KEYS.map(([key, text]) => [element("kbd", {}, key), text])),
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
