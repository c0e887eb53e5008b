// Keeps the site for the next visit, which then needs no network. Weights and lessons are kept when a reader has opened them.
/** @type {any} */
const worker = self; // a service worker, whose types are not those of a page
const OWN = `encoderscope ${worker.registration.scope} `; // other folders of the same host have caches of their own
const [NAME, KEPT] = [OWN + VERSION, FILES];
const LARGE = /models\/|lessons\/./;

worker.addEventListener("install", (event) => {
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(KEPT.filter((file) => !LARGE.test(file)))));
});

worker.addEventListener("activate", (event) => {
  const isOld = (name) => name.startsWith(OWN) && name !== NAME;
  const others = (names) => names.filter(isOld).map((name) => caches.delete(name));
  event.waitUntil(caches.keys().then((names) => Promise.all(others(names))).then(() => worker.clients.claim()));
});

worker.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(worker.registration.scope)) return;
  event.respondWith(answer(event.request));
});

// What a first visit loaded before this worker had the page: the browser still has these files.
// The page hears when they are kept.
worker.addEventListener("message", (event) => {
  event.waitUntil(Promise.all(event.data.map(keep)).then(() => event.ports[0]?.postMessage(true)));
});

async function keep(file) {
  const cache = await caches.open(NAME);
  if (!await cache.match(file)) await cache.add(new Request(file, { cache: "force-cache" }));
}

async function answer(request) {
  const response = await found(request);
  return response.ok && (request.mode === "navigate" || request.destination === "worker")
    ? isolated(response)
    : response;
}

async function found(request) {
  const cache = await caches.open(NAME);
  const kept = await cache.match(request, { ignoreSearch: true });
  if (kept) return kept;
  const response = await fetch(request);
  if (response.ok && LARGE.test(request.url)) await cache.put(request, response.clone());
  return response;
}

// A page that is isolated from those of other hosts may share memory between its threads, which `engine/threads.js` needs.
function isolated({ body, status, statusText, headers: own }) {
  const headers = new Headers(own);
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Embedder-Policy", "require-corp");
  return new Response(body, { status, statusText, headers });
}
