// The layer with numbers to change, in the app.
import { ByHandView } from "../../encoder/drawing/by_hand_view.js";
import { mounted } from "./mounted.js";

export default mounted(ByHandView);
