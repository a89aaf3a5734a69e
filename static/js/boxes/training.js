/* Training and test of boxes. HTML: templates/annotator/training_boxes.html. */
import { teach } from "../lesson.js";
import { Page } from "./page.js";

teach((lesson) => new Page(lesson));
