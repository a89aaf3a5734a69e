/* One question about boxes at a time: which step it is, what is on the screen, what is kept, what is
   sent.

   label.js asks for it by paint(entry, slot), leave() and showTopic(topic, again); training.js puts a
   lesson in the label's place. HTML: templates/annotator/label_boxes.html. What belongs to one step
   alone is [data-for-step="draw"]; headings are [data-asks="draw more"]. */
import { gettext, ngettext } from "../language.js";
import { look } from "../look.js";
import { attachRouting } from "../parts/keys.js";
import { able, announce, murmur, one, press } from "../screen.js";
import { forget, keep, keysOf, read, recall } from "../storage.js";
import { Check } from "./check.js";
import { Cover } from "./cover.js";
import { Draw } from "./draw.js";
import { ARROWS, Stage } from "./stage.js";
import { FLAG_KEYS } from "./step.js";

const WAY_SETTING = "assay:boxes:way";
const MET_SETTING = "assay:boxes:met";
const KEPT_MS = 3 * 24 * 3_600_000;
// What the server says of the answer itself, and not of the seat or the campaign.
const FAULTS = ["bad_value", "refused", "malformed"];
const narrow = matchMedia("(max-width: 63.99rem)");
const all = (selector) => document.querySelectorAll(selector);
const IDLE = { begin() {}, drag() {}, end() {}, hover() {}, cancel() {} };

export class Page {
  entry = null;
  step = null;
  #complaints = new Map();
  #met = false; // whether a step was on the screen before
  #close = false; // whether boxes to check are shown from near

  constructor(label) {
    this.label = label;
    this.setup = label.setup;
    this.root = one("[data-drawing]");
    this.stage = new Stage(this.root, () => (this.entry ? this.step : IDLE), {
      moved: () => this.#showZoom(),
    });
    this.steps = { draw: new Draw(this), check: new Check(this), cover: new Cover(this) };
    this.way = recall(WAY_SETTING) === "drag" ? "drag" : "clicks";
    this.prefix = `assay:box:${this.setup.user}:${this.setup.campaign}:`;
    this.reasons = Object.fromEntries(this.setup.steps.check.map(({ value, label: words }) => [value, words]));
    label.key = () => false;
    label.actions = this.#actions();
    label.outbox.addEventListener("refused", ({ detail }) => this.#takeBack(detail));
    attachRouting(this);
    this.#attachButtons();
    this.#prune();
  }

  #actions() {
    return {
      "way-clicks": () => this.useWay("clicks"),
      "way-drag": () => this.useWay("drag"),
      undo: () => this.undo(),
      redo: () => this.redo(),
      "zoom-in": () => this.stage.zoomIn(),
      "zoom-out": () => this.stage.zoomOut(),
      "zoom-fit": () => this.stage.fit(),
      look: () => this.look(),
      others: () => this.hideOthers(),
      "send-box": () => this.send(),
      none: () => this.#answer(this.step.none()),
      good: () => this.#answer(this.step.good()),
      complete: () => this.#answer(this.step.complete()),
    };
  }

