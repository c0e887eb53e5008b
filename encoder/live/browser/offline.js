// What a visit without network will have: the service worker keeps files, and the page says when it has all of a model.

const SAYING_MS = 1000; // files that were kept before come faster, and nothing is said about them

export class Offline {
  // isKept: whether a browser keeps files; modelOf: gives the name of the open model.
  constructor(isKept, models, modelOf) {
    this.isKept = isKept;
    this.models = models;
    this.modelOf = modelOf;
    this.place = document.getElementById("offline");
    /** @type {Promise<unknown>[]} */
    this.keeping = [];
    this.shares = {}; // name of a model -> {share, saves}
    this.start = performance.now();
  }

  // loaded: addresses of files that came; shares: of each model, how much has come, and whether the rest waits.
  async keep({ loaded, shares }) {
    if (!this.isKept) return;
    Object.assign(this.shares, shares);
    const { active } = await navigator.serviceWorker.ready;
    if (loaded.length) this.keeping.push(kept(active, loaded));
    this.say();
    const { length } = this.keeping;
    await Promise.all(this.keeping);
    if (length === this.keeping.length) this.say(true);
  }

  say(isKept = false) {
    const { share = 0, saves = false } = this.shares[this.modelOf()] ?? {};
    const size = Math.round(this.models[this.modelOf()].bytes / 1e6);
    if (share === 1) {
      if (isKept) this.place.textContent = "Works offline now.";
    } else if (saves) this.place.textContent = "Offline: the words that you have used. Your browser saves data.";
    else if (performance.now() - this.start > SAYING_MS) {
      const all = size > 0 ? `${size} MB` : "all files";
      this.place.textContent = `Offline when ${all} have come: ${Math.floor(100 * share)}%.`;
    }
  }
}

// Resolves when the service worker has kept the files.
function kept(worker, files) {
  const { port1, port2 } = new MessageChannel();
  worker.postMessage(files, [port2]);
  return new Promise((done) => port1.onmessage = done);
}
