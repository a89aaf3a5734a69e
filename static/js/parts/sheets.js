/* What is asked before something is sent or taken: templates/annotator/_parts_sheets.html. */
import { one } from "../screen.js";

const time = (at) => new Date(at).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" });

export class Sheets {
  constructor(page) {
    this.cannot = one("#cannot");
    this.unsaid = one("#unsaid");
    this.two = one("#two-drafts");
    for (const button of this.cannot.querySelectorAll("[data-skip]")) {
      button.addEventListener("click", () => page.skip(button.dataset.skip));
    }
    one("[data-submit-anyway]").addEventListener("click", () => this.#anyway(page));
    this.unsaid.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.shiftKey) event.preventDefault(), this.#anyway(page);
    });
    for (const button of this.two.querySelectorAll("[data-take]")) {
      button.addEventListener("click", () => {
        this.two.close();
        page.choosesDraft(button.dataset.take);
      });
    }
    // One of the two must be taken before anything else is drawn.
    this.two.addEventListener("cancel", (event) => event.preventDefault());
    this.#byKey(this.cannot, "[data-skip]", "skipKey");
    this.#byKey(this.two, "[data-take]", "takeKey");
    for (const dialog of [this.cannot, this.unsaid, this.two]) {
      dialog.addEventListener("close", () => page.focus());
    }
  }

  #byKey(dialog, selector, name) {
    dialog.addEventListener("keydown", (event) => {
      const buttons = [...dialog.querySelectorAll(selector)];
      const chosen = buttons.find((button) => button.dataset[name] === event.key);
      if (!chosen) return;
      // The sheet closes, and the same press must not go on to the page below.
      event.preventDefault();
      chosen.click();
    });
  }

  #anyway(page) {
    this.unsaid.close();
    page.submit(true);
  }

  askWhy(hasDrawn) {
    one("[data-cannot-drawn]").hidden = !hasDrawn;
    this.cannot.showModal();
  }

  /* names: of parts of which nothing was said; pairs: that overlap and should not; "" for none. */
  askAnyway(names, pairs) {
    one("[data-unsaid-names]").textContent = names;
    one("[data-unsaid-some]").hidden = !names;
    one("[data-overlap-pairs]").textContent = pairs;
    one("[data-overlap-some]").hidden = !pairs;
    this.unsaid.showModal();
  }

  askWhich({ mine, theirs }) {
    one("[data-mine-words]").textContent = mine.at ? `, changed ${time(mine.at)}` : "";
    one("[data-theirs-words]").textContent = theirs.saved_at ? `, saved ${time(theirs.saved_at)}` : "";
    if (!this.two.open) this.two.showModal();
  }

  close() {
    for (const dialog of [this.cannot, this.unsaid, this.two]) if (dialog.open) dialog.close();
  }
}
