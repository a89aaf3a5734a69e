/* Keeps records on this device, through crashes: small ones in localStorage, which is written before
   the call returns, large ones in IndexedDB, which has room.

   A record is any JSON with `at`, the time of writing; of two copies the newer one counts. */

import * as storage from "../storage.js";

const SMALL = 200_000;
const DATABASE = "assay";
const TABLE = "records";
let opened = null;

function database() {
  opened ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(TABLE);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  return opened;
}

/* What the action on the table gives, once it is on the disk; null where there is no database. */
async function table(mode, action) {
  try {
    const transaction = (await database()).transaction(TABLE, mode);
    const request = action(transaction.objectStore(TABLE));
    return await new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve(request.result ?? true);
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
  } catch {
    return null;
  }
}

/* Whether the record is kept. */
export async function put(key, record) {
  const text = JSON.stringify(record);
  if (text.length <= SMALL && storage.keep(key, text)) return true;
  const kept = await table("readwrite", (rows) => rows.put(record, key));
  // The older copy goes once the newer one is safe; a newer one may have come meanwhile.
  if (kept !== null && !(storage.read(key)?.at > record.at)) storage.forget(key);
  return kept !== null;
}

export async function get(key) {
  const [here, far] = [storage.read(key), await table("readonly", (rows) => rows.get(key))];
  if (!far || far === true) return here;
  return here && here.at >= far.at ? here : far;
}

export async function forget(key) {
  storage.forget(key);
  await table("readwrite", (rows) => rows.delete(key));
}

/* Removes records under this prefix that are older. */
export async function forgetOld(prefix, before) {
  const range = IDBKeyRange.bound(prefix, `${prefix}\uffff`);
  const far = await table("readonly", (rows) => rows.getAllKeys(range));
  for (const key of new Set([...storage.keysOf(prefix), ...(Array.isArray(far) ? far : [])])) {
    const record = await get(key);
    if (!(record?.at > before)) await forget(key);
  }
}
