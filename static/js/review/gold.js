/* Draws the known answer of an object and sends it. HTML: templates/labeling/gold_draw.html. */
import { PartEditor } from "./part_editor.js";
import { one } from "../screen.js";

const form = one("[data-gold]");

new PartEditor({
  image: form.dataset.image,
  save(value) {
    one("[data-value]").value = JSON.stringify(value);
    form.requestSubmit();
  },
  leave: () => location.assign(form.dataset.back),
}).open();
