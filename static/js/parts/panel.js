/* The parts as the page lists them: what is missing with its count, the label of each, the part
   in hand with its guidance, and the tools.

   HTML: templates/annotator/kinds/parts.html and _parts_form.html. The panel shows and asks; `page`
   does: choose(key), say(key, state), hide(key), focus(); it has drawing, labels, shapes, selected. */
import { one } from "../screen.js";
import { OUTLINE } from "./labels.js";

const WORDS = {
  drawn: "drawn",
  not_visible: "not visible",
  occluded: "occluded",
  given: "given",
  "given-not_visible": "given: not visible",
  "given-occluded": "given: occluded",
  "": "missing",
};
const TOOLS = [
  ["polygon", "Polygon", "p"], ["lasso", "Lasso", "l"], ["box", "Box", "b"],
  ["edit", "Edit", "e"], ["eraser", "Erase", "x"], ["pan", "Move", "m"],
];
const ACTIONS = [
  ["cut", "Cut", "h", "Outlines are taken away, as for a hole"],
  ["undo", "Undo", "Ctrl Z", ""], ["redo", "Redo", "Ctrl Y", ""],
  ["overlap", "No overlap", "o", "Minimize overlap: the chosen part keeps it"],
  ["mirror", "Mirror", "r", "Copy from the mirrored part"],
  ["fainter", "Fainter", ",", "Fainter colours"], ["stronger", "Stronger", ".", "Stronger colours"],
  ["zoom-in", "Closer", "+", "Zoom in"], ["zoom-out", "Farther", "−", "Zoom out"],
  ["fit", "Fit", "0", "Show the whole object"],
];

function button(text, key, { title = "", ...data } = {}) {
  const element = document.createElement("button");
  element.type = "button";
  Object.assign(element.dataset, data);
  if (title) element.title = title;
  element.append(text);
  if (key) {
    const shown = document.createElement("kbd");
    shown.textContent = key;
    element.append(" ", shown);
  }
  return element;
}

export class Panel {
  #fixed = { drawing: null, keys: "" };

