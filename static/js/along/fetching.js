/* Fetches a set into its cache: the page, what it is made of, and the images. */
import { SET, pageOf } from "./store.js";

// Connections that browsers open to one server.
const AT_ONCE = 4;
const TRIES = 3;
const RETRY_MS = 800;

export class Lost extends Error {}

/* Everything of the set but its images; told(share of it that is there). Raises Lost without a connection
   and QuotaExceededError where there is no room. What could not be opened is left out of `seats`. */
export async function fetchSet(cache, set, scripts, told) {
  await keepPage(cache, set.campaign, scripts);
  const examples = Object.values(set.topics).flatMap((topic) => topic.examples ?? []);
  const pictures = [...new Set(examples.map(({ image }) => image))];
  const jobs = [...set.seats.map((seat) => ({ url: seat.image, seat })), ...pictures.map((url) => ({ url }))];
  const gone = new Set();
  let done = 0;
  await inTurns(jobs, async ({ url, seat }) => {
    if (!(await keepOne(cache, url)) && seat) gone.add(seat.seat);
    told(++done / jobs.length);
  });
  const seats = set.seats.filter(({ seat }) => !gone.has(seat));
  const whole = { id: set.id, until: set.until, seats, topics: set.topics };
  const headers = { "Content-Type": "application/json" };
  await cache.put(pageOf(set.campaign) + SET, new Response(JSON.stringify(whole), { headers }));
}

/* The page and its scripts and styles as they are now, all or none. */
export async function keepPage(cache, campaign, scripts) {
  const found = new Map([[pageOf(campaign), await get(pageOf(campaign))]]);
  const roots = [...document.querySelectorAll("script[src], link[rel=stylesheet], link[rel=icon]")];
  const icons = [...document.querySelectorAll("use")].map((element) => element.href.baseVal.split("#")[0]);
  const addresses = [...roots.map((element) => element.src || element.href), ...new Set(icons), ...scripts];
  for (const url of addresses) await follow(url, found);
  for (const [url, response] of found) await cache.put(url, response);
}

/* A script or style, and what it imports. */
async function follow(address, found) {
  const url = new URL(address, location).href;
  if (found.has(url)) return;
  const response = await get(url);
  found.set(url, response);
  const text = /\.(js|css)$/.test(new URL(url).pathname) ? await response.clone().text() : "";
  const pattern = url.endsWith(".css") ? /url\(["']?([^"')]+)["']?\)/g : /(?:from|import)\s*"(\.[^"]+)"/g;
  for (const [, named] of text.matchAll(pattern)) {
    if (!named.startsWith("data:")) await follow(new URL(named, url).href, found);
  }
}

async function keepOne(cache, url) {
  if (await cache.match(url)) return true;
  const response = await get(url, (status) => status === 404);
  if (!response.ok) return false;
  await cache.put(url, response);
  return true;
}

async function get(url, mayFail = () => false) {
  for (let attempt = 1; ; attempt += 1) {
    const response = await fetch(url, { cache: "reload", redirect: "manual" }).catch(() => null);
    if (response && (response.ok || mayFail(response.status))) return response;
    if (attempt === TRIES) throw new Lost(url);
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS * attempt));
  }
}

async function inTurns(jobs, action) {
  const waiting = [...jobs];
  const work = async () => {
    for (let job; (job = waiting.shift()); ) await action(job);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
