// Every drawing, by the kind of its picture: what a page of its own and a notebook can show.
import { FigureView } from "./figure_view.js";
import { GridView } from "./grid_view.js";
import { LinesView } from "./lines_view.js";
import { ModelView } from "./model_view.js";
import { TextView } from "./text_view.js";

export const VIEWS = {
  figure: FigureView,
  head_grid: GridView,
  lines: LinesView,
  model_picture: ModelView,
  text_shade: TextView,
};
