/* The parts as the page lists them: what is missing with its count, the label of each; the part in
   hand with its guidance; which tools are in hand and can be used.

   HTML: templates/annotator/_parts_list.html, _parts_now.html, _parts_states.html, _parts_rail.html. The
   panel shows and asks; `page` does: choose(key), say(key, state), hide(key), focus(); it has drawing,
   labels, shapes, selected. */
import { COLOURS } from "../drawing/picture.js";
import { gettext } from "../language.js";
import { able, one, press } from "../screen.js";
import { OUTLINE } from "./labels.js";

const WORDS = {
  drawn: gettext("drawn"),
  not_visible: gettext("not visible"),
  occluded: gettext("occluded"),
  given: gettext("imported"),
  "given-not_visible": gettext("imported: not visible"),
  "given-occluded": gettext("imported: occluded"),
  "": gettext("missing"),
};
// What a tool does, for those who have no part's guidance to read.
const HINTS = {
  polygon: gettext("Click corner after corner; close on the first one (c)."),
  scissors: gettext("Click along its edge; the line follows it. Close on the first one (c)."),
  lasso: gettext("Draw around it; it closes where the line ends."),
  box: gettext("Drag from corner to corner."),
  edit: gettext("Drag corners; click an edge to add one; click a corner twice to remove it."),
  eraser: gettext("Paint over excess area; [ and ] change the size."),
  pan: gettext("Drag the photograph."),
  ask: gettext("Click on the part, drag a box, or scribble along it. Hold, or Alt: not this."),
};

