// Switches of the model's picture: where the norms are, which tokens are visible, and what is off.
import { make, svg } from "./drawing.js";

// The bar's switches: { name, label, title, on }, as the host offers them. A host without a model offers none.
export function drawSwitches(view) {
  const known = view.header.switches?.bar ?? [];
  view.switches.replaceChildren(...known.map(({ name, label, title, on }) => {
    const button = make("button", { type: "button", "aria-pressed": String(on), title }, label);
    button.addEventListener("click", () => view.send("switch", { name, on: !on }));
    return button;
  }));
}

// The power buttons of the open layer: its attention, the open head, its feed-forward layer.
export function placePowers(view) {
  const { header, place, powers } = view;
  const span = place.layers[header.layer];
  const at = { attention: span.start + 4, ffn: place.parts.ffn - 46 };
  const known = header.switches?.power ?? [];
  const title = make("span", {}, `Layer ${header.layer}`);
  title.style.left = `${span.start + 4}px`;
  const groups = ["attention", "ffn"].map((side) => {
    const group = make("div", {});
    group.style.left = `${at[side] + (side === "attention" ? 62 * view.theme.scale : 0)}px`;
    for (const { name, label, title: words, on } of known.filter((one) => (one.name === "ffn") === (side === "ffn"))) {
      const button = make("button", { type: "button", "aria-pressed": String(on), title: words }, powerSign(), label);
      button.addEventListener("click", () => view.send("switch", { name, on: !on }));
      group.append(button);
    }
    return group;
  });
  if (powers.contains(document.activeElement)) view.focusedPower = document.activeElement.textContent;
  powers.replaceChildren(title, ...groups);
  const focused = [...powers.querySelectorAll("button")].find((one) => one.textContent === view.focusedPower);
  if (view.focusedPower) focused?.focus({ preventScroll: true });
  view.focusedPower = "";
}

function powerSign() {
  const sign = svg("svg", { viewBox: "0 0 16 16", width: 11, height: 11, "aria-hidden": "true" });
  sign.append(
    svg("path", { d: "M8 1v7M4.2 3.6a5.6 5.6 0 1 0 7.6 0", fill: "none", stroke: "currentcolor", "stroke-width": 2 }),
  );
  return sign;
}
