/* The dialog that flags the image on the screen to the researchers: templates/annotator/_flag.html.

   label.flaggable: the seat that the flag is about, null where there is none. What was typed stays until
   it has arrived; the same note sent twice is one flag. */
import { gettext } from "./language.js";
import { newId, post } from "./outbox.js";
import { announce, one } from "./screen.js";

export function attachFlag(label) {
  const form = one("[data-flag-note]");
  const buttons = [...document.querySelectorAll("[data-do='flag']")];
  if (!form || !label.setup.urls.flag) return;
  const dialog = form.closest("dialog");
  const trouble = one("[data-flag-trouble]");
  let [seat, id] = [null, newId()];

  const open = () => {
    if (!label.flaggable) return announce(gettext("There is no image to flag."));
    if (seat !== label.flaggable) [seat, id] = [label.flaggable, newId()];
    trouble.hidden = true;
    dialog.showModal();
    form.elements.note.focus();
  };
  label.actions = { ...label.actions, flag: open };
  for (const button of buttons) button.hidden = false;

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("[type=submit]");
    button.disabled = true;
    const { user, urls } = label.setup;
    const reply = await post(urls.flag, { user, id, seat, note: form.elements.note.value });
    button.disabled = false;
    if (reply.status === 200) {
      form.reset();
      id = newId();
      dialog.close();
      announce(gettext("Sent. The reply of the researchers appears on your home page."));
      return;
    }
    trouble.hidden = false;
    trouble.textContent =
      reply.body?.message || gettext("No connection. Your note stays here; send it again when it is back.");
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}
