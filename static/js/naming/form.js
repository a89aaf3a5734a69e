/* <form data-naming-form> with a picker (picker.js). */
import { attachForm } from "./picker.js";

attachForm(document.querySelector("form:has([data-picker])"));
