// How a notebook runs a drawing, by the protocol of anywidget: the kernel has the numbers and hears the clicks.
import { VIEWS } from "./views.js";

export default {
  render({ model, el }) {
    const place = document.createElement("div");
    place.className = "drawing";
    place.style.minHeight = `${model.get("height")}px`;
    el.append(place);
    const view = new VIEWS[model.get("kind")](place);
    const setStateValue = (name, events) => model.send({ name, event: events.at(-1) });
    const draw = () => {
      const { buffer, byteOffset, byteLength } = model.get("block");
      view.update({ data: new Uint8Array(buffer, byteOffset, byteLength), parentElement: place, setStateValue });
    };
    const darkScheme = matchMedia("(prefers-color-scheme: dark)");
    draw();
    model.on("change:block", draw);
    const restyle = () => view.restyle();
    darkScheme.addEventListener("change", restyle);
    return () => {
      model.off("change:block", draw);
      darkScheme.removeEventListener("change", restyle);
      view.destroy();
    };
  },
};
