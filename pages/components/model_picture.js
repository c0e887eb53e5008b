// The whole model as one picture, in the app.
import { ModelView } from "../../encoder/drawing/model_view.js";
import { mounted } from "./mounted.js";

export default mounted(ModelView);
