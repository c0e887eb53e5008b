// Plotly figures of a head: those that `encoder/live/blanks.py` drew over one cell, with the numbers of a pass.
import { cutTo, lettersOf, named, shownLabel, shownName, withoutMarkup } from "./labels.js";

const LONGEST_TITLE = 34;
const HORIZONTAL_UP_TO = 28; // letters of all labels of a horizontal axis
const LABELLED_UP_TO = 40; // tokens; of more, Plotly chooses those with a label
const TIGHT_LETTERS = 11; // pixels of a framed label that must not cover the next one
const CASING = "#ffffff"; // of a frame that is not thin

// The largest absolute value, which has the full colour.
export const farthest = (rows) =>
  rows.flat().reduce((most, value) => value === null ? most : Math.max(most, Math.abs(value)), 0) || 1;

// rows: values of each row; labels and names: of the rows, and of the columns unless `components` counts them.
/**
 * @typedef {{ rows: number[][], labels: string[], names?: string[], components?: number, query?: number | null,
 *   key?: number | null, limit?: number, isTight?: boolean, gaps?: number[], words?: Record<string, string>, both?: number[][][] }} Given
 */

// A figure with numbers. query, key: the framed row and column; limit: the value of the full colour at both ends; isTight:
// rows are lower than a framed label; gaps: rows
// and columns without a token; words: in the place of {name}; both: two numbers for each hover label.
/** @param {any} figures @param {string} kind @param {Given} given */
export function filled(figures, kind, given) {
  const { data: [cells], layout, thin } = figures[kind];
  const { rows, labels, names = named(labels), components, limit, words = {}, both } = given;
  const { query = null, key = null, gaps = [] } = given;
  const size = components ?? rows.length;
  const places = Array.from(rows.keys());
  const limits = limit === undefined ? {} : { zmin: -limit, zmax: limit };
  const xaxis = components ? ranged(layout.xaxis, size) : ofTokens(layout.xaxis, labels, names);
  const { range: [first, last], ...down } = ofTokens(layout.yaxis, labels, names);
  const frames = thinned(moved(layout.shapes, query, key), Math.max(rows.length, components ? 0 : size) > thin);
  return withWords({
    data: [{
      ...cells,
      ...limits,
      x: Array.from({ length: size }, (_, at) => at),
      y: places,
      z: rows,
      customdata: both,
    }],
    layout: {
      ...layout,
      xaxis,
      yaxis: { ...down, range: [last, first] },
      shapes: [...bandsOf(figures.gap, gaps), ...frames],
      annotations: labelled(layout.annotations, {
        query,
        key,
        labels,
        names,
        isTight: given.isTight,
        isUpright: xaxis.tickangle !== 0,
      }),
      uirevision: `${rows.length}x${size}`,
    },
  }, words);
}

const ranged = (axis, count) => ({ ...axis, range: [-0.5, count - 0.5] });

function ofTokens(axis, labels, names) {
  const letters = Math.max(...labels.map(lettersOf)) * labels.length;
  const places = Array.from(labels.keys());
  return {
    ...ranged(axis, labels.length),
    categoryarray: places,
    tickvals: places,
    ticktext: labels.map(shownLabel),
    labelalias: Object.fromEntries(places.map((at) => [at, shownName(labels[at], names[at])])),
    tickmode: labels.length <= LABELLED_UP_TO ? "array" : axis.tickmode,
    ...("tickangle" in axis ? { tickangle: letters <= HORIZONTAL_UP_TO ? 0 : -90 } : {}),
  };
}

// Frames of the first row and column, around the selected ones.
const moved = (shapes, row, column) =>
  shapes.flatMap((shape) => {
    const [isRow, isColumn] = [shape.yref === "y", shape.xref === "x"];
    if (isRow && row === null || isColumn && column === null) return [];
    const [y, x] = [isRow && { y0: row - 0.5, y1: row + 0.5 }, isColumn && { x0: column - 0.5, x1: column + 0.5 }];
    return [{ ...shape, ...y, ...x }];
  });

const thinned = (shapes, isThin) =>
  isThin
    ? shapes.filter(({ line, xref, yref }) => line.color !== CASING && !(xref === "x" && yref === "y"))
      .map((shape) => ({ ...shape, line: { ...shape.line, width: 1 } }))
    : shapes;

// The labels of the selected row and column; a title stays.
const labelled = (annotations, { query, key, labels, names, isTight, isUpright }) =>
  annotations.flatMap((one) => {
    const place = one.yref === "y" ? query : one.xref === "x" ? key : undefined;
    if (place === undefined) return [one];
    if (place === null) return [];
    const isNamed = labels.length > LABELLED_UP_TO; // as on the axis, whose label is below this one
    const text = isNamed ? shownName(labels[place], names[place]) : shownLabel(labels[place]);
    const fit = isTight ? { borderpad: 0, font: { ...one.font, size: TIGHT_LETTERS } } : {};
    return [
      one.yref === "y" ? { ...one, ...fit, y: place, text } : {
        ...one,
        x: place,
        text,
        ...(isUpright ? { textangle: -90 } : {}),
      },
    ];
  });

// Neighbours are one band. bands: of a row, of a column.
function bandsOf([across, down], places) {
  const runs = [];
  for (const place of places) {
    if (runs.at(-1)?.[1] === place - 1) runs.at(-1)[1] = place;
    else runs.push([place, place]);
  }
  return [
    ...runs.map(([low, high]) => ({ ...across, y0: low - 0.5, y1: high + 0.5 })),
    ...runs.map(([low, high]) => ({ ...down, x0: low - 0.5, x1: high + 0.5 })),
  ];
}

// Plotly's own places, such as %{x}, stay.
function withWords(figure, words) {
  const shown = Object.fromEntries(
    Object.entries(words).map(([name, text]) => [`{${name}}`, withoutMarkup(cutTo(text, LONGEST_TITLE))]),
  );
  const put = (text) => Object.entries(shown).reduce((made, [name, one]) => made.replaceAll(name, () => one), text);
  const [cells] = figure.data;
  const { title } = cells.colorbar;
  const data = [{
    ...cells,
    hovertemplate: put(cells.hovertemplate),
    colorbar: { ...cells.colorbar, title: { ...title, text: put(title.text) } },
  }];
  const annotations = figure.layout.annotations.map((one) => ({ ...one, text: put(one.text) }));
  return { data, layout: { ...figure.layout, annotations } };
}
