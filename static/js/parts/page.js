/* One object at a time to draw the parts of: what is on the screen, what is kept, what is sent.

   label.js asks for it by paint(entry, slot), leave() and key(event). Events on [data-stage]:
   "painted" when the drawing is there, detail {seat}. HTML: templates/annotator/label_parts.html. */
import { gettext, listed } from "../language.js";
import { look } from "../look.js";
import { post } from "../outbox.js";
import { announce, one, showAbout } from "../screen.js";
import { Easel } from "./easel.js";
import { Asking } from "./asking.js";
import { Keeper } from "./keeper.js";
import { Panel } from "./panel.js";
import { ASKING_KEYS, attachRouting, PAGE_KEYS, showKeys } from "./keys.js";
import { isEmpty, OUTLINE, PartLabels } from "./labels.js";
import { Sheets } from "./sheets.js";

// What the server says of the drawing itself, and not of the seat or the campaign.
const FAULTS = ["bad_value", "refused", "too_large", "malformed"];
const kib = (bytes) => `${Math.ceil(bytes / 1024).toLocaleString("en")} KiB`;

export class Page extends Easel {
  #entry = null;
  #turn = 0;
  #missing = new Set(); // keys of parts without a label, at the last change
  // Reasons of the server for seats whose answers it did not take.
  #refused = new Map();

