/* Where is every instance of a class? Draw a box, check one, look for more: js/boxes/page.js. */
import { start } from "../label.js";
import { Page } from "../boxes/page.js";

start((label) => {
  const page = new Page(label);
  return {
    show: (topic, again) => page.showTopic(topic, again),
    mark() {},
    paint: (entry, slot) => page.paint(entry, slot),
    leave: () => page.leave(),
    // Keys are routed by js/parts/keys.js before they come here.
    key: () => false,
  };
});
