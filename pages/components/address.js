// The address of a file of the app. The page's own address may hold a page's name and a proxy's prefix, so the root is
// taken from the address of Streamlit's script.
export function appUrl(path) {
  /** @type {HTMLScriptElement | null} */
  const script = document.querySelector('script[type="module"][src*="static/js/"]');
  const root = script ? script.src.slice(0, script.src.indexOf("static/js/")) : document.baseURI;
  return new URL(path, root).href;
}
