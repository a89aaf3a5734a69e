/* Does this image contain a/an X? Four answers by key, number, touch or mouse; yes and no by a swipe.

   <span data-article> <strong data-class> <p data-gloss> <button data-answer data-key> */
import { answerButtons, start } from "../label.js";
import { one, showClass } from "../screen.js";
import { attachSwipes } from "../swipe.js";

start((label) => {
  const buttons = answerButtons(label, true);
  const words = { left: buttons.wordOf("no"), right: buttons.wordOf("yes") };
  attachSwipes(label, words, (side) => label.answer(side === "left" ? "no" : "yes", "swipe"));
  return {
    show(topic, again) {
      showClass(topic, again);
      one("[data-gloss]").textContent = topic.definition || "";
    },
    ...buttons,
  };
});
