/* Up to a few classes of a long list, the surest first: found by typing, by group, or beside their siblings.

   <div data-picker data-most="5"> with [data-plain] (fields of the form without scripts), [data-finder] with an
   <input data-search>, <ol data-hits> and [data-no-match], <ol data-picked data-value='["key"]'>, [data-class-list] with <a data-class="key"> for each
   class, whose page has [data-siblings] (class.html), and <dialog data-siblings-dialog>.
   In the field: a digit takes a hit, ↑ and ↓ point at one, → looks at its siblings, Enter takes the one pointed at, or
   is done where nothing is typed, ⌫ in the empty field takes the last class away, Alt ↑ moves it up. */
import { gettext } from "../language.js";
import { focusSearch, holdFocus } from "../search_field.js";
import { HITS, indexed, search } from "./search.js";

export class Picker extends EventTarget {
  constructor(root) {
    super();
    this.root = root;
    this.most = Number(root.dataset.most);
    this.field = root.querySelector("[data-finder] input");
    this.hitList = root.querySelector("[data-hits]");
    this.list = root.querySelector("[data-picked]");
    this.dialog = root.querySelector("[data-siblings-dialog]");
    this.links = new Map(
      [...root.querySelectorAll("[data-class]")].map((link) => [link.dataset.class, link]),
    );
    this.index = indexed(
      [...this.links].map(([key, link]) => ({ key, name: link.textContent.trim() })),
    );
    this.hits = [];
    this.pointed = -1;
    this.clear(JSON.parse(this.list.dataset.value || "[]"));
    this.#attach();
  }

  /* Begins with these classes. */
  clear(keys = []) {
    this.keys = keys.filter((key) => this.links.has(key));
    this.field.value = "";
    this.#find();
    this.#draw();
    if (this.dialog.open) this.dialog.close();
  }

  take(key) {
    if (!this.links.has(key) || this.keys.includes(key) || this.keys.length >= this.most) return;
    this.keys.push(key);
    this.#changed();
  }

  remove(key) {
    this.keys = this.keys.filter((other) => other !== key);
    this.#changed();
  }

  raise(key) {
    const at = this.keys.indexOf(key);
    if (at > 0) this.keys.splice(at - 1, 2, key, this.keys[at - 1]);
    this.#changed();
  }

  name(key) {
    return this.links.get(key)?.textContent.trim() ?? key;
  }

  /* A key outside of the field; whether it did anything. */
  key(event) {
    // Enter belongs to what has the focus.
    if (event.key === "Enter" && event.target.closest("a, button, summary")) return false;
    const goal = [...this.root.querySelectorAll("[data-key]")].find(
      (element) => element.dataset.key === event.key.toLowerCase() && element.getClientRects().length,
    );
    if (!goal) return false;
    if (goal.matches("input")) goal.focus();
    else goal.click();
    return true;
  }

  async siblings(key) {
    const reply = await fetch(this.links.get(key).href, { credentials: "same-origin" }).catch(() => null);
    if (!reply?.ok) return void window.open(this.links.get(key).href);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    this.dialog.querySelector("[data-dialog-body]").replaceChildren(page.querySelector("[data-siblings]"));
    for (const button of this.dialog.querySelectorAll("[data-choose]")) button.hidden = false;
    if (!this.dialog.open) this.dialog.showModal();
    this.dialog.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }

