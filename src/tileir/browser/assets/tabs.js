// The row of tabs: one is in the order of the Tab key, arrows move among them.

import { byId, element } from "page/elements.js";

/**
 * @typedef {{ id: string, title: string, element: HTMLElement }} View
 */

/**
 * @param {{ readonly selection: { view: string }, select: (change: { view: string }) => void }} context
 * @param {View[]} views
 */
export function createTabs(context, views) {
  const buttons = views.map((view) =>
    element(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${view.id}`,
        "aria-controls": `view-${view.id}`,
        onclick: () => context.select({ view: view.id }),
        onkeydown: (/** @type {KeyboardEvent} */ event) => move(event, views.indexOf(view)),
      },
      view.title,
    ),
  );
  byId("tabs").append(...buttons);

  /**
   * @param {KeyboardEvent} event
   * @param {number} from
   */
  function move(event, from) {
    const last = views.length - 1;
    /** @type {Record<string, number>} */
    const targets = {
      ArrowRight: from === last ? 0 : from + 1,
      ArrowLeft: from === 0 ? last : from - 1,
      Home: 0,
      End: last,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    buttons[target].focus();
    context.select({ view: views[target].id });
  }

  return {
    /**
     * What a tab shows.
     * @param {View} view
     */
    panel(view) {
      view.element.id = `view-${view.id}`;
      view.element.classList.add("view");
      view.element.setAttribute("role", "tabpanel");
      view.element.setAttribute("aria-labelledby", `tab-${view.id}`);
      view.element.hidden = true;
      return view.element;
    },
    update() {
      let leaving = false;
      for (const [index, view] of views.entries()) {
        const chosen = view.id === context.selection.view;
        if (chosen && buttons[index].getAttribute("aria-selected") !== "true") {
          // On a narrow screen tabs scroll.
          buttons[index].scrollIntoView({ block: "nearest", inline: "nearest" });
        }
        buttons[index].setAttribute("aria-selected", String(chosen));
        buttons[index].tabIndex = chosen ? 0 : -1;
        const hadFocus = view.element.contains(document.activeElement);
        view.element.hidden = !chosen;
        leaving ||= hadFocus && !chosen;
      }
      // What led to another view is hidden with its own: the keyboard goes on from there, and the view's name is said.
      if (leaving) buttons.find((one) => one.tabIndex === 0)?.focus();
    },
  };
}
