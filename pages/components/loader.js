// A component's script is a file of the app, fetched once: what travels with each click is this alone.

function fetchModule(path) {
  const modules = (window.__encoderscopeModules ??= new Map());
  if (!modules.has(path)) {
    modules.set(path, (async () => {
      const response = await fetch(appUrl(path), { cache: "force-cache" });
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      const url = URL.createObjectURL(new Blob([await response.blob()], { type: "text/javascript" }));
      try {
        return await import(url);
      } finally {
        URL.revokeObjectURL(url);
      }
    })());
  }
  return modules.get(path);
}

export default (component) => {
  let gone = false;
  let end = null;
  fetchModule(PATH).then((module) => {
    if (!gone) end = module.default(component);
  }).catch((error) => {
    window.__encoderscopeModules.delete(PATH);   // the next call tries again
    if (!gone) component.parentElement.textContent = `This part's script did not arrive (${error.message}). Reload the page.`;
  });
  return () => { gone = true; end?.(); };
};
