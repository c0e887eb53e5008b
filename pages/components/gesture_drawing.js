// Six things to do by hand, each with pointer, finger and keyboard. Python computes what is right (gestures.py).
import { make, sum, svg, threeDigits } from "../../encoder/drawing/drawing.js";

const SIZE = 320; // of the plane, in its own units
const STEP = 0.1; // of an arrow key in the plane
const STRENGTHS = [0, 0.5, 1]; // of a painted cell, one after the other

const softmaxOf = (scores) => {
  const powers = scores.map((one) => Math.exp(one - Math.max(...scores)));
  return powers.map((one) => one / sum(powers));
};

const lineOf = (label, weight, isRight) => {
  const bar = make("i", { style: `width:${100 * weight}%` });
  return make(
    "div",
    { class: `enc-gesture-line${isRight ? " enc-gesture-right" : ""}` },
    make("bdi", {}, label),
    make("output", {}, weight.toFixed(2)),
    make("span", {}, bar),
  );
};

/**
 * Each returns its element, a function that gives the answer, null while it is not complete, and what is then to do.
 * @type {Record<GestureHeader["does"], (header: GestureHeader) => [HTMLElement, () => any, string?]>}
 */
const DOES = {
  aim({ labels, keys, target, goal, farthest, given, truth, whose }) {
    const [startX, startY] = truth ?? given ?? [0.4, 0.4];
    /** @type {[number, number]} */
    const query = [startX, startY];
    const isOver = truth !== null;
    const isOther = isOver && given && String(given) !== String(truth); // from what is right
    /** @param {number[]} place */
    const at = ([x, y]) => [(x / farthest + 1) * SIZE / 2, (1 - y / farthest) * SIZE / 2];
    const arrow = (vector, name) => {
      const [x, y] = at(vector);
      return svg("line", { x1: SIZE / 2, y1: SIZE / 2, x2: x, y2: y, class: name });
    };
    const plane = svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, class: "enc-gesture-plane" });
    const axes = svg("path", { d: `M0 ${SIZE / 2}H${SIZE}M${SIZE / 2} 0V${SIZE}`, class: "enc-gesture-axes" });
    const names = keys.map((key, k) => {
      const [x, y] = at(key);
      return svg("text", { x: x + 6, y: y - 6, class: k === target ? "enc-gesture-target" : "" }, labels[k]);
    });
    const bars = make("div", { class: "enc-gesture-lines", "aria-live": "polite" });
    const line = arrow(query, "enc-gesture-query");
    const handle = svg("circle", { r: 12, class: "enc-gesture-handle", tabindex: isOver ? "-1" : "0", role: "slider" });
    const formula = make("p", { class: "enc-gesture-formula" });
    const draw = () => {
      const scores = keys.map((key) => (key[0] * query[0] + key[1] * query[1]) / Math.SQRT2);
      const weights = softmaxOf(scores);
      const [x, y] = at(query);
      line.setAttribute("x2", String(x));
      line.setAttribute("y2", String(y));
      handle.setAttribute("cx", String(x));
      handle.setAttribute("cy", String(y));
      const said = `query ${query.map((one) => one.toFixed(1)).join(", ")}; weight of ${labels[target]} ${
        weights[target].toFixed(2)
      }`;
      handle.setAttribute("aria-label", "Query");
      handle.setAttribute("aria-valuenow", weights[target].toFixed(2));
      handle.setAttribute("aria-valuetext", said);
      formula.textContent = `q · k / √2 = (${query.map((one) => one.toFixed(1)).join(", ")}) · (${
        keys[target].join(", ")
      }) / √2 = ${threeDigits(scores[target])} for “${labels[target]}”; softmax gives ${weights[target].toFixed(2)}.${
        isOther ? ` Dashed: ${whose}.` : ""
      }`;
      bars.replaceChildren(
        ...weights.map((weight, k) => lineOf(labels[k], weight, k === target && weight >= goal)),
      );
    };
    const move = ([x, y]) => {
      const clamp = (one) => Math.round(10 * Math.max(-farthest, Math.min(farthest, one))) / 10;
      query.splice(0, 2, clamp(x), clamp(y));
      draw();
    };
    const drag = (event) => {
      if (isOver || !event.buttons) return;
      const box = plane.getBoundingClientRect();
      move([
        (2 * (event.clientX - box.left) / box.width - 1) * farthest,
        (1 - 2 * (event.clientY - box.top) / box.height) * farthest,
      ]);
      event.preventDefault();
    };
    plane.addEventListener("pointerdown", (event) => {
      plane.setPointerCapture(event.pointerId);
      drag(event);
    });
    plane.addEventListener("pointermove", drag);
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (!by) return;
      const far = event.shiftKey ? 10 : 1;
      move([query[0] + far * STEP * by[0], query[1] + far * STEP * by[1]]);
      event.preventDefault();
    });
    plane.append(
      axes,
      ...keys.map((key, k) => arrow(key, `enc-gesture-key${k === target ? " enc-gesture-target" : ""}`)),
      ...names,
      ...isOther ? [arrow(given, "enc-gesture-given")] : [],
      line,
      handle,
    );
    draw();
    return [make("div", { class: "enc-gesture-two" }, plane, make("div", {}, bars, formula)), () => query];
  },

  sort({ labels, weights, given, truth }) {
    const order = [...(given ?? truth ?? labels)];
    const list = make("ol", { class: "enc-gesture-sort" });
    const isOver = truth !== null;
    let isMoved = false; // the order at the beginning is by chance, and wrong
    const move = (from, to, focus) => {
      if (to < 0 || to >= order.length || from === to) return;
      isMoved = true;
      const [one] = order.splice(from, 1);
      order.splice(to, 0, one);
      draw();
      if (focus) /** @type {HTMLElement} */ (list.children[to]).focus();
    };
    const draw = () => {
      list.replaceChildren(...order.map((label, place) => {
        const up = make("button", { type: "button", "aria-label": `${label}: up` }, "↑");
        const down = make("button", { type: "button", "aria-label": `${label}: down` }, "↓");
        up.disabled = place === 0;
        down.disabled = place === order.length - 1;
        up.addEventListener("click", () => move(place, place - 1));
        down.addEventListener("click", () => move(place, place + 1));
        const item = make("li", { tabindex: "0" }, make("bdi", {}, label));
        if (isOver) {
          const isRight = truth[place] === label;
          item.append(make("span", {}, `${weights[label].toFixed(2)}${isRight ? " ✓" : ""}`));
          return item;
        }
        item.append(make("span", {}, up, down));
        item.addEventListener("keydown", (event) => {
          const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
          if (!by || event.target !== item) return;
          move(place, place + by, true);
          event.preventDefault();
        });
        item.addEventListener("pointerdown", (event) => {
          if (/** @type {Element} */ (event.target).closest("button")) return;
          dragged = label;
          list.setPointerCapture(event.pointerId);
        });
        return item;
      }));
    };
    let dragged = null;
    list.addEventListener("pointermove", (event) => {
      if (dragged === null || !event.buttons) return;
      const to = [...list.children].findIndex((one) => event.clientY < one.getBoundingClientRect().bottom);
      move(order.indexOf(dragged), to < 0 ? order.length - 1 : to);
    });
    list.addEventListener("pointerup", () => {
      dragged = null;
    });
    draw();
    return [
      list,
      () => isMoved ? order : null,
      "Nothing is moved yet, and this order is random. Move a line, then answer.",
    ];
  },

  softmax({ scores, given, truth, whose }) {
    const isOver = truth !== null;
    const values = [...(given ?? truth ?? scores.map(() => 1 / scores.length))];
    const rows = scores.map((score, k) => {
      const input = make("input", {
        type: "range",
        min: "0",
        max: "100",
        "aria-label": `Weight of the score ${score}`,
      });
      input.value = String(Math.round(100 * values[k]));
      input.disabled = isOver;
      const said = make("output", {});
      const true_ = make("b", {}, isOver ? `${truth[k].toFixed(2)}` : "");
      input.addEventListener("input", () => {
        values[k] = Number(input.value) / 100;
        share();
      });
      return { input, said, row: make("label", { class: "enc-gesture-fill" }, `score ${score}`, input, said, true_) };
    });
    const total = make("p", { role: "status" });
    const shares = () => values.map((one) => sum(values) ? one / sum(values) : 0);
    const share = () => {
      shares().forEach((one, k) => {
        rows[k].said.value = isOver && !given ? "" : one.toFixed(2);
        rows[k].input.setAttribute("aria-valuetext", one.toFixed(2));
      });
      total.textContent = isOver
        ? `In bold: softmax of the scores.${given ? ` Before it: ${whose}.` : ""}`
        : sum(values)
        ? "The weights are scaled to the sum 1."
        : "Move at least one slider.";
    };
    share();
    const inner = make("div", {}, ...rows.map(({ row }) => row), total);
    return [inner, () => sum(values) ? shares().map((one) => Number(one.toFixed(4))) : null];
  },

  paint: (header) => grid(header, STRENGTHS),
  mask: (header) => grid(header, [0, 1]),

  cut({ labels, given, truth }) {
    const cuts = new Set(given ?? []);
    const letters = labels.flatMap((letter, k) => {
      const shown = make("b", {}, letter);
      if (k === labels.length - 1) return [shown];
      const place = k + 1;
      const name = `Cut after ${labels.slice(0, place).join("")}`;
      const button = make("button", { type: "button", class: "enc-gesture-cut", "aria-label": name });
      const draw = () => {
        button.setAttribute("aria-pressed", String(cuts.has(place)));
        if (truth !== null) button.dataset.right = String(truth.includes(place)); // a line of its own, next to a given cut
      };
      button.disabled = truth !== null;
      button.addEventListener("click", () => {
        cuts.has(place) ? cuts.delete(place) : cuts.add(place);
        draw();
      });
      draw();
      return [shown, button];
    });
    const word = make("div", { class: "enc-gesture-word" }, ...letters);
    word.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by) return;
      const buttons = [...word.querySelectorAll("button")];
      buttons[buttons.indexOf(/** @type {HTMLButtonElement} */ (event.target)) + by]?.focus();
      event.preventDefault();
    });
    return [word, () => [...cuts].sort((a, b) => a - b)];
  },
};