function button(data, ...content) {
  const element = document.createElement("button");
  element.type = "button";
  Object.assign(element.dataset, data);
  element.append(...content);
  return element;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

export class Panel {
  #fixed = { drawing: null, keys: "" };

  constructor(page) {
    this.page = page;
    this.list = one("[data-parts-list]");
    this.list.addEventListener("click", (event) => this.#clicked(event));
    for (const each of document.querySelectorAll("[data-state]")) {
      each.addEventListener("click", () => page.say(page.selected, each.dataset.state));
    }
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && document.body.classList.contains("list-shown")) {
        event.preventDefault();
        event.stopImmediatePropagation();
        this.toggleList();
      }
    }, { capture: true });
  }

  /* On a small screen the list comes up when it is asked for. */
  toggleList(shown = !document.body.classList.contains("list-shown")) {
    document.body.classList.toggle("list-shown", shown);
    one(".list-open")?.setAttribute("aria-expanded", String(shown));
    if (shown) (this.list.querySelector("[aria-pressed=true]") ?? this.list.querySelector("[data-choose]"))?.focus();
    else this.page.focus();
  }

  #clicked({ target }) {
    const pressed = target.closest("[data-choose], [data-hide]");
    if (!pressed) return;
    const { choose, hide } = pressed.dataset;
    if (choose) this.page.choose(choose);
    else this.page.hide(hide);
    if (choose && document.body.classList.contains("list-shown")) return void this.toggleList(false);
    // Drawn again: the focus stays on what was pressed.
    const same = choose ? `[data-choose="${choose}"]` : `[data-hide="${hide}"]`;
    this.list.querySelector(same)?.focus();
  }

  /* Everything, as it stands; a fault is the key of the part that the server did not take. */
  show(fault = null) {
    const { drawing, labels, shapes, selected } = this.page;
    this.#fix(drawing, labels.importedShapes(shapes));
    this.showHalf(labels);
    const missing = labels.unlabeled(shapes).length;
    one("[data-missing-count]").textContent = missing;
    this.#showNow(labels, shapes, selected, missing);
    const hidden = new Set(labels.parts.map(({ key }) => key).filter((key) => drawing.isHidden(key)));
    const unfinished = new Set(drawing.unfinished());
    this.#showList(labels, shapes, { selected, hidden, unfinished, fault });
    this.#showTools(drawing, selected !== null && labels.part(selected)?.mirror);
  }

  /* What stands as the import has it is shown in the drawing and snapped to, and is not drawn on. */
  #fix(drawing, imported) {
    const keys = Object.keys(imported).join();
    if (drawing === this.#fixed.drawing && keys === this.#fixed.keys) return;
    this.#fixed = { drawing, keys };
    drawing.setFixed(imported);
  }

  /* The question that comes first, or the part in hand and the answers. */
  showHalf(labels) {
    const asks = labels.asksHalf;
    for (const place of document.querySelectorAll("[data-half], [data-half-answers]")) place.hidden = !asks;
    for (const place of document.querySelectorAll("[data-part-now], [data-parts-done]")) place.hidden = asks;
    if (!asks) return;
    one("[data-half-count]").textContent = labels.missing.length;
    one("[data-half-names]").textContent = labels.missing.map((key) => labels.part(key).name).join(", ");
  }

  #showNow(labels, shapes, selected, missing) {
    const part = selected === null ? null : labels.part(selected);
    const state = part ? labels.of(part.key, shapes) : "";
    for (const place of document.querySelectorAll("[data-part-name]")) place.textContent = part?.name ?? gettext("the part");
    for (const each of document.querySelectorAll("[data-state]")) {
      const { state: own } = each.dataset;
      each.disabled = !part || (part.key === OUTLINE && own !== "drawn");
      press(each, own === state);
    }
    one("[data-state=drawn]").firstChild.textContent = `${state === "given" ? gettext("Correct") : gettext("Drawn")} `;
    one("[data-part-guidance]").textContent = part?.guidance || "";
    one("[data-hint]").textContent = HINTS[this.page.drawing.tool] ?? "";
    const left = missing ? gettext("%(count)s missing", { count: missing }) : gettext("none missing");
    const opener = one(".list-open");
    if (!opener) return;
    opener.querySelector("[data-list-part]").textContent = part?.name ?? gettext("Parts");
    opener.querySelector("[data-list-left]").textContent = left;
  }

  #showList(labels, shapes, { selected, hidden, unfinished, fault }) {
    const rows = labels.parts.map((part, index) => {
      const { key, name } = part;
      const state = labels.of(key, shapes);
      const row = document.createElement("li");
      row.className = `tone-${index % COLOURS} part-${state || "missing"}`;
      const swatch = element("b", index + 1);
      swatch.className = "swatch";
      swatch.setAttribute("aria-hidden", "true");
      const word = unfinished.has(key) && key !== selected ? gettext("outline not finished") : WORDS[state];
      const choose = button({ choose: key }, swatch, element("span", name), element("small", fault === key ? gettext("rejected") : word));
      press(choose, key === selected);
      row.classList.toggle("faulty", fault === key);
      row.append(choose, this.#eye(key, name, hidden.has(key)));
      return row;
    });
    const list = this.list.querySelector("ul");
    const focused = this.list.contains(document.activeElement) && { ...document.activeElement.dataset };
    list.replaceChildren(...rows);
    if (focused.choose) list.querySelector(`[data-choose="${focused.choose}"]`)?.focus();
    // Only this list scrolls: the page stays where it is.
    const chosen = list.querySelector("[aria-pressed=true]");
    if (chosen) this.#reveal(list, chosen.parentElement);
  }

  #reveal(list, row) {
    const [top, bottom] = [row.offsetTop, row.offsetTop + row.offsetHeight];
    if (top < list.scrollTop) list.scrollTop = top;
    else if (bottom > list.scrollTop + list.clientHeight) list.scrollTop = bottom - list.clientHeight;
  }

  #eye(key, name, hidden) {
    const icon = this.list.querySelector(`[data-icon="${hidden ? "eye-off" : "eye"}"]`);
    const eye = button({ hide: key, tip: hidden ? gettext("Show it") : gettext("Hide it"), tipKey: "k" }, icon.content.cloneNode(true));
    eye.className = "tool";
    eye.setAttribute("aria-label", hidden ? gettext("Show %(name)s", { name }) : gettext("Hide %(name)s", { name }));
    return eye;
  }

  /* Which tool is in hand, and what can be done. */
  #showTools(drawing, mirror) {
    const of = (name) => one(`[data-do="${name}"].tool`);
    for (const each of document.querySelectorAll('[data-do^="tool-"]')) {
      press(each, each.dataset.do === `tool-${drawing.tool}`);
    }
    const ask = of("tool-ask");
    if (ask) able(ask, drawing.asks);
    press(of("cut"), drawing.cutting);
    press(of("snap"), drawing.snapping);
    able(of("undo"), drawing.canUndo);
    able(of("redo"), drawing.canRedo);
    able(of("mirror"), Boolean(mirror));
    const overlap = drawing.overlaps().length > 0;
    able(of("overlap"), overlap);
    of("overlap").classList.toggle("warn", overlap);
  }

  showZoom({ scale, whole }) {
    one("[data-zoom-level]").textContent = `${Math.round(scale * 100)} %`;
    press(one('[data-do="look"].tool'), !whole);
  }
}
