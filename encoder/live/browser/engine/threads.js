// The threads of the kernel: this one, or this one and helpers in other workers that have the same memory. A run is a list
// of calls, each of which has results of its own, so no number depends on who makes it. WebGPU was not tried: the browser
// of our measurements has no adapter but one in software.
import { kernel } from "./kernel.js";

const FUNCTIONS = ["multiply", "softmax", "layerNorm", "gelu"];
const MOST_THREADS = 4;
const MOST_PAGES = 2 ** 15; // 2 GB: a shared memory reserves the addresses of all that it may become
const [MOST_CALLS, CALL] = [255, 9]; // numbers of a call: its function and up to eight arguments
// Places in the control: the job and its calls that nobody has taken; the calls that are not made yet; the calls.
const [TICKET, LEFT, CALLS] = [0, 1, 2];
const STOPPED = -256; // a ticket without calls
const LEAST_WORK = 2 ** 19; // multiplications; one thread makes fewer in the time that a helper takes to wake
const SPINS = 2_000; // looks before a thread sleeps: to wake it takes longer than most gaps between two jobs
const PATIENCE_MS = 2_000; // until helpers must have started

const instance = (
  module,
  memory,
) => /** @type {any} */ (new WebAssembly.Instance(module, { memory: { it: memory } }).exports);

// One thread. Its memory is null where the browser has no vectors, or a server forbids WebAssembly.
export class OneThread {
  constructor(mostShared = 0) {
    this.count = 1; // of threads
    this.memory = null;
    try {
      const [fused, separate] = [true, false].map((isFused) => kernel(isFused, mostShared));
      this.module = new WebAssembly.Module(WebAssembly.validate(fused) ? fused : separate);
      const memory = new WebAssembly.Memory({ initial: 1, ...(mostShared && { maximum: mostShared, shared: true }) });
      this.functions = instance(this.module, memory);
      this.memory = memory;
    } catch {
      // without memory
    }
  }

  // calls: of functions of the kernel, as [name, ...arguments]. work: of all of them, in multiplications.
  run(calls, _work = 0) {
    for (const [name, ...given] of calls) this.functions[name](...given);
  }
}

// This thread and helpers. The thread hands out calls and takes part, so a helper that comes late costs nothing.
export class Threads extends OneThread {
  // Threads with helpers, which the page of this worker starts (`helpers.js`); null where the browser or the headers of the
  // page allow none.
  /** @returns {Promise<Threads | null>} */
  static async start(most = Math.min(navigator.hardwareConcurrency, MOST_THREADS)) {
    if (!globalThis.crossOriginIsolated || !(most > 1)) return null;
    const threads = new Threads(MOST_PAGES);
    if (!threads.memory) return null;
    if (await threads.getHelpers(most - 1)) return threads;
    threads.stop();
    return null;
  }

  constructor(mostShared) {
    super(mostShared);
    this.control = new Int32Array(new SharedArrayBuffer(4 * (CALLS + MOST_CALLS * CALL)));
    this.job = 0;
    this.least = LEAST_WORK; // of a run that helpers take part in
  }

  // Whether so many helpers have started.
  async getHelpers(count) {
    const { memory, module, control } = this;
    const channels = Array.from({ length: count }, () => new MessageChannel());
    const ports = channels.map(({ port2 }) => port2);
    postMessage({ helpers: ports }, { transfer: ports });
    const haveStarted = channels.map(({ port1: own }) => {
      own.postMessage({ memory, module, control });
      return new Promise((done) => {
        own.addEventListener("message", () => done(true));
        own.start();
        setTimeout(done, PATIENCE_MS, false);
      });
    });
    const started = (await Promise.all(haveStarted)).filter(Boolean).length;
    this.count += started;
    return started === count;
  }

  // Sends the helpers away, also those that come later.
  stop() {
    Atomics.store(this.control, TICKET, STOPPED);
    Atomics.notify(this.control, TICKET);
  }

  /** @override */
  run(calls, work) {
    if (work < this.least) return super.run(calls);
    for (let at = 0; at < calls.length; at += MOST_CALLS) this.handOut(calls.slice(at, at + MOST_CALLS));
  }

  handOut(calls) {
    const { control } = this;
    calls.forEach(([name, ...given], at) => control.set([FUNCTIONS.indexOf(name), ...given], CALLS + at * CALL));
    control[LEFT] = calls.length;
    this.job += 1;
    Atomics.store(control, TICKET, this.job << 8 | calls.length);
    Atomics.notify(control, TICKET);
    while (takeOne(control, this.functions));
    for (let spins = 0, left = 0; (left = Atomics.load(control, LEFT)) > 0; spins++) {
      if (spins > SPINS) Atomics.wait(control, LEFT, left);
    }
  }
}

// What a helper does until its page is closed. port: of the thread that it helps.
/** @param {MessagePort} port @param {{ memory: any, module: any, control: Int32Array }} shared */
export function help(port, { memory, module, control }) {
  const functions = instance(module, memory);
  port.postMessage("ready");
  for (let spins = 0;; spins++) {
    const ticket = Atomics.load(control, TICKET);
    if (ticket === STOPPED) return close();
    if (takeOne(control, functions)) spins = 0;
    else if (spins > SPINS) Atomics.wait(control, TICKET, ticket);
  }
}

// Makes the last call that nobody has taken; false where there is none. A ticket counts down within a job and differs
// from those of other jobs, so what was read before the exchange is of the job whose call is taken.
/** @param {Int32Array} control */
function takeOne(control, functions) {
  const ticket = Atomics.load(control, TICKET);
  const left = ticket & MOST_CALLS;
  if (!left) return false;
  const start = CALLS + (left - 1) * CALL;
  const [at, ...given] = control.subarray(start, start + CALL);
  if (Atomics.compareExchange(control, TICKET, ticket, ticket - 1) !== ticket) return true; // another was quicker
  functions[FUNCTIONS[at]](...given);
  if (Atomics.sub(control, LEFT, 1) === 1) Atomics.notify(control, LEFT);
  return true;
}