/**
 * A grid of cells that change their strength when they are pressed, or when a pressed pointer comes over them. Arrow keys
 * move in it.
 * @param {GestureHeader} header
 * @param {number[]} strengths of a cell, one after the other
 * @returns {[HTMLElement, () => any]}
 */
function grid({ labels, given, truth, whose }, strengths) {
  const size = labels.length;
  const values = labels.map((_, i) => labels.map((_, j) => given?.[i]?.[j] ?? 0));
  const isOver = truth !== null;
  const cells = [];
  let painting = null;
  const show = (i, j) => {
    const cell = cells[i * size + j];
    const value = values[i][j];
    cell.style.setProperty("--share", String(value));
    const right = isOver ? `, model ${truth[i][j].toFixed(2)}` : "";
    cell.setAttribute("aria-label", `${labels[i]} to ${labels[j]}: ${value}${right}`);
    if (isOver) {
      cell.style.setProperty("--truth", String(truth[i][j]));
      cell.textContent = truth[i][j] < 0.1
        ? ""
        : strengths.length === 2
        ? "×"
        : truth[i][j].toFixed(1).replace("0.", ".");
    } else cell.textContent = value && strengths.length === 2 ? "×" : "";
  };
  const set = (i, j, value) => {
    values[i][j] = value;
    show(i, j);
    zoom(i);
  };
  // One row in large cells with their names, for a thumb; the style shows it on a phone.
  const large = make("div", { class: "enc-gesture-zoom" });
  const zoom = (i) => {
    if (isOver) return;
    const turn = (by, sign, name) => {
      const button = make("button", { type: "button", "aria-label": name }, sign);
      button.disabled = !labels[i + by];
      button.addEventListener("click", () => zoom(i + by));
      return button;
    };
    const keys = labels.map((label, j) => {
      const sign = values[i][j] && strengths.length === 2 ? " ×" : "";
      const key = make("button", { type: "button", style: `--share: ${values[i][j]}` }, make("bdi", {}, label), sign);
      key.setAttribute("aria-label", `${labels[i]} to ${label}: ${values[i][j]}`);
      key.addEventListener("click", () => set(i, j, next(values[i][j])));
      return key;
    });
    const title = make(
      "p",
      {},
      turn(-1, "◀", "Row before"),
      make("span", {}, `From “${labels[i]}” to`),
      turn(1, "▶", "Next row"),
    );
    large.replaceChildren(title, make("div", {}, ...keys));
    cells.forEach((cell, at) => cell.toggleAttribute("data-zoomed", Math.floor(at / size) === i));
  };
  const table = make("div", {
    class: `enc-gesture-grid${isOver ? " enc-gesture-over" : ""}`,
    style: `--cells:${size}`,
    role: "grid",
    "aria-label": "From row to column",
  });
  const head = make("div", { role: "row" }, make("span", { role: "columnheader" }));
  head.append(...labels.map((label) => make("span", { role: "columnheader" }, make("bdi", {}, label))));
  table.append(head);
  labels.forEach((label, i) => {
    const row = make("div", { role: "row" }, make("span", { role: "rowheader" }, make("bdi", {}, label)));
    labels.forEach((_, j) => {
      const cell = make("span", { role: "gridcell", tabindex: i + j ? "-1" : "0" });
      cells.push(cell);
      cell.dataset.at = `${i} ${j}`;
      row.append(cell);
      show(i, j);
    });
    table.append(row);
  });
  const next = (value) => strengths[(strengths.indexOf(value) + 1) % strengths.length];
  const placeOf = (element) => element?.dataset?.at?.split(" ").map(Number);
  table.addEventListener("pointerdown", (event) => {
    const at = placeOf(event.target);
    if (!at || isOver) return;
    painting = next(values[at[0]][at[1]]);
    set(...at, painting);
    event.preventDefault();
  });
  table.addEventListener("pointermove", (event) => {
    if (painting === null || !event.buttons) return;
    const at = placeOf(document.elementFromPoint(event.clientX, event.clientY));
    if (at && values[at[0]][at[1]] !== painting) set(...at, painting);
  });
  table.addEventListener("pointerup", () => {
    painting = null;
  });
  table.addEventListener("keydown", (event) => {
    const at = placeOf(event.target);
    if (!at) return;
    const by = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (by) cells[(at[0] + by[0]) * size + at[1] + by[1]]?.focus();
    else if ((event.key === " " || event.key === "Enter") && !isOver) set(...at, next(values[at[0]][at[1]]));
    else return;
    event.preventDefault();
  });
  const legend = make("p", { class: "enc-gesture-formula" }, isOver && given ? `Colour: ${whose}.` : "");
  const isEmpty = () => values.every((row) => row.every((one) => !one));
  zoom(0);
  return [make("div", {}, table, large, legend), () => isEmpty() ? null : values];
}

/**
 * The element of a gesture.
 * @param {GestureHeader} header its truth ends the gesture
 * @param {(answer: any) => void} answer called with the answer
 */
export function drawGesture(header, answer) {
  const [inner, read, todo = "Nothing is marked yet. Mark at least one cell, then answer."] = DOES[header.does]({
    given: null,
    truth: null,
    whose: "your answer",
    ...header,
  });
  const root = make("div", { class: "enc-root enc-gesture" }, inner);
  if (header.truth !== null && header.truth !== undefined) return root;
  const note = make("p", { role: "status", class: "enc-gesture-note" });
  const done = make("button", { type: "button", class: "enc-save enc-answer" }, "Answer");
  done.addEventListener("click", () => {
    const given = read();
    note.textContent = given === null ? todo : "";
    if (given !== null) answer(structuredClone(given));
    else done.scrollIntoView({ block: "nearest" }); // the note has moved it
  });
  root.append(note, done);
  return root;
}
