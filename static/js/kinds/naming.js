/* What does this image show? A searchable list of classes, none of them, or too hard to tell.

   [data-combobox] <input role="combobox"> <ul role="listbox">, [data-no-match], [data-vocabulary] a select
   with all classes (what remains without scripts), [data-answer] buttons, [data-given] <strong>.
   Keys as in the ARIA combobox pattern; "/" goes to the field. The list opens on letters, ↑, ↓ or a click. */
import { answerButtons, start } from "../label.js";
import { one } from "../screen.js";
import { holdFocus } from "../search_field.js";

const MOST = 50;

const fold = (text) =>
  text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replaceAll("ß", "ss");

/* Classes that match every word: those whose name begins so first, then a word of it, then any. */
export function search(classes, query) {
  const wanted = fold(query).split(/\s+/).filter(Boolean);
  const rank = ({ folded }) => {
    if (!wanted.every((word) => folded.includes(word))) return -1;
    if (!wanted.length || folded.startsWith(wanted.join(" "))) return 0;
    return wanted.every((word) => ` ${folded}`.includes(` ${word}`)) ? 1 : 2;
  };
  return classes
    .map((entry) => ({ entry, rank: rank(entry) }))
    .filter((found) => found.rank >= 0)
    .sort((a, b) => a.rank - b.rank)
    .map((found) => found.entry);
}

start((label) => {
  const classes = [...one("[data-vocabulary]").options]
    .filter((option) => option.dataset.key)
    .map((option) => ({ key: option.dataset.key, name: option.text, folded: fold(option.text) }));
  const names = new Map(classes.map(({ key, name }) => [key, name]));
  const box = one("[data-combobox]");
  const field = box.querySelector("input");
  const list = box.querySelector("[role=listbox]");
  const buttons = answerButtons(label);
  let found = [];
  let active = -1;
  let browsing = false;

  function draw() {
    const typed = field.value.trim() !== "";
    const open = document.activeElement === field && found.length > 0 && (typed || browsing);
    one("[data-no-match]").hidden = !typed || found.length > 0;
    list.hidden = !open;
    field.setAttribute("aria-expanded", String(open));
    list.replaceChildren(
      ...found.slice(0, MOST).map((entry, index) => {
        const option = document.createElement("li");
        option.id = `class-${index}`;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", String(index === active));
        option.textContent = entry.name;
        option.dataset.index = index;
        return option;
      }),
    );
    const chosen = open && active >= 0 ? list.children[active] : null;
    if (chosen) {
      field.setAttribute("aria-activedescendant", chosen.id);
      chosen.scrollIntoView({ block: "nearest" });
    } else field.removeAttribute("aria-activedescendant");
  }

  function look(all = false) {
    browsing = all;
    found = search(classes, field.value);
    active = field.value.trim() && found.length ? 0 : -1;
    draw();
  }

  function take(entry) {
    if (entry && label.answer({ key: entry.key })) {
      field.value = "";
      look();
    }
  }

  function move(step) {
    const count = Math.min(found.length, MOST);
    browsing = true;
    if (count) active = (active + step + count + (active < 0 && step < 0 ? 1 : 0)) % count;
    draw();
  }

  one("[data-plain]").remove();
  box.hidden = false;
  field.addEventListener("input", () => look());
  field.addEventListener("focus", () => look());
  field.addEventListener("click", () => look(true));
  field.addEventListener("blur", draw);
  field.addEventListener("keydown", (event) => {
    const action = {
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
      Enter: () => take(found[active]),
      Escape: () => (field.value ? ((field.value = ""), look()) : field.blur()),
      "/": () => {},
    }[event.key];
    if (!action || event.isComposing) return;
    event.preventDefault();
    action();
  });
  // The field keeps the focus while an option is pressed, so the list stays.
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[data-index]");
    if (option) take(found[Number(option.dataset.index)]);
  });
  holdFocus(field);

  return {
    show() {},
    mark(value) {
      const named = one("[data-given]");
      named.hidden = !value?.key;
      if (value?.key) named.querySelector("strong").textContent = names.get(value.key) || value.key;
      buttons.mark(value);
    },
    key(event) {
      return event.key === "/" ? (field.focus(), true) : buttons.key(event);
    },
  };
});
