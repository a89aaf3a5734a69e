/* The service worker of one campaign's page of questions taken along: with a set in this browser it
   answers from it, connection or not; else it does nothing. Whenever it wakes it erases what is over.
   Names of caches and their entries: store.js. A request that says cache: "reload" goes to the server. */
const PREFIX = "assay-along:";
const here = new URL(registration.scope).pathname;
const campaign = here.split("/")[2];

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(current().then(() => clients.claim())));
addEventListener("message", (event) => event.waitUntil(current()));
addEventListener("fetch", (event) => {
  const { request } = event;
  const isOurs = request.method === "GET" && new URL(request.url).origin === location.origin;
  if (isOurs && request.cache !== "reload") event.respondWith(answer(request));
});

async function answer(request) {
  const cache = await current();
  const isPage = request.mode === "navigate" && new URL(request.url).pathname === here;
  const kept = await cache?.match(isPage ? here : request.url, { ignoreVary: true });
  return kept ?? fetch(request);
}

/* The whole set of this campaign that is not over; null for none. */
async function current() {
  let found = null;
  for (const name of await caches.keys()) {
    if (!name.startsWith(PREFIX)) continue;
    const [, until, own] = name.slice(PREFIX.length).split(":");
    if (Number(until) <= Date.now()) await caches.delete(name);
    else if (own === campaign) {
      const cache = await caches.open(name);
      if (await cache.match(`${here}set.json`)) found = cache;
    }
  }
  return found;
}
