/* How many images fit on a stage, in how many columns: pure, so that node can test it.

   stage: {width, height, gap, bar} in CSS pixels; bar is the height below each image. ratios: width
   over height of each image. Every cell is as large as the next, images stand in it whole. */

/* The shorter side of an image must be as long, on a stage where it could be. */
export const LEAST_PX = 90;

/* The images in so many columns: {columns, width, face, covered, least}, where a cell is `width` x
   `face` (as large as its images need), covered is the area of all images, and least says whether
   each is large enough; null where nothing fits. */
export function arrange(ratios, columns, stage) {
  const { gap, bar } = stage;
  const rows = Math.ceil(ratios.length / columns);
  const width = Math.floor((stage.width - gap * (columns - 1)) / columns);
  const face = Math.floor((stage.height - gap * (rows - 1)) / rows) - bar;
  if (width <= 0 || face <= 0) return null;
  const sizes = ratios.map((ratio) => inside(ratio, width, face));
  return {
    columns,
    width: Math.ceil(Math.max(Math.min(width, LEAST_PX), ...sizes.map(([w]) => w))),
    face: Math.ceil(Math.max(...sizes.map(([, h]) => h))),
    covered: sizes.reduce((sum, [w, h]) => sum + w * h, 0),
    least: sizes.every((size, place) => isLargeEnough(size, ratios[place], stage)),
  };
}

/* The arrangement of all of them that covers most of the stage, with each image large enough; null
   where there is none. */
export function best(ratios, stage) {
  let found = null;
  for (let columns = 1; columns <= ratios.length; columns += 1) {
    const made = arrange(ratios, columns, stage);
    if (made?.least && made.covered > (found?.covered ?? 0)) found = made;
  }
  return found;
}

/* How many of them make the next page: all that fit, in full rows where others follow; 1 at least. */
export function pageSize(ratios, stage) {
  for (let count = ratios.length; count > 1; count -= 1) {
    const made = best(ratios.slice(0, count), stage);
    if (made) return count < ratios.length ? count - (count % made.columns) || count : count;
  }
  return 1;
}

function inside(ratio, width, height) {
  return ratio > width / height ? [width, width / ratio] : [height * ratio, height];
}

/* A long image that would be narrower alone on the stage is as large as it can be there. */
function isLargeEnough([width, height], ratio, stage) {
  const alone = Math.min(...inside(ratio, stage.width, stage.height - stage.bar));
  return Math.min(width, height) >= Math.min(LEAST_PX, alone) - 0.01;
}
