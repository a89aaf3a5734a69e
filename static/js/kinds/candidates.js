/* Which candidates contain a/an X? A page of images, each a yes, a no or too hard.

   <span data-article> <strong data-class> <span data-gloss> <a data-gloss-url> <p data-guidance>
   <span data-apart> in a paragraph that is hidden where there is nothing to tell apart. */
import { startGrid } from "../grid.js";
import { one, showClass } from "../screen.js";

startGrid({
  ask(topic, again) {
    showClass(topic, again);
    one("[data-gloss]").textContent = topic.definition || "";
    const link = one("[data-gloss-url]");
    link.hidden = !topic.url;
    if (topic.url) link.href = topic.url;
    one("[data-guidance]").textContent = topic.guidance || "";
    const apart = one("[data-apart]");
    apart.textContent = (topic.siblings || []).map(({ name }) => name).join(", ");
    apart.parentElement.hidden = !topic.siblings?.length;
  },
});
