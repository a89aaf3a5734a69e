/* One chip that says whether every answer arrived, the draft of the drawing on the screen where there is
   one (label.keeper), and who is logged in; its sheet, and the warning on leaving.

   [data-saved] the chip, [data-saved-words], [data-unsent-words], [data-draft-words], [data-refused-list], [data-login]. */
import { gettext, locale, ngettext, sentences } from "./language.js";
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
    button.dataset.count = outbox.pending().length || outbox.refused().length || "";
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
  outbox.addEventListener("closed", ({ detail }) => {
    label.dropAnswer(detail.seat);
    announce(detail.message);
  });
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
  const chip = gettext("%(count)s unsent", { count: unsent });
  if (outbox.atRisk) {
    return {
      chip,
      tone: "bad",
      sentence: ngettext(
        "This browser has no room left: %(count)s answer held on this page alone. Keep it open until they are sent.",
        "This browser has no room left: %(count)s answers held on this page alone. Keep it open until they are sent.",
        unsent,
      ),
    };
  }
  if (!unsent && keeper?.unsent) return describeDrawing(keeper);
  if (!unsent) {
    return refused
      ? {
          chip: gettext("%(count)s rejected", { count: refused }),
          tone: "warn",
          sentence: gettext("All sent; %(count)s rejected.", { count: refused }),
        }
      : {
          chip: keeper?.state === "saved" ? gettext("Draft saved") : gettext("All saved"),
          tone: "good",
          sentence: gettext("All your answers are saved."),
        };
  }
  const bad = (sentence) => ({ chip, tone: "bad", sentence });
  switch (outbox.state) {
    case "logged-out":
      return bad(ngettext(
        "You are logged out. %(count)s answer kept in this browser; log in again and they are sent.",
        "You are logged out. %(count)s answers kept in this browser; log in again and they are sent.",
        unsent,
      ));
    case "other-user":
      return bad(ngettext(
        "Somebody else is logged in now. %(count)s answer kept in this browser until you are.",
        "Somebody else is logged in now. %(count)s answers kept in this browser until you are.",
        unsent,
      ));
    case "stopped": {
      const why = outbox.message || gettext("The server rejects them.");
      const kept = ngettext("%(count)s answer kept in this browser.", "%(count)s answers kept in this browser.", unsent);
      return bad(sentences(why, kept));
    }
    case "waiting":
      return {
        chip,
        tone: "warn",
        sentence: ngettext(
          "No connection. %(count)s answer kept in this browser; they are sent when it is back.",
          "No connection. %(count)s answers kept in this browser; they are sent when it is back.",
          unsent,
        ),
      };
    default:
      return {
        chip: gettext("Saving %(count)s", { count: unsent }),
        tone: "busy",
        sentence: ngettext("%(count)s answer being sent.", "%(count)s answers being sent.", unsent),
      };
  }
}

/* What the sheet says of the draft. */
function draftWords(keeper) {
  switch (keeper?.state) {
    case "saved":
      return gettext("Draft saved.");
    case "saving":
      return gettext("Saving the draft …");
    case "waiting":
      return gettext("Draft kept on this device; not on the server yet.");
    case "conflict":
      return gettext("Draft kept on this device; another device saved one, too.");
    case "logged-out":
      return gettext("Draft kept on this device; log in again to save it.");
    case "other-user":
      return gettext("Draft kept on this device; somebody else is logged in now.");
    case "gone":
      return sentences(keeper.message, gettext("Your drawing is kept on this device."));
    case "refused":
      return keeper.message;
    default:
      return "";
  }
}

/* A drawing that the server does not have as it is on the screen. */
function describeDrawing({ state, message }) {
  const [tone, sentence] = {
    waiting: ["warn", gettext("No connection. The drawing is kept in this browser; it is saved when the connection is back.")],
    conflict: [
      "warn",
      gettext("The drawing is kept in this browser. Another device saved one, too: choose which to go on with."),
    ],
    "logged-out": ["bad", gettext("You are logged out. The drawing is kept in this browser; log in again and it is saved.")],
    "other-user": ["bad", gettext("Somebody else is logged in now. The drawing is kept in this browser until you are.")],
    gone: ["bad", sentences(message, gettext("The drawing is kept in this browser."))],
    refused: ["bad", message],
  }[state] ?? ["busy", gettext("The drawing is being sent.")];
  return { chip: tone === "busy" ? gettext("Saving") : gettext("Not saved"), tone, sentence };
}

function showRefused(entries) {
  one("[data-refused]").hidden = !entries.length;
  one("[data-refused-list]").replaceChildren(
    ...entries.map((entry) => {
      const item = document.createElement("li");
      const time = new Date(entry.at).toLocaleTimeString(locale());
      const value = typeof entry.value === "string" ? entry.value : (entry.value?.key ?? gettext("drawing"));
      item.textContent = gettext("%(time)s, “%(value)s”: %(message)s", { time, value, message: entry.message });
      return item;
    }),
  );
}
