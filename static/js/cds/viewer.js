/* Scrubs through the frames of one object.

   <div data-viewer data-frames="…" data-count data-shown [data-ready]> holds [data-picture] (with
   <img data-big>, once there is one, and <form data-ask> with [data-words], [data-progress],
   [data-draw]), [data-caption], <input type="range" data-slider> and one [data-now="row"] for each
   classifier. The table [data-strip] has th[data-frame][data-caption-of][data-source] with
   <a data-go>, and in <tbody data-answers> a row for each classifier with a td[data-frame] for each
   answer. Links with data-keep go to the same frame of another sequence. Frames that are not drawn
   yet are asked for at once. */

const POLL_MS = 700;
const viewer = document.querySelector("[data-viewer]");
const picture = viewer.querySelector("[data-picture]");
const slider = viewer.querySelector("[data-slider]");
const ask = viewer.querySelector("[data-ask]");
const strip = document.querySelector("[data-strip]");
const heads = [...strip.querySelectorAll("th[data-frame]")];
const count = Number(viewer.dataset.count);
let shown = Number(viewer.dataset.shown);
let isReady = "ready" in viewer.dataset;

function show(frame, quietly) {
  shown = Math.min(Math.max(frame, 1), count);
  slider.value = shown;
  const head = heads[shown - 1];
  viewer.querySelector("[data-caption]").textContent = `Frame ${shown} of ${count}: ${head.dataset.captionOf}`;
  for (const cell of strip.querySelectorAll("[data-frame]")) {
    const isShown = Number(cell.dataset.frame) === shown;
    cell.classList.toggle("is-shown", isShown);
    if (cell.matches("th")) isShown ? cell.setAttribute("aria-current", "true") : cell.removeAttribute("aria-current");
  }
  for (const [at, row] of [...strip.querySelectorAll("[data-answers] tr")].entries()) {
    const answer = row.querySelector(`td[data-frame="${shown}"] .answer-now`);
    viewer.querySelector(`[data-now="${at}"]`).replaceChildren(answer.cloneNode(true));
  }
  if (isReady) showPicture(head.dataset.source);
  if (quietly) return;
  history.replaceState(null, "", shown === 1 ? location.pathname : `?frame=${shown}`);
  keepFrame();
  scrollTo(head);
}

function showPicture(source) {
  let big = picture.querySelector("[data-big]");
  if (!big) {
    big = document.createElement("img");
    big.dataset.big = "";
    picture.prepend(big);
  }
  big.src = source;
  big.alt = viewer.querySelector("[data-caption]").textContent;
}

/* The links to other sequences lead to the frame that is looked at. */
function keepFrame() {
  for (const link of document.querySelectorAll("a[data-keep]")) {
    link.search = shown === 1 ? "" : `?frame=${shown}`;
  }
}

function scrollTo(head) {
  const first = strip.querySelector("thead th").offsetWidth;
  const left = head.offsetLeft - first;
  const isLeft = left < strip.scrollLeft;
  const isRight = head.offsetLeft + head.offsetWidth > strip.scrollLeft + strip.clientWidth;
  if (isLeft || isRight) strip.scrollLeft = left - 8;
}

async function draw() {
  const words = ask.querySelector("[data-words]");
  const progress = ask.querySelector("[data-progress]");
  ask.querySelector("[data-draw]").hidden = true;
  try {
    let told = await tell(ask.action, { method: "POST", body: new FormData(ask) });
    while (told.state !== "done") {
      if (told.state === "failed") throw new Error(told.error || "");
      words.textContent = told.ready ? `${told.ready} of ${told.total} frames drawn` : "The frames are being drawn.";
      progress.hidden = false;
      progress.max = told.total || count;
      progress.value = told.ready;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      told = await tell(viewer.dataset.frames);
    }
    become();
  } catch (error) {
    words.textContent = error.message || "The frames could not be drawn. Try again.";
    progress.hidden = true;
    ask.querySelector("[data-draw]").hidden = false;
  }
}

async function tell(address, options = {}) {
  const reply = await fetch(address, { ...options, headers: { Accept: "application/json" } });
  if (reply.ok) return reply.json();
  const told = await reply.json().catch(() => ({}));
  throw new Error(told.message || "");
}

function become() {
  isReady = true;
  ask.hidden = true;
  for (const head of heads) {
    const small = document.createElement("img");
    small.src = head.dataset.source;
    small.alt = "";
    head.querySelector(".thumb").replaceChildren(small);
  }
  show(shown, true);
}

const STEPS = {
  ArrowLeft: () => shown - 1,
  ArrowRight: () => shown + 1,
  Home: () => 1,
  End: () => count,
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
  const step = STEPS[event.key];
  // The slider moves itself.
  if (!step || event.target === slider) return;
  event.preventDefault();
  show(step());
});
slider.addEventListener("input", () => show(Number(slider.value)));
strip.addEventListener("click", (event) => {
  const link = event.target.closest("[data-go]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  show(Number(link.dataset.go));
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-open], [data-close]");
  if (button?.dataset.open) document.getElementById(button.dataset.open).showModal();
  else button?.closest("dialog").close();
});
ask.addEventListener("submit", (event) => {
  event.preventDefault();
  draw();
});

document.querySelector("[data-open]").hidden = false;
slider.hidden = false;
show(shown, true);
keepFrame();
if (!isReady) draw();