  #changed() {
    this.field.value = "";
    this.#find();
    this.#draw();
    this.dispatchEvent(new Event("change"));
  }

  #find() {
    this.hits = search(this.index, this.field.value, HITS);
    this.pointed = -1;
    this.hitList.replaceChildren(
      ...this.hits.map(({ key, name }, at) => {
        const row = document.createElement("li");
        const button = Object.assign(document.createElement("button"), { type: "button", className: "hit" });
        button.dataset.hit = key;
        button.disabled = this.keys.includes(key) || this.keys.length >= this.most;
        const digit = Object.assign(document.createElement("kbd"), { textContent: at + 1 });
        const words = Object.assign(document.createElement("span"), { textContent: name });
        button.append(digit, words);
        const more = Object.assign(document.createElement("button"), { type: "button", className: "more" });
        more.dataset.look = key;
        more.setAttribute("aria-label", gettext("Show %(name)s and its siblings", { name }));
        more.textContent = "?";
        row.append(button, more);
        return row;
      }),
    );
    this.hitList.hidden = !this.hits.length;
    this.root.querySelector("[data-no-match]").hidden = this.hits.length > 0 || !this.field.value.trim();
  }

  #point(step) {
    const rows = [...this.hitList.children];
    if (!rows.length) return;
    this.pointed = (this.pointed + step + rows.length + (this.pointed < 0 && step < 0 ? 1 : 0)) % rows.length;
    rows.forEach((row, at) => row.classList.toggle("pointed", at === this.pointed));
    rows[this.pointed].scrollIntoView({ block: "nearest" });
  }

  #draw() {
    this.list.replaceChildren(
      ...this.keys.map((key, at) => {
        const row = document.createElement("li");
        const look = Object.assign(document.createElement("button"), {
          type: "button",
          className: "picked-name",
          textContent: this.name(key),
        });
        look.dataset.look = key;
        row.append(look, ...(at ? [this.#button("raise", key, "↑", gettext("Move up"))] : []));
        row.append(this.#button("remove", key, "×", gettext("Remove")));
        const field = Object.assign(document.createElement("input"), { type: "hidden", name: "class", value: key });
        row.append(field);
        return row;
      }),
    );
    this.root.classList.toggle("is-empty", !this.keys.length);
    const left = this.root.querySelector("[data-picked-left]");
    if (left) left.textContent = this.keys.length < this.most ? gettext("up to %(count)s more", { count: this.most - this.keys.length }) : gettext("all chosen");
  }

  #button(action, key, sign, words) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "more", textContent: sign });
    button.dataset[action] = key;
    button.setAttribute("aria-label", `${words}: ${this.name(key)}`);
    return button;
  }

  #attach() {
    this.root.querySelector("[data-plain]").remove();
    this.root.querySelector("[data-finder]").hidden = false;
    this.field.addEventListener("input", () => this.#find());
    this.field.addEventListener("keydown", (event) => this.#type(event));
    this.root.addEventListener("click", (event) => {
      const button = event.target.closest("[data-hit], [data-look], [data-raise], [data-remove], [data-class], [data-choose], [data-example]");
      if (!button || event.ctrlKey || event.metaKey) return;
      const { hit, look, raise, remove, class: listed, choose, example } = button.dataset;
      if (hit) this.take(hit);
      else if (raise) this.raise(raise);
      else if (remove) this.remove(remove);
      else if (choose) this.#choose(choose);
      else if (example) this.#enlarge(button);
      else this.siblings(look ?? listed);
      event.preventDefault();
      if (hit || remove) focusSearch(this.field);
    });
    this.dialog.addEventListener("keydown", (event) => {
      event.stopPropagation();
      const chosen = /^[1-9]$/.test(event.key) && this.dialog.querySelectorAll("[data-choose]")[event.key - 1];
      if (chosen) this.#choose(chosen.dataset.choose);
    });
    this.dialog.addEventListener("close", () => focusSearch(this.field));
    holdFocus(this.field);
  }

  #choose(key) {
    this.take(key);
    this.dialog.close();
  }

  #enlarge(button) {
    button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") !== "true"));
  }

  #type(event) {
    const { key } = event;
    const typed = this.field.value;
    const action =
      /^[1-9]$/.test(key) && this.hits.length ? () => this.hits[key - 1] && this.take(this.hits[key - 1].key)
      : key === "ArrowDown" ? () => this.#point(1)
      : key === "ArrowUp" && event.altKey ? () => this.raise(this.keys.at(-1))
      : key === "ArrowUp" ? () => this.#point(-1)
      : key === "ArrowRight" && this.hits.length && this.field.selectionStart === typed.length
        ? () => this.siblings(this.hits[Math.max(this.pointed, 0)].key)
      : key === "Enter" && typed.trim() ? () => this.hits.length && this.take(this.hits[Math.max(this.pointed, 0)].key)
      : key === "Enter" ? () => this.root.querySelector("[data-send]").click()
      : key === "Backspace" && !typed && this.keys.length ? () => this.remove(this.keys.at(-1))
      : key === "Escape" ? () => (typed ? ((this.field.value = ""), this.#find()) : this.field.blur())
      : key === "/" ? () => {}
      : null;
    if (!action || event.isComposing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
}

/* The picker of an ordinary form (training). */
export function attachForm(form) {
  const picker = new Picker(form.querySelector("[data-picker]"));
  form.addEventListener("submit", (event) => {
    if (event.submitter?.matches("[data-send]") && !picker.keys.length) {
      event.preventDefault();
      picker.field.focus();
    }
  });
  return picker;
}
