/* Does this image contain a/an X? Four answers by key, number, touch or mouse.

   <span data-article> <strong data-class> <p data-gloss> <button data-answer data-key> */
import { answerButtons, start } from "../label.js";
import { one, showClass } from "../screen.js";

start((label) => ({
  show(topic, again) {
    showClass(topic, again);
    one("[data-gloss]").textContent = topic.definition || "";
  },
  ...answerButtons(label, true),
}));
