/* A button that copies the field beside it:
   <div data-copy><input readonly value="…"><button type="button" hidden>Copy</button></div>
   Without scripts the field can be selected and copied by hand. */

for (const place of document.querySelectorAll("[data-copy]")) {
  const field = place.querySelector("input");
  const button = place.querySelector("button");
  button.hidden = false;
  field.addEventListener("focus", () => field.select());
  button.addEventListener("click", async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      // Clipboards need https or a loopback address; the selection is there for Ctrl-C.
      button.textContent = "Selected: press Ctrl-C";
      return;
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
}
