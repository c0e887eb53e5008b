// What a reader selects in a picture, from the event of its drawing.

const CHOSEN = ["layer", "head", "part", "component", "neuron"];

// {layer, head, i, j, …}: the values that an event changes; i and j are the selected query and key, null for none.
export function choicesOf(name, event) {
  if (name === "grid") return event.event === "open" ? { layer: event.layer, head: event.head } : {};
  const values = Object.fromEntries(CHOSEN.filter((one) => one in event).map((one) => [one, event[one]]));
  if ("queries" in event) Object.assign(values, { i: event.queries[0] ?? null, j: event.keys[0] ?? null });
  if ("units" in event) Object.assign(values, { i: event.units[0] ?? null });
  if ("query" in event) values.i = event.query;
  if ("key" in event) values.j = event.key;
  if ("first" in event) values.first = event.first;
  return values;
}
