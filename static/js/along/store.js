/* What was taken along, as this browser keeps it: a cache of Cache Storage for each set, with the page,
   its scripts and styles, the seats and their images. The cache's name says whose it is and until when, so
   that it can be erased without being read. What was answered of it is in localStorage beside the answers.

   assay-along:<user>:<until, milliseconds by this browser's clock>:<campaign>:<id of the set>
   Its entry <page>set.json is written last: {id, until, seats, topics}. A cache without it is half a set. */
import { forget, keep, keysOf, read } from "../storage.js";

const PREFIX = "assay-along:";
export const SET = "set.json";

export const nameOf = ({ user, campaign, until, id }) => `${PREFIX}${user}:${until}:${campaign}:${id}`;
export const lockOf = (campaign) => `${PREFIX}taking:${campaign}`;
export const pageOf = (campaign) => `/campaigns/${campaign}/label/along/`;

function parse(name) {
  const [user, until, campaign, id] = name.slice(PREFIX.length).split(":");
  return { name, user: Number(user), until: Number(until), campaign, id };
}

/* Every set in this browser, whole or not: {name, user, until, campaign, id}. */
async function all() {
  if (!globalThis.caches) return [];
  const names = await caches.keys();
  return names.filter((name) => name.startsWith(PREFIX)).map(parse);
}

/* The person's set of the campaign, {name, cache, id, until, seats, topics}; null where there is none. */
export async function keptSet({ user, campaign }) {
  for (const { name, until, ...own } of await all()) {
    if (own.user !== user || own.campaign !== campaign || until <= Date.now()) continue;
    const cache = await caches.open(name);
    const found = await cache.match(pageOf(campaign) + SET);
    if (found) return { name, cache, ...(await found.json()) };
  }
  return null;
}

/* Erases what is over, what is half a set, and, where it is known who is logged in (0: nobody), what is
   another person's. Answers that were not sent stay where they are. */
export async function sweep(user) {
  if (!globalThis.caches) return;
  const locks = (await navigator.locks?.query())?.held.map((lock) => lock.name) ?? [];
  const kept = new Set();
  for (const set of await all()) {
    const taking = locks.includes(lockOf(set.campaign));
    const foreign = user !== undefined && set.user !== user;
    const over = set.until <= Date.now();
    if (foreign || over || !(taking || (await isWhole(set)))) await erase(set);
    else kept.add(set.campaign);
  }
  await unregister((campaign) => !kept.has(campaign) && !locks.includes(lockOf(campaign)));
}

async function isWhole({ name, campaign }) {
  const cache = await caches.open(name);
  return Boolean(await cache.match(pageOf(campaign) + SET));
}

export async function erase({ name, user, campaign, id }) {
  await caches.delete(name);
  if (recordOf({ user, campaign }).id === id) forget(recordKey({ user, campaign }));
}

/* Ends the workers of pages that have nothing any more. */
async function unregister(isDone) {
  const registrations = (await navigator.serviceWorker?.getRegistrations?.()) ?? [];
  for (const registration of registrations) {
    const found = new URL(registration.scope).pathname.match(/^\/campaigns\/([^/]+)\/label\/along\/$/);
    if (found && isDone(found[1])) await registration.unregister();
  }
}

/* The image of an answer that arrived is needed no more. */
export async function eraseImage({ seat, along }) {
  for (const { name, id } of await all()) {
    if (id === along) await (await caches.open(name)).delete(`/label/${seat}/image`, { ignoreSearch: true });
  }
}

const recordKey = ({ user, campaign }) => `assay:along:${user}:${campaign}`;

/* What became of the seats of the person's set: {id, answered, skipped}, of tokens. */
export function recordOf(set) {
  const { id, answered = [], skipped = [] } = read(recordKey(set)) ?? {};
  return { id, answered, skipped };
}

/* Seats of the set whose answers wait to be sent. */
export function waitingOf({ user, campaign, id }) {
  const entries = keysOf(`assay:answer:${user}:${campaign}:`).map(read);
  return entries.filter((entry) => entry?.along === id).map((entry) => entry.seat);
}

export function note(set, what, seats) {
  const found = recordOf(set);
  const record = found.id === set.id ? found : { id: set.id, answered: [], skipped: [] };
  record[what] = [...new Set([...record[what], ...seats])];
  keep(recordKey(set), JSON.stringify(record));
  return record;
}

/* A skip was undone. */
export function unskip(set, seat) {
  const record = recordOf(set);
  keep(recordKey(set), JSON.stringify({ ...record, skipped: record.skipped.filter((other) => other !== seat) }));
}

/* Whether answers can be kept until there is a connection. */
export function canKeep() {
  const key = "assay:along:try";
  const kept = keep(key, "1");
  forget(key);
  return kept;
}
