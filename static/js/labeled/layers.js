/* Hides and fades what lies over a photograph.

   <div data-layers> holds <g class="boxes">, perhaps <image class="heat">, a checkbox
   [data-toggle="boxes"] or [data-toggle="heat"] for each, and <input type="range" data-strength> in
   percent for the heat. What was chosen holds for the next image too. */

const KEPT = "assay:layers";
const page = document.querySelector("[data-layers]");
const strength = page.querySelector("[data-strength]");
const toggles = [...page.querySelectorAll("[data-toggle]")];
const chosen = read();

function read() {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT)) || {};
  } catch {
    return {};
  }
}

function keep() {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(chosen));
  } catch {
    // Storage is switched off: it holds for this image alone.
  }
}

function show() {
  for (const box of toggles) {
    const layer = page.querySelector(`.${box.dataset.toggle}`);
    layer?.toggleAttribute("hidden", !box.checked);
    layer?.classList.toggle("is-hidden", !box.checked);
  }
  if (strength) page.querySelector(".heat").setAttribute("opacity", strength.value / 100);
}

for (const box of toggles) {
  box.checked = chosen[box.dataset.toggle] ?? true;
  box.addEventListener("change", () => {
    chosen[box.dataset.toggle] = box.checked;
    keep();
    show();
  });
}
if (strength) {
  strength.value = chosen.strength ?? strength.value;
  strength.addEventListener("input", () => {
    chosen.strength = Number(strength.value);
    keep();
    show();
  });
}
show();
