// A text shaded by attention, in the app.
import { TextView } from "../../encoder/export/drawing/text_view.js";
import { mounted } from "./mounted.js";

export default mounted(TextView);
