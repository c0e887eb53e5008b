// Fetches a component's script once. Streamlit sends only this loader with each change of the component's data.
import { fetchModule } from "./module.js";

const PATH = "$PATH"; // assets.py puts the script's address here

export default (component) => {
  let removed = false;
  let end = null;
  fetchModule(PATH).then((module) => {
    if (!removed) end = module.default(component);
  }).catch((error) => {
    if (!removed) component.parentElement.textContent = `A script did not load (${error.message}). Reload the page.`;
  });
  return () => {
    removed = true;
    end?.();
  };
};
