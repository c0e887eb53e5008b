// The address of a file of the app. The page's own address may hold a page's name and a proxy's prefix; the address of
// Streamlit's script tells where the app's root is.
function appUrl(path) {
  const own = document.querySelector('script[type="module"][src*="static/js/"]');
  const root = own ? own.src.slice(0, own.src.indexOf("static/js/")) : document.baseURI;
  return new URL(path, root).href;
}
