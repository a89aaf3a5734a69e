/* On every page: erases what was taken along once it is over, or somebody else is logged in, or nobody.

   <body data-user="id, empty for nobody">; without it nobody knows who is logged in. The form that logs
   out erases before it leaves. */
import { sweep } from "./store.js";

const { user } = document.body.dataset;

sweep(user === undefined ? undefined : Number(user));
document.addEventListener("submit", ({ target }) => {
  if (new URL(target.action, location).pathname.endsWith("/logout/")) sweep(0);
});
