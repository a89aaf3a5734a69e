/* Answers by a swipe across the image, for those who switched it on: [data-use-swipes] a switch in
   [data-swipe-setting], which a campaign that forbids swiping does not have; [data-swipe-hint].

   One finger, on the whole image only (a zoomed one is moved), and not from the edges of the screen,
   where browsers go back. take(side) answers for "left" or "right" and says whether it was taken. */
import { one } from "./screen.js";
import { keep, recall } from "./storage.js";

const SETTING = "assay:swiping";
// Browsers take what begins nearer to the edge for their own.
const EDGE_PX = 32;
const LEAST_PX = 72;
const LEAST_SHARE = 0.22;
// As much wider than high is a swipe.
const SLOPE = 1.5;

export function attachSwipes(label, words, take) {
  const setting = one("[data-use-swipes]");
  if (!setting || !matchMedia("(any-pointer: coarse)").matches) return;
  const hint = one("[data-swipe-hint]");
  const { stage } = label;
  const tag = document.createElement("p");
  tag.className = "swipe-word";
  tag.setAttribute("aria-hidden", "true");
  tag.hidden = true;
  stage.append(tag);
  const fingers = new Set();
  let begun = null;

  one("[data-swipe-setting]").hidden = false;
  setting.checked = recall(SETTING) === "on";
  hint.hidden = !setting.checked;
  setting.addEventListener("change", () => {
    keep(SETTING, setting.checked ? "on" : "off");
    hint.hidden = !setting.checked;
  });

  const image = () => stage.querySelector("img:not([data-first])");
  const least = () => Math.max(LEAST_PX, stage.clientWidth * LEAST_SHARE);

  /* The image back where it was. */
  function release() {
    begun = null;
    tag.hidden = true;
    if (image() && !label.zoom.zoomed) image().style.transform = "";
  }

  function sideOf({ clientX, clientY }) {
    const [right, down] = [clientX - begun.x, clientY - begun.y];
    if (Math.abs(right) < SLOPE * Math.abs(down)) return null;
    return { side: right < 0 ? "left" : "right", share: Math.min(1, Math.abs(right) / least()), right };
  }

  stage.addEventListener("pointerdown", (event) => {
    fingers.add(event.pointerId);
    if (fingers.size > 1) return release();
    const { clientX: x, clientY: y, pointerType } = event;
    const inside = x >= EDGE_PX && x <= innerWidth - EDGE_PX && !event.target.closest("[data-zoom]");
    if (!setting.checked || pointerType !== "touch" || !inside || label.zoom.zoomed || !image()) return;
    begun = { x, y, seat: label.current()?.seat };
  });
  stage.addEventListener("pointermove", (event) => {
    if (!begun) return;
    const moved = sideOf(event);
    tag.hidden = !moved;
    if (!moved) return;
    image().style.transform = `translateX(${moved.right}px)`;
    tag.textContent = words[moved.side];
    tag.dataset.side = moved.side;
    tag.style.opacity = moved.share;
    tag.classList.toggle("far-enough", moved.share === 1);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    stage.addEventListener(name, (event) => {
      fingers.delete(event.pointerId);
      if (!begun) return;
      const moved = name === "pointerup" && begun.seat === label.current()?.seat && sideOf(event);
      release();
      if (moved && moved.share === 1) take(moved.side);
    });
  }
}
