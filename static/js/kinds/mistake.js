/* Is this class right for the image? Four answers, and tags that go with the one that is given.

   <span data-article> <strong data-class> <p data-gloss> <button data-answer data-key>,
   <details data-tags> with <b data-tagged> and <input type="checkbox" data-tag="key" value> */
import { gettext } from "../language.js";
import { answerButtons, start } from "../label.js";
import { murmur, one, showClass } from "../screen.js";
import { keep, recall } from "../storage.js";

const SETTING = "assay:tags";

start((label) => {
  const panel = one("[data-tags]");
  const boxes = [...panel.querySelectorAll("[data-tag]")];
  const chosen = () => boxes.filter((box) => box.checked);
  const nameOf = (box) => box.closest("label").querySelector("span").textContent;
  let seat = null;

  function summarize() {
    one("[data-tagged]").textContent = chosen().map(nameOf).join(", ");
  }

  function tagged(answer) {
    const tags = chosen().map((box) => box.value);
    return tags.length ? { answer, tags } : answer;
  }

  panel.open = (recall(SETTING) ?? (matchMedia("(min-width: 64rem)").matches ? "open" : "closed")) === "open";
  panel.addEventListener("toggle", () => keep(SETTING, panel.open ? "open" : "closed"));
  panel.addEventListener("change", summarize);
  const buttons = answerButtons(label, true, tagged);

  return {
    show(topic, again) {
      showClass(topic, again);
      one("[data-gloss]").textContent = topic.definition || "";
    },
    mark(value) {
      const now = label.current()?.seat;
      // What was ticked for an image stays while the page draws itself again.
      if (now !== seat) {
        const tags = value?.tags ?? [];
        for (const box of boxes) box.checked = tags.includes(box.value);
        summarize();
      }
      seat = now;
      buttons.mark(value?.answer ?? value);
    },
    wordOf: (value) => buttons.wordOf(value?.answer ?? value),
    key(event) {
      const key = event.key.toLowerCase();
      if (key === "q") return ((panel.open = !panel.open), true);
      const box = boxes.find((candidate) => candidate.dataset.tag === key);
      if (!box) return buttons.key(event);
      box.checked = !box.checked;
      summarize();
      murmur(box.checked
        ? gettext("%(name)s: chosen", { name: nameOf(box) })
        : gettext("%(name)s: not chosen", { name: nameOf(box) }));
      return true;
    },
  };
});
