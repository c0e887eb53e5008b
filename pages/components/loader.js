// Fetches a component's script once. Streamlit sends only this loader with each change of the component's data.
import { appUrl } from "./address.js";

const PATH = "$PATH"; // assets.py puts the script's address here

function fetchModule() {
  const modules = (window.__encoderscopeModules ??= new Map());
  if (!modules.has(PATH)) modules.set(PATH, importFrom(appUrl(PATH)));
  return modules.get(PATH);
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

export default (component) => {
  let removed = false;
  let end = null;
  fetchModule().then((module) => {
    if (!removed) end = module.default(component);
  }).catch((error) => {
    window.__encoderscopeModules.delete(PATH); // the next call tries again
    if (!removed) component.parentElement.textContent = `A script did not load (${error.message}). Reload the page.`;
  });
  return () => {
    removed = true;
    end?.();
  };
};
