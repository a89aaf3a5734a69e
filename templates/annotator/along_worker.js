/* Replaces the service worker of questions taken along: erases what it kept and removes itself. */
addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(end()));

async function end() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith("assay-along:")).map((name) => caches.delete(name)));
  await registration.unregister();
}
