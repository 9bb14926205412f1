// Dark and light, and keys that are no typing.

import { button } from "page/elements.js";

/**
 * The button that changes between dark and light; pages begin as the system is.
 * @param {() => void} [redraw]
 */
export function createTheme(redraw = () => {}) {
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

/**
 * Whether keys go into a control.
 * @param {EventTarget | null} target
 */
export function isTyping(target) {
  return (
    target instanceof HTMLSelectElement ||
    target instanceof HTMLTextAreaElement ||
    (target instanceof HTMLInputElement && !["range", "checkbox", "radio", "button"].includes(target.type))
  );
}
