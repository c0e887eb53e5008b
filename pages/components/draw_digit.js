// The square to draw a digit in, in the app.
import { DrawView } from "../../encoder/drawing/draw_view.js";
import { mounted } from "./mounted.js";

export default mounted(DrawView);
