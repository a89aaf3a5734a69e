/* A slider beside a number: <input type="range" data-number="radius"> and <input type="number"
   id="radius">. Each follows the other; whatever listens to the number need not know the slider. */

for (const slider of document.querySelectorAll("[data-number]")) {
  const number = document.getElementById(slider.dataset.number);
  slider.addEventListener("input", () => {
    number.value = slider.value;
    number.dispatchEvent(new Event("input", { bubbles: true }));
  });
  number.addEventListener("input", () => {
    if (number.value) slider.value = number.value;
  });
}
