/* Training and test of drawings: the page of a drawing for one seat, sent as an ordinary form.

   HTML: templates/annotator/training_parts.html. */
import { Images } from "../images.js";
import { attachKeys, attachPanels } from "../panels.js";
import { Clock, one, words } from "../screen.js";
import { Page } from "./page.js";

const setup = JSON.parse(document.getElementById("setup").textContent);
const form = one("[data-work]");
const clock = new Clock();

/* What the page asks of label.js, where there is one seat and no way back. */
class Lesson {
  constructor() {
    Object.assign(this, { setup, topics: setup.topics, queue: setup.seats, past: [] });
    this.outbox = Object.assign(new EventTarget(), { pending: () => [] });
  }

  answer(value) {
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name: "value", value: JSON.stringify(value) });
    form.append(field);
    form.elements.duration_ms.value = clock.elapsed();
    form.enctype = "multipart/form-data";
    form.submit();
    return true;
  }

  skip() {}
  back() {}
  forward() {}
  key() {
    return false;
  }
}

const lesson = new Lesson();
const page = new Page(lesson);
document.documentElement.classList.add("scripted");
for (const element of document.querySelectorAll(".no-script")) element.remove();
attachPanels(lesson);
attachKeys(lesson);

const note = one("[data-stage-note]");
note.hidden = false;
note.textContent = words.loading;
const [entry] = setup.seats;
const slot = new Images().load(entry);
slot.done.then(async () => {
  if (slot.state !== "ready") return void (note.textContent = words.notOpened);
  note.hidden = true;
  await page.paint(entry, slot);
  clock.start();
});