  constructor(label) {
    super();
    this.label = label;
    this.setup = label.setup;
    this.keeper = label.keeper = new Keeper(this.setup);
    this.asking = new Asking(this);
    this.panel = new Panel(this);
    this.sheets = new Sheets(this);
    label.actions = {
      ...this.tools(),
      submit: () => this.submit(),
      cannot: () => this.cannot(),
      "half-yes": () => this.answerHalf(true),
      "half-no": () => this.answerHalf(false),
      swap: () => this.swap(),
      "take-proposal": () => this.asking.take(),
      "refuse-proposal": () => this.asking.refuse(),
    };
    this.keeper.addEventListener("state", () => this.#showKept());
    this.keeper.addEventListener("saved", ({ detail }) => this.#saved(detail));
    this.keeper.addEventListener("conflict", ({ detail }) => this.sheets.askWhich(detail));
    // A pointer leaves the keys with the drawing; keys leave them where they are.
    document.addEventListener("click", (event) => {
      if (event.detail && event.target.closest(".work-rail .tool, [data-adjust] button") && !look.hasFocus) this.focus();
    });
    label.outbox.addEventListener("accepted", ({ detail }) => this.keeper.forget(detail));
    label.outbox.addEventListener("refused", ({ detail }) => this.#takeBack(detail));
    attachRouting(this);
    showKeys(this.#keys());
  }

  /* Rows for the sheet of keys. */
  #keys() {
    return this.setup.propose_url ? [...PAGE_KEYS.slice(0, 2), ...ASKING_KEYS, ...PAGE_KEYS.slice(2)] : PAGE_KEYS;
  }

  get hasDrawn() {
    return Boolean(this.labels && !isEmpty(this.labels.value(this.shapes)));
  }

  /* Shows an entry where it was left: here, on the server, in an earlier answer, or at its beginning. */
  async paint(entry, slot) {
    const turn = (this.#turn += 1);
    this.leave();
    if (!entry.object && !(await this.#fetch(entry))) return false;
    const kept = await this.keeper.open(entry.seat, entry.draft, entry.unanswered);
    if (turn !== this.#turn) return false;
    this.#entry = entry;
    const topic = this.label.topics[entry.topic];
    this.labels = new PartLabels(topic.parts, entry.object, {
      half: this.setup.ask_half,
      outline: this.setup.ask_outline,
    });
    const before = entry.value ?? entry.answer;
    if (kept?.content) this.labels.restore(kept.content);
    else this.labels.load(before);
    // What stands above the drawing takes its room before the drawing takes the rest.
    this.panel.showHalf(this.labels);
    this.#showNotes(entry);
    this.build(entry.object, { ...slot, address: entry.image }, this.#keys(), Boolean(entry.assisted));
    this.asking.begin(entry);
    this.#load(kept?.content ?? null, before, kept?.steps);
    if (this.#refused.has(entry.seat)) this.#complain(this.#refused.get(entry.seat));
    this.show();
    this.#showKept();
    this.root.dataset.seat = entry.seat;
    this.focus();
    return true;
  }

  leave() {
    this.asking.end();
    this.keeper.close();
    this.sheets.close();
    this.drawing?.destroy();
    this.root.replaceChildren();
    delete this.root.dataset.seat;
    this.drawing = this.labels = this.#entry = null;
  }

  /* What was not kept with an answer that one may go back to. */
  async #fetch(entry) {
    const unsent = this.label.outbox.pending().findLast(({ seat }) => seat === entry.seat);
    const reply = await post(this.setup.seat_url, { user: this.setup.user, seat: entry.seat });
    if (reply.status !== 200) return false;
    const [found] = reply.body.seats;
    Object.assign(this.label.topics, reply.body.topics);
    const topic = this.label.topics[entry.topic];
    this.label.kind.show(topic, false);
    showAbout(topic);
    Object.assign(entry, { ...found, image: entry.image, value: unsent?.value ?? found.answer });
    return true;
  }

  #load(content, before, steps = null) {
    this.filled(() => {
      if (content) {
        this.labels.restore(content);
        if (!this.drawing.restore(content.drawing, { steps })) this.drawing.load({});
      } else {
        this.labels.load(before);
        this.drawing.load(this.labels.shapes(before));
      }
      if (this.selected === null) this.choose(this.#next(1) ?? this.labels.parts[0]?.key ?? null);
    });
    this.#missing = this.#missingNow();
  }

  #missingNow() {
    return new Set(this.labels.unlabeled(this.shapes).map(({ key }) => key));
  }

  content() {
    return { ...this.labels.content(), drawing: this.drawing.state() };
  }

  changed({ reason = "" } = {}) {
    this.fault = null;
    one("[data-fault]").hidden = true;
    const before = this.#missing;
    if (reason === "stroke") this.labels.edited(this.selected);
    this.#missing = this.#missingNow();
    const closed = before.has(this.selected) && !this.#missing.has(this.selected);
    if (reason === "stroke" && closed) this.#goOn();
    this.keeper.change(this.content(), this.drawing.steps());
    this.show();
  }

  /* A part is closed: on to the next missing one, unless it may have more pieces. */
  #goOn() {
    if (this.labels.part(this.selected).several) return;
    const next = this.#next(1);
    if (next !== null) this.choose(next);
  }

  #showNotes(entry) {
    const note = one("[data-sent-back]");
    note.hidden = !entry.sent_back;
    one("[data-sent-back-note]").textContent = entry.sent_back?.note ?? "";
    this.fault = null;
    one("[data-fault]").hidden = true;
  }

  /* Says what is wrong, at the part that the sentence names. */
  #complain(text) {
    const place = one("[data-fault]");
    place.textContent = text;
    place.hidden = false;
    const named = this.labels.parts.filter(({ name }) => text.toLowerCase().includes(name.toLowerCase()));
    this.fault = named.toSorted((a, b) => b.name.length - a.name.length)[0]?.key ?? null;
    if (text.startsWith("The outline of the object")) this.fault = OUTLINE;
    if (this.fault !== null) this.drawing.select(this.fault);
  }

  #showKept() {
    for (const place of document.querySelectorAll("[data-swap]")) place.hidden = !this.keeper.aside;
  }

  #saved({ seat, draft }) {
    const around = [...this.label.queue, ...this.label.past].find((entry) => entry.seat === seat);
    if (around) around.draft = draft;
  }

  /* Actions */

  /* The next part without a label, from the chosen one on. */
  #next(by) {
    const missing = this.labels.unlabeled(this.shapes).map(({ key }) => key);
    const order = this.labels.parts.map(({ key }) => key);
    const now = order.indexOf(this.selected);
    for (let step = 1; step <= order.length; step += 1) {
      const key = order[(now + by * step + order.length * step) % order.length];
      if (missing.includes(key)) return key;
    }
    return null;
  }

  chooseMissing(by) {
    const key = this.#next(by);
    if (key === null) announce(gettext("No part is missing any more."));
    else this.choose(key);
  }

  /* Says what is to be seen of a part. Its outline goes, by a step that can be undone. */
  say(key, state) {
    const part = key === null ? null : this.labels.part(key);
    if (!part || (key === OUTLINE && state !== "drawn")) return;
    if (state === "drawn") return void this.#draw(part);
    if (this.labels.states[key] === state && this.labels.of(key, this.shapes) === state) {
      delete this.labels.states[key];
      announce(gettext("%(part)s: taken back.", { part: part.name }));
    } else {
      this.labels.states[key] = state;
      delete this.labels.came[key];
      this.drawing.clear(key);
      announce(state === "occluded"
          ? gettext("%(part)s: occluded.", { part: part.name })
          : gettext("%(part)s: not visible.", { part: part.name }));
    }
    this.changed();
  }

  /* To draw it after all. */
  #draw({ key, name }) {
    const mends = this.labels.of(key, this.shapes) === "given";
    if (this.labels.states[key]) {
      delete this.labels.states[key];
      announce(gettext("%(name)s: draw it, or choose its visibility.", { name }));
    } else if (mends) this.mend(key);
    else if (this.drawing.tool === "pan") this.drawing.use("polygon");
    this.changed();
    this.focus();
  }

