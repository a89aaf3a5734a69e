/* One chip that says whether every answer arrived, the draft of the drawing on the screen where there is
   one (label.keeper), and who is logged in; its sheet, and the warning on leaving.

   [data-saved] the chip, [data-saved-words], [data-unsent-words], [data-draft-words], [data-refused-list], [data-login]. */
import { announce, one } from "./screen.js";

const SETTLE_MS = 900;

export function attachStatus(label) {
  const { outbox, keeper } = label;
  let said = "";
  let timer = null;
  const tell = () => {
    const { chip, sentence, tone } = describe(outbox, keeper);
    const button = one("[data-saved]");
    one("[data-saved-words]").textContent = chip;
    button.dataset.tone = tone;
    one("[data-unsent-words]").textContent = sentence;
    one("[data-draft-words]").textContent = draftWords(keeper);
    const states = [outbox.state, keeper?.unsent && keeper.state];
    one("[data-login]").hidden = !states.some((state) => state === "logged-out" || state === "other-user");
    showRefused(outbox.refused());
    // Read aloud when something needs attention or is over, not at each answer.
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (tone !== "busy" && sentence !== said && (said || tone !== "good")) announce(sentence);
      if (tone !== "busy") said = sentence;
    }, SETTLE_MS);
  };
  outbox.addEventListener("change", tell);
  keeper?.addEventListener("state", tell);
  outbox.addEventListener("refused", ({ detail }) => announce(detail.message));
  outbox.addEventListener("closed", ({ detail }) => announce(detail));
  let before = outbox.state;
  outbox.addEventListener("change", () => {
    if (before !== "saved" && outbox.state === "saved") label.wake();
    before = outbox.state;
  });
  addEventListener("online", () => label.wake());
  addEventListener("focus", () => label.wake());
  addEventListener("beforeunload", (event) => {
    // Answers in localStorage survive; only those that this page alone holds would be lost.
    if (outbox.atRisk) event.preventDefault();
  });
  tell();
}

function describe(outbox, keeper) {
  const unsent = outbox.pending().length;
  const refused = outbox.refused().length;
  const answers = `${unsent} ${unsent === 1 ? "answer" : "answers"}`;
  if (outbox.atRisk) {
    return {
      chip: `${unsent} unsent`,
      tone: "bad",
      sentence: `This browser has no room left: ${answers} held on this page alone. Keep it open until they are sent.`,
    };
  }
  if (!unsent && keeper?.unsent) return describeDrawing(keeper);
  if (!unsent) {
    return refused
      ? { chip: `${refused} not taken`, tone: "warn", sentence: `All sent; ${refused} not taken.` }
      : { chip: keeper?.state === "saved" ? "Draft saved" : "All saved", tone: "good", sentence: "All your answers are saved." };
  }
  const kept = `${answers} kept in this browser`;
  return {
    "logged-out": { chip: `${unsent} unsent`, tone: "bad", sentence: `You are logged out. ${kept}; log in again and they are sent.` },
    "other-user": { chip: `${unsent} unsent`, tone: "bad", sentence: `Somebody else is logged in now. ${kept} until you are.` },
    stopped: { chip: `${unsent} unsent`, tone: "bad", sentence: `${outbox.message || "The server does not take them."} ${kept}.` },
    waiting: { chip: `${unsent} unsent`, tone: "warn", sentence: `No connection. ${kept}; they are sent when it is back.` },
  }[outbox.state] || { chip: `Saving ${unsent}`, tone: "busy", sentence: `${answers} on the way.` };
}

/* What the sheet says of the draft. */
function draftWords(keeper) {
  const kept = "Draft kept on this device";
  return {
    saved: "Draft saved.",
    saving: "Saving the draft …",
    waiting: `${kept}; not on the server yet.`,
    conflict: `${kept}; another device saved one, too.`,
    "logged-out": `${kept}; log in again to save it.`,
    "other-user": `${kept}; somebody else is logged in now.`,
    gone: `${keeper?.message} What you drew is kept on this device.`,
    refused: keeper?.message,
  }[keeper?.state] ?? "";
}

/* A drawing that the server does not have as it is on the screen. */
function describeDrawing({ state, message }) {
  const kept = "The drawing is kept in this browser";
  const [tone, sentence] = {
    waiting: ["warn", `No connection. ${kept}; it is saved when the connection is back.`],
    conflict: ["warn", `${kept}. Another device saved one, too: choose which to go on with.`],
    "logged-out": ["bad", `You are logged out. ${kept}; log in again and it is saved.`],
    "other-user": ["bad", `Somebody else is logged in now. ${kept} until you are.`],
    gone: ["bad", `${message} ${kept}.`],
    refused: ["bad", message],
  }[state] ?? ["busy", "The drawing is on the way."];
  return { chip: tone === "busy" ? "Saving" : "Not saved", tone, sentence };
}

function showRefused(entries) {
  one("[data-refused]").hidden = !entries.length;
  one("[data-refused-list]").replaceChildren(
    ...entries.map((entry) => {
      const item = document.createElement("li");
      const time = new Date(entry.at).toLocaleTimeString();
      const value = typeof entry.value === "string" ? entry.value : (entry.value?.key ?? "drawing");
      item.textContent = `${time}, “${value}”: ${entry.message}`;
      return item;
    }),
  );
}