  #attachButtons() {
    document.addEventListener("click", (event) => {
      const button = event.target.closest("[data-flag], [data-reason], [data-side]");
      if (button && this.entry) {
        event.preventDefault();
        const { flag, reason, side } = button.dataset;
        if (flag) this.step.toggle(flag);
        else if (reason) this.#answer(this.step.bad(reason));
        else this.step.mark(Number(side));
      }
      // A pointer leaves the keys with the photograph; keys leave them where they are.
      if (event.detail && event.target.closest(".workbench button") && !look.hasFocus) this.root.focus({ preventScroll: true });
    });
    addEventListener("keyup", (event) => event.key === " " && this.#holdSpace(false));
    addEventListener("blur", () => this.#holdSpace(false));
  }

  /* A question on the screen, where it was left. */
  paint(entry, slot) {
    const { shows } = entry;
    const changed = this.step?.name !== shows.step;
    this.step?.leave();
    this.step = this.steps[shows.step];
    this.entry = entry;
    this.root.classList.remove("others-hidden");
    this.stage.load(slot.image, shows, this.entry.image);
    this.step.enter(entry.value ?? entry.answer, this.#kept());
    if (shows.step === "check" && this.#close) this.stage.look(shows.box);
    this.#showStep(changed);
    this.show();
    this.root.dataset.seat = entry.seat;
    return true;
  }

  leave() {
    if (this.entry) this.step.leave();
    this.entry = null;
    this.step = null;
    delete this.root.dataset.seat;
    this.stage.clear();
  }

  /* Another class. */
  showTopic({ name, article }, again) {
    for (const place of all("[data-class]")) place.textContent = name;
    for (const place of all("[data-article]")) place.textContent = article;
    if (again) this.#blink(all(".work-ask [data-class]"));
  }

  #blink(places) {
    for (const place of places) place.classList.remove("changed");
    requestAnimationFrame(() => places.forEach((place) => place.classList.add("changed")));
  }

  #showStep(changed) {
    const { shows: { step, boxes }, heading: asks } = this.entry;
    for (const each of Object.keys(this.steps)) document.body.classList.toggle(`step-${each}`, each === step);
    for (const place of all("[data-for-step]")) {
      place.hidden = !place.dataset.forStep.split(" ").includes(step);
    }
    for (const place of all("[data-asks]")) place.hidden = place.dataset.asks !== asks;
    for (const place of all("[data-mends]")) place.hidden = !(step === "check" && this.step.mends) && step !== "draw";
    const label = ngettext("Photograph with %(count)s box", "Photograph with %(count)s boxes", boxes.length);
    this.root.setAttribute("aria-label", label);
    if (!changed) return;
    const heading = one(`[data-asks="${asks}"]`).textContent.replaceAll(/\s+/g, " ").trim();
    if (this.#met) this.#blink(all(".work-badge"));
    this.#met = true;
    murmur(heading);
    this.#introduce(step);
  }

  /* Where the instructions are a sheet they open by themselves, once for each step. */
  #introduce(step) {
    const met = (recall(MET_SETTING) ?? "").split(" ");
    if (met.includes(step)) return;
    keep(MET_SETTING, [...met, step].filter(Boolean).join(" "));
    if (narrow.matches && !document.body.classList.contains("about-open")) {
      one(".label-bar [data-do='about']").click();
    }
  }

  /* What is kept in this browser of a question that is not answered */

  #key() {
    return this.prefix + this.entry.seat;
  }

  #kept() {
    const { kept, step } = read(this.#key()) ?? {};
    return step === this.entry.shows.step && kept?.moments?.length ? kept : null;
  }

