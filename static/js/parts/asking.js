/* Asks the campaign's model what is meant of a part, one request at a time, the latest prompts next.

   Drawing by hand goes on meanwhile, and whatever the model lacks is a sentence and nothing more.
   `page` has setup, drawing, labels, changed(). HTML: templates/annotator/_parts_rail.html. */
import { post } from "../outbox.js";
import { gettext } from "../language.js";
import { announce, one } from "../screen.js";


export class Asking {
  #entry = null;
  #drawing = null;
  #waiting = null; // what to ask once the answer under way is there
  #busy = false;

  constructor(page) {
    this.page = page;
  }

  /* Another object is on the screen. */
  begin(entry) {
    const { drawing } = this.page;
    [this.#entry, this.#drawing, this.#waiting] = [entry, drawing, null];
    drawing.addEventListener("proposal", ({ detail }) => this.#offer(detail.waits));
    drawing.addEventListener("ask", ({ detail }) => this.#ask(detail));
    drawing.addEventListener("taken", ({ detail }) => this.#taken(detail));
    drawing.addEventListener("refused", () => this.#forget());
  }

  end() {
    this.#forget();
    this.#offer(false);
    this.#entry = this.#drawing = null;
  }

  use() {
    if (!this.#entry?.assisted) announce(gettext("This one is drawn without the model."));
    else this.page.drawing.use("ask");
  }

  #forget() {
    this.#waiting = null;
    this.#show();
  }

  async #ask(wanted) {
    this.#waiting = wanted;
    this.#show();
    if (this.#busy) return;
    while (this.#waiting) {
      const [{ key, prompts }, entry, drawing] = [this.#waiting, this.#entry, this.#drawing];
      this.#waiting = null;
      this.#busy = true;
      const { setup } = this.page;
      const reply = await post(setup.propose_url, { user: setup.user, seat: entry.seat, part: key, prompts });
      this.#busy = false;
      if (drawing === this.#drawing && !this.#waiting) this.#answer(drawing, key, reply);
    }
    this.#show();
  }

  #answer(drawing, key, { status, body }) {
    drawing.propose(key, status === 200 ? body : null);
    if (status !== 200) announce((status && body?.message) || gettext("The model is not available now. Draw the part by hand."));
  }

  #taken({ key, proposal }) {
    this.page.labels.take(key, proposal);
    this.page.changed();
  }

  /* Take and Refuse, for hands without keys. */
  #offer(waits) {
    const place = one("[data-proposal]");
    if (place) place.hidden = !waits;
  }

  take() {
    this.page.drawing?.takeProposal();
    this.page.focus();
  }

  refuse() {
    this.page.drawing?.refuseProposal();
    this.page.focus();
  }

  #show() {
    const tool = one('[data-do="tool-ask"].tool');
    tool?.setAttribute("aria-busy", String(this.#busy || Boolean(this.#waiting)));
  }
}
