/* Where are the parts of an object? Outlines, or what is to be seen of them: js/parts/page.js. */
import { start } from "../label.js";
import { showClass } from "../screen.js";
import { Page } from "../parts/page.js";

start((label) => {
  const page = new Page(label);
  return {
    show: showClass,
    mark() {},
    paint: (entry, slot) => page.paint(entry, slot),
    leave: () => page.leave(),
    // Drawings are large: going back to one after a reload asks the server for it.
    slim: ({ seat, topic, image, at }) => ({ seat, topic, image, at }),
    // Keys are routed by js/parts/keys.js before they come here.
    key: () => false,
  };
});
