/* Which of these contain a/an X? A page of images, each a yes, a no or too hard.

   <span data-article> <strong data-class> <p data-gloss> <p data-guidance> */
import { startGrid } from "../grid.js";
import { one } from "../screen.js";

startGrid({
  ask(topic, again) {
    one("[data-article]").textContent = topic.article;
    const name = one("[data-class]");
    name.textContent = topic.name;
    one("[data-gloss]").textContent = topic.definition || "";
    one("[data-guidance]").textContent = topic.guidance || "";
    // Another question than a moment ago must not go unnoticed.
    name.classList.remove("changed");
    if (again) requestAnimationFrame(() => name.classList.add("changed"));
  },
});
