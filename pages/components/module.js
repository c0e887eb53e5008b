// A script of a component as a module, fetched once a page.
import { appUrl } from "./address.js";

export function fetchModule(path) {
  const modules = (window.__encoderscopeModules ??= new Map());
  if (!modules.has(path)) {
    const module = importFrom(appUrl(path));
    module.catch(() => modules.delete(path)); // the next call tries again
    modules.set(path, module);
  }
  return modules.get(path);
}

async function importFrom(address) {
  const response = await fetch(address, { cache: "force-cache" });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const url = URL.createObjectURL(new Blob([await response.blob()], { type: "text/javascript" }));
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}
