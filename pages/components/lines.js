// Attention as lines, in the app.
import { LinesView } from "../../encoder/drawing/lines_view.js";
import { mounted } from "./mounted.js";

export default mounted(LinesView);
