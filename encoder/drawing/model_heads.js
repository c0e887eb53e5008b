// All heads of the open layer as small maps, below the model's picture; a click opens one.
/** @import { ModelView } from "./model_view.js" */
import { make } from "./drawing.js";

const LINE_COLOUR = { light: [31, 99, 196], dark: [96, 165, 250] }; // as the lines of the open head

/** @param {ModelView} view */
export function drawHeads(view) {
  const { header, arrays, heads, main } = view;
  const maps = arrays.crossMaps ?? arrays.maps;
  const said = `Heads of layer ${header.layer}, as ${main ? "cross-attention" : "attention"} maps. ` +
    "Row: query. Column: key. Bluer: larger weight.";
  const buttons = Array.from({ length: maps.shape[0] }, (_, head) => {
    const off = view.isHeadOff(head) ? " off" : "";
    const pressed = { type: "button", "aria-pressed": String(head === header.head), class: off && "enc-off" };
    const button = make("button", pressed, headMap(view, maps, head), `H${head}${off}`);
    button.setAttribute("aria-label", `H${head}${off}, layer ${header.layer}${main ? ", cross-attention" : ""}`);
    button.addEventListener("click", () => view.choice.openLayer(header.layer, head));
    return button;
  });
  heads.replaceChildren(make("p", {}, said), ...buttons);
}

// A pixel for each weight. maps: bytes [H, rows, columns].
/** @param {ModelView} view @param {WireArray} maps @param {number} head */
function headMap({ theme }, { data, shape: [, rows, columns] }, head) {
  const map = make("canvas", { width: columns, height: rows, "aria-hidden": "true" });
  const pen = map.getContext("2d");
  const image = pen.createImageData(columns, rows);
  const colour = theme.dark ? LINE_COLOUR.dark : LINE_COLOUR.light;
  const own = data.subarray(head * rows * columns, (head + 1) * rows * columns);
  own.forEach((value, at) => image.data.set([...colour, value], 4 * at));
  pen.putImageData(image, 0, 0);
  return map;
}
