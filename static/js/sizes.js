/* How large the images of a page are: two actions, remembered in this browser. */

import { keep, recall } from "./storage.js";

const KEY = "assay:tiles";
const SIZES = ["small", "medium", "large"];

export function attachSizes(list) {
  let place = Math.max(0, SIZES.indexOf(recall(KEY) || "medium"));
  const set = (next) => {
    place = Math.min(SIZES.length - 1, Math.max(0, next));
    list.dataset.size = SIZES[place];
    keep(KEY, SIZES[place]);
  };
  set(place);
  return { larger: () => set(place + 1), smaller: () => set(place - 1) };
}
