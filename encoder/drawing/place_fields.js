// Layer and head in the number fields above the page, as soon as they hold them: before Python answers.
const FIELDS = ["layer", "head"];
const COMMITS = ["ArrowUp", "ArrowDown", "Enter"];

/** @type {(name: string) => HTMLInputElement | null} */
const field = (name) => document.querySelector(`.st-key-view-${name} input`);

// Calls `show` with { layer, head } after a step, Enter, or when a field is left.
export function listenToPlaceFields(drawing, show) {
  const read = () => {
    const [layer, head] = FIELDS.map((name) => parseInt(field(name)?.value ?? "", 10));
    if (layer >= 0 && head >= 0) show({ layer, head });
  };
  const isField = ({ target }) => FIELDS.some((name) => target.closest?.(`.st-key-view-${name}`));
  for (const type of ["click", "keyup", "focusout"]) {
    drawing.listen(document, type, (event) => {
      const commits = type !== "keyup" || COMMITS.includes(event.key);
      if (commits && isField(event)) setTimeout(read); // after React has changed the field
    });
  }
}
