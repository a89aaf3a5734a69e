/* Training and test: forms that work alone, with keys for a page of images, the time it took, and
   the focus where Enter goes on. data-key in the templates says the keys (keys.js).

   <form data-training> with <input name="duration_ms">, perhaps <ul data-tiles>, [data-done-words];
   [data-next] the way on; [data-stage] with [data-zoom], one image that can be looked at closely. */
import { countsInWords, gettext } from "./language.js";
import { Tiles } from "./tiles.js";
import { Closer } from "./closer.js";
import { Images } from "./images.js";
import "./look.js";
import { Clock, one } from "./screen.js";
import { attachZoom } from "./zoom.js";

const form = one("[data-training]");
const list = one("[data-tiles]");
one("[data-next]")?.focus();

if (form) {
  const clock = new Clock();
  clock.start();
  form.addEventListener("submit", () => (form.elements.duration_ms.value = clock.elapsed()));
}
if (form && list) attachTiles();
else if (form && one("[data-zoom]")) attachZoom(one("[data-stage]"));

function attachTiles() {
  const tiles = new Tiles(list);
  const images = new Images();
  const closer = new Closer(tiles, (tile) =>
    images.load({ seat: tile.dataset.seat, image: tile.querySelector("img").src.replace("&tile=1", "") }),
  );
  const tell = () => {
    const { yes, no, hard } = tiles.counts();
    one("[data-done-words]").textContent = gettext("Done: %(counts)s", { counts: countsInWords(yes, no, hard) });
  };
  list.addEventListener("mark", tell);
  list.addEventListener("closer", ({ detail }) => closer.open(detail.tile));
  tell();
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]") || event.repeat || event.altKey) return;
    const tile = tiles.focused();
    const { key } = event;
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    else if (event.ctrlKey || event.metaKey) return;
    else if (key === "h") tiles.toggle(tile, "hard");
    else if (key === "y" || key === "n") tiles.mark(tile, key === "y" ? "yes" : "no");
    else if (key === "z") closer.open(tile);
    else if (key.startsWith("Arrow") && !document.activeElement.closest(".tile, .about")) tiles.focus(tile);
    else return;
    event.preventDefault();
  });
}
