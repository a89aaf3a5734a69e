/* For one release: a browser that still has a service worker of questions taken along fetches it again; the
   new one (templates/annotator/along_worker.js) erases their images and removes itself. */
import { forget, keysOf } from "./storage.js";

keysOf("assay:along:").forEach(forget);
navigator.serviceWorker?.getRegistrations().then((all) => all.forEach((registration) => registration.update()));
