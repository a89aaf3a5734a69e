/* A key for what can be clicked or typed into: <a data-key="n">, <button data-key="y">,
   <label data-key="b"> of a box to tick, <input data-key="/">, <select data-key="m">. A key typed into
   a field, or with Ctrl, Alt or Meta, is left alone; of a slider only those that move it. In a search
   field Alt + letter is the letter's key. */
import { altLetter } from "./search_field.js";

function isTyping(target, key) {
  if (target.matches("input[type=range]")) return key.length > 1;
  return target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]");
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.repeat) return;
  const letter = altLetter(event);
  if (!letter && (event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target, event.key))) return;
  // Enter belongs to what has the focus.
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  const goal = [...document.querySelectorAll("[data-key]")].find(
    (element) => element.dataset.key === (letter ?? event.key.toLowerCase()) && element.getClientRects().length,
  );
  if (!goal) return;
  event.preventDefault();
  if (goal.matches("input")) {
    goal.focus();
    goal.select();
  } else if (goal.matches("select")) {
    goal.focus();
  } else {
    goal.click();
  }
});
