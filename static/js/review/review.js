/* The review of a drawing: people's outlines shown and hidden, a correction drawn on the same page and
   sent as the verdict, Ctrl + Enter for a note. HTML: templates/labeling/review_parts.html. */
import "./layers.js";
import { PartEditor } from "./part_editor.js";
import { one } from "../screen.js";

const review = one("[data-review]");
const correct = one("[data-correct]");

const editor = new PartEditor({
  image: review.querySelector("image").getAttribute("href"),
  save(value) {
    const field = one("[data-value]");
    field.disabled = false;
    field.value = JSON.stringify(value);
    one("#decide").requestSubmit();
  },
  leave() {
    review.hidden = false;
    correct.focus();
  },
});

function draw() {
  review.hidden = true;
  editor.open();
}

correct.addEventListener("click", draw);
one("#id_note")?.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});
if (editor.setup.begin) draw();
