/* <form data-naming-form> with a picker (picker.js) and a hidden field "looks". */
import { attachForm } from "./picker.js";

attachForm(document.querySelector("form:has([data-picker])"));
