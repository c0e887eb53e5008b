// All heads of a model as small maps, in the app.
import { GridView } from "../../encoder/drawing/grid_view.js";
import { mounted } from "./mounted.js";

export default mounted(GridView);
