// Shows the page when it has its heading, the names of the pages and the widgets that are being loaded: until then it
// would move. At the latest after three seconds.
const LATEST_MS = 3000;
const started = performance.now();
const root = document.documentElement;
// Before its first run the state is "notRunning", too.
const isDone = () =>
  document.querySelector('[data-test-script-state="notRunning"] .stMain [data-testid="stElementContainer"]');
const isPlaced = () =>
  document.querySelector(".stMain h1") && document.querySelector(".enc-pages") &&
  !document.querySelector('[data-testid="stSkeleton"], [data-testid="stAppSkeleton"]');

function check() {
  if (!isPlaced() && !isDone() && performance.now() - started < LATEST_MS) return;
  delete root.dataset.unplaced;
  watch.disconnect();
}

root.dataset.unplaced = "";
const watch = new MutationObserver(check);
watch.observe(document.body, { childList: true, subtree: true, attributeFilter: ["data-test-script-state"] });
setTimeout(check, LATEST_MS);
