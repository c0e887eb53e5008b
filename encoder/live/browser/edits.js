// The changes that a reader's switches make, as the app writes them in a link: encoder/edits/link.py has the grammar.

const MOST_EDITS = 64;
const SWITCHED_OFF = "!"; // before an edit that the app keeps and does not run
const SUBLAYERS = { "attention-out": "attention", "ffn-out": "ffn" };

// {off, causal, positions, others}: others: edits that this page does not do.
/** @param {string} text */
export function readEdits(text) {
  const found = { off: /** @type {[number, number | string][]} */ ([]), causal: false, positions: true, others: [] };
  for (const one of text.split("~").filter((part) => part && !part.startsWith(SWITCHED_OFF)).slice(0, MOST_EDITS)) {
    if (one === "causal") found.causal = true;
    else if (one === "nopositions") found.positions = false;
    else {
      const parts = partsOff(one);
      if (parts) found.off.push(...parts);
      else found.others.push(one);
    }
  }
  return found;
}

// The heads, or the sublayer, that an edit switches off, as [layer, head or name]; null for another edit.
function partsOff(edit) {
  const [code, ...fields] = edit.split("_");
  const of = Object.fromEntries(fields.map((field) => [field[0], field.slice(1)]));
  const isOf = (names) => fields.length === names.length && [...names].every((name) => name in of);
  if (!/^\d+$/.test(of.l ?? "")) return null;
  const layer = Number(of.l);
  if (code === "ablate" && isOf("lh") && /^\d+$/.test(of.h)) return [[layer, Number(of.h)]];
  if (code !== "zero") return null;
  if (isOf("ol") && of.o in SUBLAYERS) return [[layer, SUBLAYERS[of.o]]];
  return isOf("olh") && of.o === "z" && /^\d+(-\d+)*$/.test(of.h)
    ? of.h.split("-").map((head) => [layer, Number(head)])
    : null;
}

// The same as text. kept: further edits, as they were written.
export function writtenEdits({ off, causal, positions }, kept = []) {
  const point = (part) => Object.keys(SUBLAYERS).find((one) => SUBLAYERS[one] === part);
  return [
    ...off.map(([layer, part]) =>
      typeof part === "number" ? `ablate_l${layer}_h${part}` : `zero_o${point(part)}_l${layer}`
    ),
    ...(causal ? ["causal"] : []),
    ...(positions ? [] : ["nopositions"]),
    ...kept,
  ].join("~");
}

// A sentence about the changes, for a page without their switches; "" without any.
export function changesIn({ off, causal, positions }) {
  const said = [
    ...off.map(([layer, part]) => `L${layer} ${typeof part === "number" ? `H${part}` : part} off`),
    ...(causal ? ["causal mask"] : []),
    ...(positions ? [] : ["no positions"]),
  ];
  return said.length ? `The model is changed here: ${said.join(", ")}.` : "";
}
