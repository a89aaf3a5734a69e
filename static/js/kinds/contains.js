/* Does this image contain a/an X? Four answers by key, number, touch or mouse.

   <span data-article> <strong data-class> <p data-gloss> <button data-answer data-key> */
import { start } from "../label.js";
import { one } from "../screen.js";

start((label) => {
  const buttons = [...document.querySelectorAll("[data-answer]")];
  for (const button of buttons) {
    button.addEventListener("click", () => label.answer(button.dataset.answer));
  }
  return {
    show(topic, again) {
      one("[data-article]").textContent = topic.article;
      const name = one("[data-class]");
      name.textContent = topic.name;
      one("[data-gloss]").textContent = topic.definition || "";
      // Another class than a moment ago must not go unnoticed.
      name.classList.remove("changed");
      if (again) requestAnimationFrame(() => name.classList.add("changed"));
    },
    mark(value) {
      for (const button of buttons) {
        button.setAttribute("aria-pressed", String(button.dataset.answer === value));
      }
    },
    key({ key }) {
      const button =
        buttons.find((candidate) => candidate.dataset.key === key.toLowerCase()) ||
        (/^[1-9]$/.test(key) && buttons[Number(key) - 1]);
      if (!button) return false;
      label.answer(button.dataset.answer);
      return true;
    },
  };
});
