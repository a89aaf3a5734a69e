/* A search field beside keys: while it has the focus letters type, and Alt + letter is the letter's key.
   HTML: <input data-search> in a form; its badges are <kbd class="letter"> (css/label.css). */

const touch = matchMedia("(hover: none) and (pointer: coarse)");

/* Focuses the field, except on touch, where the keyboard would cover the image. */
export function focusSearch(field) {
  if (!touch.matches) field.focus();
}

/* Focuses the field and leaves the focus there while buttons or the image are pressed. */
export function holdFocus(field) {
  field.form.addEventListener("mousedown", (event) => event.target.closest("button, [data-stage]") && event.preventDefault());
  focusSearch(field);
}

/* Return the letter of Alt + letter in a search field; undefined for other keys and elsewhere. */
export function altLetter({ altKey, ctrlKey, metaKey, key, code, target }) {
  if (!altKey || ctrlKey || metaKey || !target.matches?.("[data-search]")) return undefined;
  // A Mac writes other characters with Alt: there the position says which letter it is.
  return (/^[a-z]$/i.test(key) ? key : /^Key([A-Z])$/.exec(code)?.[1])?.toLowerCase();
}
