/* Where are the parts of an object? Outlines, or what is to be seen of them: js/parts/page.js. */
import { start } from "../label.js";
import { one } from "../screen.js";
import { Page } from "../parts/page.js";

start((label) => {
  const page = new Page(label);
  return {
    show(topic, again) {
      one("[data-article]").textContent = topic.article;
      const name = one("[data-class]");
      name.textContent = topic.name;
      name.classList.remove("changed");
      if (again) requestAnimationFrame(() => name.classList.add("changed"));
    },
    mark() {},
    paint: (entry, slot) => page.paint(entry, slot),
    leave: () => page.leave(),
    // Drawings are large: going back to one after a reload asks the server for it.
    slim: ({ seat, topic, image, at }) => ({ seat, topic, image, at }),
    // Keys are routed by js/parts/keys.js before they come here.
    key: () => false,
  };
});
