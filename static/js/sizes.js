/* How large the images of a page are: two actions, remembered in this browser. */

const KEY = "assay:tiles";
const SIZES = ["small", "medium", "large"];

export function attachSizes(list) {
  let place = 1;
  try {
    place = Math.max(0, SIZES.indexOf(localStorage.getItem(KEY) || "medium"));
  } catch {
    // Storage is switched off.
  }
  const set = (next) => {
    place = Math.min(SIZES.length - 1, Math.max(0, next));
    list.dataset.size = SIZES[place];
    try {
      localStorage.setItem(KEY, SIZES[place]);
    } catch {
      // Not remembered, then.
    }
  };
  set(place);
  return { larger: () => set(place + 1), smaller: () => set(place - 1) };
}
