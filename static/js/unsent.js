/* On the home page: sends what this browser still holds of each campaign, and says so.

   <li data-campaign data-user data-answers="url"> … <p data-unsent hidden></p></li> */
import { Outbox } from "./outbox.js";

for (const card of document.querySelectorAll("[data-campaign]")) {
  const { campaign, user, answers } = card.dataset;
  const outbox = new Outbox({ user: Number(user), campaign, url: answers });
  const words = card.querySelector("[data-unsent]");
  const tell = () => {
    const unsent = outbox.pending().length;
    const refused = outbox.refused().length;
    const parts = [];
    if (unsent) parts.push(`${unsent} ${unsent === 1 ? "answer is" : "answers are"} not sent yet.`);
    if (unsent && outbox.message) parts.push(outbox.message);
    if (refused) parts.push(`${refused} not taken; continue to see why.`);
    words.textContent = parts.join(" ");
    words.hidden = !parts.length;
  };
  outbox.addEventListener("change", tell);
  tell();
  outbox.retry();
}
