import { fetchModule } from "../../components/module.js";

// Where the server is. Streamlit's client would look below the page's own address first, and ask for settings that are
// always the same, before it connects.
window.__streamlit = {
  BACKEND_BASE_URL: new URL(".", location.href).href,
  HOST_CONFIG: { allowedOrigins: [location.origin], useExternalAuthToken: false },
};

// Shows the page when it has its heading, the names of the pages, and no widget or formula that is still being loaded:
// until then it would move. At the latest three seconds after its last change: a slow machine gets the time it needs.
const LATEST_MS = 3000;
const root = document.documentElement;
const has = (selector) => document.querySelector(selector) !== null;

function isPlaced() {
  if (has('[data-testid="stSkeleton"], [data-testid="stAppSkeleton"]')) return false;
  // A formula is text between $$ until the script that sets it arrives.
  if (document.querySelector(".stMain")?.textContent.includes("$$")) return false;
  // A page that failed has no heading. Before the first run the state is "notRunning", too.
  const hasEnded = has('[data-test-script-state="notRunning"] .stMain [data-testid="stElementContainer"]');
  return hasEnded || (has(".stMain h1") && has(".enc-pages"));
}

function show() {
  delete root.dataset.unplaced;
  watch.disconnect();
  clearTimeout(latest);
}

function check() {
  if (isPlaced()) return show();
  clearTimeout(latest);
  latest = setTimeout(show, LATEST_MS);
}

root.dataset.unplaced = "";
let latest = setTimeout(show, LATEST_MS);
const watch = new MutationObserver(check);
watch.observe(document.body, { childList: true, subtree: true, attributeFilter: ["data-test-script-state"] });

// The scripts of the page's first components are on their way before Streamlit asks for them.
document.querySelector("meta[name=encoderscope-scripts]")?.getAttribute("content").split(" ")
  .forEach((path) => fetchModule(path).catch(() => {}));
