// A gesture without a server: what is right is in the page, and shown after the answer.
import { drawGesture } from "../../../components/gesture_drawing.js";

for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-gesture]"))) {
  const { header, truth, why } = JSON.parse(place.dataset.gesture);
  const begin = () =>
    place.replaceChildren(drawGesture(header, (given) => {
      const again = document.createElement("button");
      again.textContent = "Try again";
      again.addEventListener("click", begin);
      const reason = document.createElement("p");
      reason.setAttribute("role", "status");
      reason.textContent = why;
      place.replaceChildren(drawGesture({ ...header, given, truth }, () => {}), reason, again);
    }));
  begin();
}