  constructor(page) {
    this.page = page;
    this.list = one("[data-parts-list]");
    this.select = one("[data-missing]");
    this.tools = one("[data-tools]");
    this.#buildTools();
    this.list.addEventListener("click", (event) => this.#clicked(event));
    this.select.addEventListener("change", () => page.choose(this.select.value));
    this.select.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "Escape") page.focus();
    });
    for (const each of document.querySelectorAll("[data-state]")) {
      each.addEventListener("click", () => page.say(page.selected, each.dataset.state));
    }
  }

  #buildTools() {
    const tools = TOOLS.map(([tool, text, key]) => button(text, key, { tool }));
    const actions = ACTIONS.map(([action, text, key, title]) => button(text, key, { action, title }));
    this.tools.replaceChildren(...tools, ...actions);
    this.tools.addEventListener("click", ({ target }) => {
      const pressed = target.closest("[data-tool], [data-action]");
      if (pressed) this.#press(pressed.dataset);
    });
  }

  #press({ tool, action }) {
    const { drawing, labels, selected } = this.page;
    if (tool) drawing.use(tool);
    const actions = {
      cut: () => drawing.setCutting(!drawing.cutting),
      undo: () => drawing.undo(),
      redo: () => drawing.redo(),
      overlap: () => drawing.minimizeOverlap(),
      mirror: () => drawing.copyMirrored(labels.part(selected).mirror, selected),
      fainter: () => drawing.setOpacity(drawing.opacity - 0.1),
      stronger: () => drawing.setOpacity(drawing.opacity + 0.1),
      "zoom-in": () => drawing.zoomIn(),
      "zoom-out": () => drawing.zoomOut(),
      fit: () => drawing.fit(),
    };
    actions[action]?.();
  }

  #clicked({ target }) {
    const pressed = target.closest("[data-choose], [data-hide]");
    if (!pressed) return;
    const { choose, hide } = pressed.dataset;
    if (choose) this.page.choose(choose);
    else this.page.hide(hide);
    // Drawn again: the focus stays on what was pressed.
    const same = choose ? `[data-choose="${choose}"]` : `[data-hide="${hide}"]`;
    this.list.querySelector(same)?.focus();
  }

  /* Everything, as it stands; a fault is the key of the part that the server did not take. */
  show(fault = null) {
    const { drawing, labels, shapes, selected } = this.page;
    this.#fix(drawing, labels.importedShapes(shapes));
    this.showHalf(labels);
    this.#showMissing(labels, labels.unlabeled(shapes), selected);
    this.#showNow(labels, shapes, selected);
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

  /* The question that comes first, or the tools. */
  showHalf(labels) {
    const asks = labels.asksHalf;
    one("[data-half]").hidden = !asks;
    one("[data-part-now]").hidden = asks;
    this.tools.hidden = asks;
    one("[data-half-count]").textContent = labels.missing.length;
    one("[data-half-names]").textContent = labels.missing.map((key) => labels.part(key).name).join(", ");
  }

  #showMissing(labels, missing, selected) {
    one("[data-missing-count]").textContent = missing.length;
    const option = (part) => new Option(part.name, part.key, false, part.key === selected);
    const done = labels.parts.filter((part) => !missing.includes(part));
    const groups = [["Missing", missing], ["There or said", done]].map(([label, parts]) => {
      const group = document.createElement("optgroup");
      group.label = `${label} (${parts.length})`;
      group.append(...parts.map(option));
      return group;
    });
    this.select.replaceChildren(...groups.filter((group) => group.children.length));
    this.select.value = selected ?? "";
  }

  #showNow(labels, shapes, selected) {
    const part = selected === null ? null : labels.part(selected);
    const state = part ? labels.of(part.key, shapes) : "";
    one("[data-part-name]").textContent = part?.name ?? "the part";
    for (const each of document.querySelectorAll("[data-state]")) {
      const { state: own } = each.dataset;
      each.disabled = !part || (part.key === OUTLINE && own !== "drawn");
      each.setAttribute("aria-pressed", String(own === state));
    }
    const mends = state === "given";
    one("[data-state=drawn]").firstChild.textContent = mends ? "Mend it " : "Drawn ";
    const guidance = one("[data-part-guidance]");
    guidance.textContent = part?.guidance || "";
    guidance.hidden = !part?.guidance;
  }

  #showList(labels, shapes, { selected, hidden, unfinished, fault }) {
    const rows = labels.parts.map((part, index) => {
      const { key, name } = part;
      const state = labels.of(key, shapes);
      const row = document.createElement("li");
      row.className = `tone-${index % 8} part-${state || "missing"}`;
      const choose = button("", "", { choose: key });
      choose.setAttribute("aria-pressed", String(key === selected));
      const swatch = document.createElement("b");
      swatch.className = "swatch";
      swatch.textContent = index + 1;
      swatch.setAttribute("aria-hidden", "true");
      const words = document.createElement("small");
      const word = unfinished.has(key) && key !== selected ? "outline not finished" : WORDS[state];
      words.textContent = fault === key ? "not taken" : word;
      const title = document.createElement("span");
      title.textContent = name;
      choose.append(swatch, title, words);
      row.classList.toggle("faulty", fault === key);
      row.append(choose, this.#eye(key, name, hidden.has(key)));
      return row;
    });
    const list = this.list.querySelector("ul") ?? this.list.appendChild(document.createElement("ul"));
    list.replaceChildren(...rows);
  }

  #eye(key, name, hidden) {
    const eye = button(hidden ? "Show" : "Hide", "", { hide: key });
    eye.setAttribute("aria-label", `${hidden ? "Show" : "Hide"} ${name}`);
    return eye;
  }

  /* Which tool is in hand, and what can be done. */
  #showTools(drawing, mirror) {
    const { tool, cutting, canUndo, canRedo } = drawing;
    for (const each of this.tools.querySelectorAll("[data-tool]")) {
      each.setAttribute("aria-pressed", String(each.dataset.tool === tool));
    }
    const action = (name) => this.tools.querySelector(`[data-action=${name}]`);
    action("cut").setAttribute("aria-pressed", String(cutting));
    action("undo").disabled = !canUndo;
    action("redo").disabled = !canRedo;
    action("mirror").hidden = !mirror;
    const overlap = drawing.overlaps().length > 0;
    action("overlap").classList.toggle("warn", overlap);
    action("overlap").disabled = !overlap;
  }
}
