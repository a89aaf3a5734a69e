/* Training and test of drawings. HTML: templates/annotator/training_parts.html. */
import { teach } from "../lesson.js";
import { Page } from "./page.js";

teach((lesson) => new Page(lesson));