  #prune() {
    for (const key of keysOf(this.prefix)) {
      if (!(read(key)?.at > Date.now() - KEPT_MS)) forget(key);
    }
  }

  /* After each moment. */
  changed() {
    this.#complaints.delete(this.entry.seat);
    const { history } = this.step;
    keep(this.#key(), JSON.stringify({ at: Date.now(), step: this.entry.shows.step, kept: history.kept }));
    this.show();
  }

  show() {
    if (!this.entry) return;
    this.stage.show(this.step.scene());
    this.#hint();
    const { history, moment } = this.step;
    const flags = moment.flags ?? [];
    for (const button of all("[data-flag]")) press(button, flags.includes(button.dataset.flag));
    const marks = [...(moment.sides ?? []), this.step.active];
    for (const button of all("[data-side]")) press(button, marks.includes(Number(button.dataset.side)));
    for (const way of ["clicks", "drag"]) press(one(`[data-do="way-${way}"]`), this.way === way);
    all('[data-do="undo"]').forEach((button) => able(button, history.canUndo));
    all('[data-do="redo"]').forEach((button) => able(button, history.canRedo));
    const ready = this.entry.shows.step === "draw" ? Boolean(moment.box) && !this.step.fault : moment.pins?.length > 0;
    all('[data-do="send-box"]').forEach((button) => able(button, ready));
    const given = this.entry.value ?? this.entry.answer;
    const word = given?.reason ?? (given?.box && this.entry.shows.step === "check" ? "good" : given);
    for (const button of all("[data-says]")) press(button, button.dataset.says === word);
  }

  #hint() {
    const complaint = this.#complaints.get(this.entry.seat);
    const { words, tone = "" } = complaint ? { words: complaint, tone: "bad" } : this.step.hint();
    const place = one("[data-hint]");
    if (place.textContent !== words) place.textContent = words;
    place.dataset.tone = tone;
    const count = one("[data-pins]");
    const pins = this.step.moment.pins?.length ?? 0;
    count.textContent = pins ? gettext("%(count)s missing", { count: pins }) : gettext("what is missing");
  }

  #showZoom() {
    const { view } = this.stage;
    one("[data-zoom-level]").textContent = `${Math.round(view.scale * 100)} %`;
    press(one('[data-do="look"]'), Boolean(this.stage.size) && !this.stage.isWhole);
  }

  wordsOf(reason) {
    return this.reasons[reason] ?? reason;
  }

  flagWords(flag) {
    return one(`[data-flag="${flag}"] [data-words]`)?.textContent ?? flag;
  }

  /* Actions */

  useWay(way) {
    if (this.way === way) return;
    this.way = way;
    keep(WAY_SETTING, way);
    if (this.step === this.steps.draw) this.step.changeWay();
    this.show();
    this.root.focus({ preventScroll: true });
  }

  undo() {
    if (this.entry && !this.step.undo()) announce(gettext("Nothing to undo here."));
  }

  redo() {
    if (this.entry && !this.step.redo()) announce(gettext("Nothing to redo."));
  }

  /* From near, or the whole photograph again. What is checked stays near from box to box. */
  look() {
    if (!this.entry) return;
    const { step, box, rejected, at } = this.entry.shows;
    const drawn = this.step.moment.box;
    const place = drawn ?? box ?? rejected?.box ?? (at && [at[0] - 30, at[1] - 30, at[0] + 30, at[1] + 30]);
    const near = this.stage.isWhole && Boolean(place);
    if (near) this.stage.look(place);
    else this.stage.fit();
    if (step === "check") this.#close = near;
  }

  hideOthers() {
    const hidden = this.root.classList.toggle("others-hidden");
    press(one('[data-do="others"]'), hidden);
    announce(hidden ? gettext("The other boxes are hidden.") : gettext("The other boxes are shown."));
  }

  send() {
    if (this.entry && this.step.answer) this.#answer(this.step.answer());
  }

  #answer(value) {
    if (value === null || value === undefined || !this.entry) return;
    const key = this.#key();
    if (this.label.answer(value)) forget(key);
  }

  /* The server did not take it: back to the question, with what it says. */
  #takeBack({ seat, code, message, ...sent }) {
    if (!FAULTS.includes(code)) return;
    this.#complaints.set(seat, message);
    this.label.outbox.takeBack(sent.id);
    this.label.takeBack(seat);
  }

  /* Keys: js/parts/keys.js says which come here. */

  key(event) {
    const { key } = event;
    if (!event.ctrlKey && !event.metaKey && !event.altKey && (key === "u" || key === "U")) {
      if (!event.repeat) key === "u" ? this.label.back() : this.label.forward();
      return true;
    }
    // Behind the sheet of instructions nothing is answered.
    if (!this.entry || (narrow.matches && document.body.classList.contains("about-open"))) return false;
    if (event.ctrlKey || event.metaKey) return this.#withControl(event);
    if (event.altKey && !(key in ARROWS)) return false;
    const onButton = Boolean(event.target.closest?.("button, a, summary"));
    if (key === "Enter") return (event.shiftKey || !onButton) && (event.repeat || (this.#enter(event), true));
    if (key === " " && onButton) return false;
    if (this.step.key(event)) return true;
    if (key === " ") return (this.#holdSpace(true), true);
    const action = this.#keyed(key);
    if (!action || (event.repeat && !/^[-+=−]$/.test(key))) return Boolean(action);
    action();
    return true;
  }

  #enter(event) {
    if (event.shiftKey || !this.step.enters()) this.send();
  }

  #withControl(event) {
    const key = event.key.toLowerCase();
    if (key === "z") event.shiftKey ? this.redo() : this.undo();
    else if (key === "y") this.redo();
    else if (key === "enter") event.repeat || this.send();
    else return this.stage.panByKey(event.key);
    return true;
  }

  #keyed(key) {
    const { step } = this.entry.shows;
    const general = {
      "+": () => this.stage.zoomIn(), "=": () => this.stage.zoomIn(),
      "-": () => this.stage.zoomOut(), "−": () => this.stage.zoomOut(),
      0: () => this.stage.fit(),
      z: () => this.look(),
      v: () => this.hideOthers(),
      s: () => this.label.skip(),
    };
    if (general[key]) return general[key];
    if (FLAG_KEYS[key] && this.step.toggle) return () => this.step.toggle(FLAG_KEYS[key]);
    if (step === "draw") {
      return {
        c: () => this.useWay("clicks"),
        r: () => this.useWay("drag"),
        n: () => this.#answer(this.step.none()),
      }[key];
    }
    if (step === "cover") return key === "y" ? () => this.#answer(this.step.complete()) : undefined;
    if (key === "g") return () => this.#answer(this.step.good());
    const reason = this.setup.steps.check.find((choice) => choice.key === key);
    return reason && (() => this.#answer(this.step.bad(reason.value)));
  }

  #holdSpace(held) {
    this.stage.spaceHeld = held;
    this.root.classList.toggle("may-pan", held);
  }
}
