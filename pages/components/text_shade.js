// A text shaded by attention, in the app.
import { TextView } from "../../encoder/drawing/text_view.js";
import { mounted } from "./mounted.js";

export default mounted(TextView);
