/* Which of these contain a/an X? A page of images, each a yes, a no or too hard.

   <span data-article> <strong data-class> <p data-gloss> <p data-guidance> */
import { startGrid } from "../grid.js";
import { one, showClass } from "../screen.js";

startGrid({
  ask(topic, again) {
    showClass(topic, again);
    one("[data-gloss]").textContent = topic.definition || "";
    one("[data-guidance]").textContent = topic.guidance || "";
  },
});
