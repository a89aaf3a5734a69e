/* On the home page: sends what this browser still holds of each campaign, and says so.

   <li data-campaign data-user data-answers="url"> … <p data-unsent hidden></p></li> */
import { gettext, ngettext, sentences } from "./language.js";
import { Outbox } from "./outbox.js";

for (const card of document.querySelectorAll("[data-campaign]")) {
  const { campaign, user, answers } = card.dataset;
  const outbox = new Outbox({ user: Number(user), campaign, url: answers });
  const words = card.querySelector("[data-unsent]");
  const tell = () => {
    const unsent = outbox.pending().length;
    const refused = outbox.refused().length;
    const parts = [];
    if (unsent) parts.push(ngettext("%(count)s answer is not sent yet.", "%(count)s answers are not sent yet.", unsent));
    if (unsent && outbox.message) parts.push(outbox.message);
    if (refused) parts.push(gettext("%(count)s not taken; continue to see why.", { count: refused }));
    words.textContent = sentences(...parts);
    words.hidden = !parts.length;
  };
  outbox.addEventListener("change", tell);
  tell();
  outbox.retry();
}
