// In a page: starts the helpers that its engine's thread asks for, since in Firefox `new Worker` in a worker sometimes never
// returns. ports: one for each helper, by which the thread sends what it shares: a page's rules may forbid WebAssembly.
export function startHelpers(ports, address) {
  for (const port of ports) {
    const helper = new Worker(address);
    helper.addEventListener("error", (event) => event.preventDefault()); // the thread hears of none, and computes by itself
    helper.postMessage(port, [port]);
  }
}