  answerHalf(yes) {
    if (!this.labels?.asksHalf) return;
    if (!yes) return void this.skip("under_half");
    this.labels.half = true;
    this.changed();
    this.focus();
  }

  cannot() {
    if (this.labels) this.sheets.askWhy(this.hasDrawn);
  }

  skip(reason) {
    this.#send({ skip: reason });
  }

  /* The other device's drawing, or back again. */
  swap() {
    const { aside } = this.keeper;
    if (aside) this.take(this.keeper.swap(this.content()));
  }

  choosesDraft(which) {
    this.take(this.keeper.choose(which));
  }

  take(content) {
    this.#load(content, null);
    this.#showKept();
  }

  /* Sends the drawing, if it is not empty and is complete, or the incomplete one was confirmed. */
  submit(anyway = false) {
    if (!this.labels) return;
    const { labels, shapes } = this;
    const [unfinished] = this.drawing.unfinished();
    const value = labels.value(shapes);
    const unlabeled = labels.unlabeled(shapes).map(({ name }) => name);
    const overlaps = this.drawing.overlaps();
    if (this.drawing.proposal) announce(gettext("First accept the model’s proposal (Enter), or reject it (Escape)."));
    else if (labels.asksHalf) announce(gettext("First say whether at least half of the missing parts can be drawn."));
    else if (unfinished) this.#finishFirst(unfinished);
    else if (isEmpty(value) && unlabeled.length) {
      announce(gettext("Not answered yet: %(parts)s. If the object cannot be drawn, say why (q).", { parts: listed(unlabeled) }));
    } else if (this.#hasPieces(shapes)) return;
    else if ((unlabeled.length || overlaps.length) && !anyway) {
      const few = unlabeled.length > labels.missing.length / 2;
      this.sheets.incomplete.ask(listed(unlabeled), labels.pairs(overlaps), few);
    }
    else if (this.#fits(value)) this.#send(value);
  }

  #finishFirst(key) {
    this.choose(key);
    announce(this.labels.unfinished(key));
  }

  /* Whether a part of which one piece is allowed has more; says so. */
  #hasPieces(shapes) {
    const part = this.labels.parts.find(({ key, several }) => !several && shapes[key]?.length > 1);
    if (part) {
      this.#complain(
        gettext("The %(part)s is drawn in %(count)s pieces, and only one is allowed. Join them, or keep one of them.", {
          part: part.name,
          count: shapes[part.key].length,
        }),
      );
      this.show();
    }
    return Boolean(part);
  }

  #fits(value) {
    const size = (thing) => new TextEncoder().encode(JSON.stringify(thing)).length;
    const { largest } = this.setup;
    if (size(value) <= largest) return true;
    const [[key]] = Object.entries(value.parts).toSorted(([, a], [, b]) => size(b) - size(a));
    announce(
      gettext(
        "This drawing takes %(size)s and %(most)s can be sent. The largest is the %(part)s: remove corners where its outline is smooth.",
        { size: kib(size(value)), most: kib(largest), part: this.labels.part(key).name },
      ),
    );
    return false;
  }

  #send(value) {
    const entry = this.#entry;
    if (!entry) return;
    this.sheets.close();
    // The answer says it all from here on; what is kept on the device goes once it is accepted.
    const resume = this.keeper.stop();
    this.#refused.delete(entry.seat);
    entry.draft = null;
    if (!this.label.answer(value)) resume();
  }

  /* The server did not take it: back to the drawing, with what it says. */
  #takeBack({ seat, code, message, ...sent }) {
    if (!FAULTS.includes(code)) return;
    this.#refused.set(seat, message);
    this.label.outbox.takeBack(sent.id);
    this.label.takeBack(seat);
  }

  /* Keys that the page keeps for itself; the others are the drawing's. */
  key(event) {
    if (!this.drawing) return false;
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const action = plain && !event.repeat && this.#actionOf(event);
    if (action) return (action(), true);
    if (this.labels.asksHalf && !/^[-+=− ]$/.test(event.key)) return false;
    return this.drawing.handleKey(event);
  }

  #actionOf({ key, shiftKey }) {
    if (key === "Enter" && shiftKey) return () => this.submit();
    if (this.labels.asksHalf && (key === "y" || key === "n")) return () => this.answerHalf(key === "y");
    return {
      1: () => this.say(this.selected, "drawn"),
      2: () => this.say(this.selected, "not_visible"),
      3: () => this.say(this.selected, "occluded"),
      4: this.setup.propose_url && (() => this.asking.use()),
      j: () => this.chooseMissing(1),
      J: () => this.chooseMissing(-1),
      q: () => this.cannot(),
      s: () => this.label.skip(),
      u: () => this.label.back(),
      U: () => this.label.forward(),
      z: () => this.swap(),
      w: () => this.panel.toggleList(),
      0: () => this.look(),
    }[key];
  }
}
