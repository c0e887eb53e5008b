// A page in a frame of another page: what the host sets, and what it hears. docs/embedding.md describes the messages.
import { MOST_LETTERS, OF_B } from "./view_address.js";

const FRAME_NAMES = ["embed", "theme", "show"]; // of the address, besides those of the view
const SETTABLE = ["text", "similar_to", "model", "layer", "head", "i", "j", "view", "norm", ...OF_B];
const BESIDE = 56; // pixels around a picture in a frame

const given = new URLSearchParams(location.search);
const frameValues = FRAME_NAMES.filter((name) => given.has(name)).map((name) => [name, given.get(name)]);
const isEmbedded = given.get("embed") === "1";

// The values of the address that say how the page is framed.
export const framing = () => frameValues;

// A page in a frame has one picture and nothing around it; its theme may be the host's.
export function arrangeFrame(places) {
  const root = document.documentElement;
  if (["light", "dark"].includes(given.get("theme"))) root.dataset.theme = given.get("theme");
  if (!isEmbedded) return;
  root.dataset.embedded = "";
  const shown = places.find(({ id }) => id === given.get("show"));
  for (const place of places) place.hidden = shown !== undefined && place !== shown;
}

// Tells the host. A page that is not embedded tells nobody.
export function tellHost(kind, values = {}) {
  if (isEmbedded && parent !== window) parent.postMessage({ encoderscope: kind, ...values }, "*");
}

// Hears what the host sets. onSet: gets a value for each name; an Error is told to the host as a sentence.
export function listenToHost(onSet) {
  if (!isEmbedded || parent === window) return;
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || data?.encoderscope !== "set") return;
    try {
      onSet(checkedSetting(data));
    } catch (error) {
      tellHost("error", { message: /** @type {Error} */ (error).message });
    }
  });
}

// The values of a message as texts, as in an address. Raises an Error with a sentence.
function checkedSetting({ encoderscope: _, ...values }) {
  const unknown = Object.keys(values).find((name) => !SETTABLE.includes(name));
  if (unknown !== undefined) throw new Error(`“${unknown}” cannot be set: choose ${SETTABLE.join(", ")}.`);
  const texts = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value ?? "")]));
  if ([texts.text, texts.similar_to, texts.text_b].some((text) => text?.length > MOST_LETTERS)) {
    throw new Error(`A text has ${MOST_LETTERS} letters at most.`);
  }
  return texts;
}

// The HTML line that shows a view in another page. height: of its picture in pixels; show: the picture, "" for a
// page without one.
export function frameLine(address, show, height, title) {
  const whole = new URL(address);
  whole.searchParams.set("embed", "1");
  if (show) whole.searchParams.set("show", show);
  const quoted = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
  return `<iframe src="${quoted(whole.href)}" title="${quoted(title)}" width="100%" height="${height + BESIDE}" ` +
    'loading="lazy" style="border:0"></iframe>';
}
