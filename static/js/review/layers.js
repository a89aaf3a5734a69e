/* Shows and hides what lies over a photograph:

   <figure data-layers><svg>… <g data-layer="person-1"> …</svg>
     <input type="checkbox" data-shows="person-1"></figure>

   data-shows="part" is for every layer whose name begins so. */
for (const figure of document.querySelectorAll("[data-layers]")) {
  const show = (box) => {
    for (const layer of figure.querySelectorAll(`[data-layer^="${box.dataset.shows}"]`)) {
      layer.classList.toggle("off", !box.checked);
    }
  };
  for (const box of figure.querySelectorAll("[data-shows]")) {
    show(box);
    box.addEventListener("change", () => show(box));
  }
}
