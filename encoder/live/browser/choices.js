// What a reader selects in a picture, from the event of its drawing.

const CHOSEN = ["layer", "head", "part", "component", "neuron"];

// {layer, head, i, j, …}: the values that an event changes; i and j are the selected query and key, null for none.
// view, compare: of the address.
export function choicesOf(name, event, { view = "", compare = "" } = {}) {
  if (name === "grid") return event.event === "open" ? headsOf(event, view === "beside" ? compare : "") : {};
  if ("values" in event) return event.values;
  const values = Object.fromEntries(CHOSEN.filter((one) => one in event).map((one) => [one, event[one]]));
  if ("queries" in event) Object.assign(values, { i: event.queries[0] ?? null, j: event.keys[0] ?? null });
  if ("units" in event) Object.assign(values, { i: event.units[0] ?? null });
  if ("query" in event) values.i = event.query;
  if ("key" in event) values.j = event.key;
  if ("first" in event) values.first = event.first;
  return values;
}

// In a comparison of heads, a head of the grid is the other one; in any other, it is that of both sides.
function headsOf({ layer, head }, compare) {
  if (compare === "heads") return { layer_b: layer, head_b: head };
  return { layer, head, ...(compare ? { layer_b: null, head_b: null } : {}) };
}
