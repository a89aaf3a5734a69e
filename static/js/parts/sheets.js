/* What is asked before something is sent or taken: templates/annotator/_parts_sheets.html. */
import { gettext, locale } from "../language.js";
import { one } from "../screen.js";

const time = (at) => new Date(at).toLocaleString(locale(), { dateStyle: "short", timeStyle: "short" });

/* The sheet of templates/annotator/_parts_incomplete.html; `send` is called where people send all the same, `skip`
   where they say that fewer than half of the parts can be drawn. */
export class IncompleteDialog {
  constructor(send, focus, skip = null) {
    this.dialog = one("#incomplete");
    const sendAnyway = () => {
      this.dialog.close();
      send();
    };
    one("[data-submit-anyway]").addEventListener("click", sendAnyway);
    one("[data-skip-half]").addEventListener("click", skip);
    this.dialog.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.shiftKey) event.preventDefault(), sendAnyway();
    });
    this.dialog.addEventListener("close", focus);
  }

  /* names: of parts without a label; pairs: that overlap and should not; "" for none. few: whether more
     than half of the parts are without a label. */
  ask(names, pairs, few = false) {
    for (const place of this.dialog.querySelectorAll("[data-few]")) place.hidden = !few;
    one("[data-unlabeled-names]").textContent = names;
    one("[data-unlabeled-some]").hidden = !names;
    one("[data-overlap-pairs]").textContent = pairs;
    one("[data-overlap-some]").hidden = !pairs;
    this.dialog.showModal();
  }
}

export class Sheets {
  constructor(page) {
    this.cannot = one("#cannot");
    this.incomplete = new IncompleteDialog(() => page.submit(true), () => page.focus(), () => page.skip("under_half"));
    this.two = one("#two-drafts");
    for (const button of this.cannot.querySelectorAll("[data-skip]")) {
      button.addEventListener("click", () => page.skip(button.dataset.skip));
    }
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
    for (const dialog of [this.cannot, this.two]) {
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

  askWhy(hasDrawn) {
    one("[data-cannot-drawn]").hidden = !hasDrawn;
    this.cannot.showModal();
  }

  askWhich({ mine, theirs }) {
    one("[data-mine-words]").textContent = mine.at ? gettext(", changed %(time)s", { time: time(mine.at) }) : "";
    one("[data-theirs-words]").textContent = theirs.saved_at ? gettext(", saved %(time)s", { time: time(theirs.saved_at) }) : "";
    if (!this.two.open) this.two.showModal();
  }

  close() {
    for (const dialog of [this.cannot, this.incomplete.dialog, this.two]) if (dialog.open) dialog.close();
  }
}
