/* Training and test of kinds whose answers are made on the page: the page for one seat, sent as an
   ordinary form.

   teach((lesson) => page): `lesson` stands in for label.js, page.paint(entry, slot) shows the seat.
   HTML: templates/annotator/training_parts.html. */
import { Images } from "./images.js";
import { attachKeys, attachPanels } from "./panels.js";
import { Clock, holdTools, one, words } from "./screen.js";

/* What a page asks of label.js, where there is one seat and no way back. */
class Lesson {
  constructor(setup, form, clock) {
    Object.assign(this, { setup, form, clock, topics: setup.topics, queue: setup.seats, past: [] });
    this.outbox = Object.assign(new EventTarget(), { pending: () => [] });
  }

  answer(value) {
    const field = document.createElement("input");
    const text = typeof value === "string" ? value : JSON.stringify(value);
    Object.assign(field, { type: "hidden", name: "value", value: text });
    this.form.append(field);
    this.form.elements.duration_ms.value = this.clock.elapsed();
    this.form.enctype = "multipart/form-data";
    this.form.submit();
    return true;
  }

  skip() {}
  back() {}
  forward() {}
  key() {
    return false;
  }
}

export function teach(pageOf) {
  const setup = JSON.parse(document.getElementById("setup").textContent);
  const clock = new Clock();
  const lesson = new Lesson(setup, one("[data-work]"), clock);
  const page = pageOf(lesson);
  document.documentElement.classList.add("scripted");
  for (const element of document.querySelectorAll(".no-script")) element.remove();
  attachPanels(lesson);
  attachKeys(lesson);

  const note = one("[data-stage-note]");
  note.hidden = false;
  holdTools(true);
  note.textContent = words.loading;
  const [entry] = setup.seats;
  const slot = new Images().load(entry);
  slot.done.then(async () => {
    if (slot.state !== "ready") return void (note.textContent = words.notOpened);
    note.hidden = true;
    holdTools(false);
    await page.paint(entry, slot);
    clock.start();
  });
}
