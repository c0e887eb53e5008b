// Words that are true of the pictures next to them: while a picture is older than the words, their place is marked, and
// the page's styles hide the words. Python marks the words, and gives each picture the same name.
const places = new WeakMap(); // place -> its pictures

// A picture that belongs to the words of a place; it has shown nothing yet.
export function join(picture, { key }) {
  const place = picture.root.closest(`.st-key-${key}`);
  if (!place || picture.place === place) return;
  leave(picture);
  picture.place = place;
  if (!places.has(place)) {
    places.set(place, new Set());
    const look = () => update(place);
    new MutationObserver(look).observe(place, { subtree: true, childList: true, attributeFilter: ["class"] });
  }
  places.get(place).add(picture);
}

// The picture shows what the words of this name say.
export function shows(picture, { name }) {
  picture.shown = name;
  if (picture.place) update(picture.place);
}

export function leave(picture) {
  const { place } = picture;
  picture.place = null;
  if (places.get(place)?.delete(picture)) update(place);
}

function update(place) {
  const words = place.querySelector('[class*="st-key-says-"]');
  const name = words?.className.match(/st-key-says-(\w+)/)[1];
  const isOlder = Boolean(name) && [...places.get(place)].some(({ shown }) => shown !== name);
  if (place.hasAttribute("data-drawing") !== isOlder) place.toggleAttribute("data-drawing", isOlder);
}
