/* What does this image show? Up to a few classes, the surest first (naming/picker.js), none of them, or too hard.

   [data-picker] as the picker has it, with [data-send] and [data-answer] buttons. */
import { answerButtons, start } from "../label.js";
import { one } from "../screen.js";
import { Picker } from "../naming/picker.js";

start((label) => {
  const picker = new Picker(one("[data-picker]"));
  const buttons = answerButtons(label);
  one("[data-send]").addEventListener("click", (event) => {
    event.preventDefault();
    if (picker.keys.length) label.answer({ keys: [...picker.keys] });
    else picker.field.focus();
  });
  let shown = null;

  return {
    show() {},
    mark(value) {
      const seat = label.current()?.seat;
      // Drawn again for the same image, what is chosen stays.
      if (seat === shown && value === undefined) return;
      shown = seat;
      picker.clear(value?.keys ?? []);
      buttons.mark(value);
    },
    key: (event) => picker.key(event),
  };
});
