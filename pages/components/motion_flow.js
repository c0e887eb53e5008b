// One token on its way through the residual stream: a band as wide as the norm of its vector, and what enters it.
import { make } from "../../encoder/export/drawing/drawing.js";
import { shown } from "./motion_attention.js";

const MS = 900;
const [HEIGHT, MIDDLE, THICKEST, EDGE] = [210, 105, 56, 26];
const SVG = "http://www.w3.org/2000/svg";

// An element of a drawing.
export function drawn(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

export class FlowScene {
  constructor(stage, header) {
    Object.assign(this, { stage, header });
    this.stages = header.stages;
    this.frames = this.listFrames();
    this.svg = drawn("svg", { height: HEIGHT, width: "100%", role: "presentation" });
    this.table = make("dl", { class: "enc-flow-numbers" });
    stage.replaceChildren(this.svg, this.table);
  }

  // Two frames for a sublayer: its output arrives, then it is added (and in post-norm normalised).
  listFrames() {
    const { token, norm } = this.header;
    const frames = [{ phase: "embedding", at: -1, done: true, ms: MS }];
    frames[0].says = `Embedding: the vector of ${token} enters the residual stream. |x| = ${shown(norm)}`;
    this.stages.forEach((stage, at) => {
      const place = stage.layer === null ? "Final LayerNorm" : `Layer ${stage.layer}, ${stage.title}`;
      if (stage.update !== null) {
        const reads = stage.attended.length ? ` It attends most to ${stage.attended.join(", ")} (mean of heads).` : "";
        const says = `${place}: |f(x)| = ${shown(stage.update)} beside |x| = ${shown(stage.before)}.${reads}`;
        frames.push({ phase: "update", at, done: false, ms: MS, says });
      }
      const length = stage.update === null ? `|x| = ${shown(stage.total)}` : `|x + f(x)| = ${shown(stage.total)}`;
      const normed = stage.normed ? `; LayerNorm makes it ${shown(stage.after)}` : "";
      const says = `${place}: ${length}${normed}. Cosine with x before: ${shown(stage.cosine)}`;
      frames.push({ phase: "sum", at, done: true, ms: MS, says });
    });
    return frames;
  }

  draw(frame, theme) {
    const width = this.stage.clientWidth;
    if (!width) return;
    this.width = width;
    this.theme = theme;
    this.svg.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    const reached = frame.done ? frame.at : frame.at - 1;
    const parts = [this.band(this.stages.length - 1, 0.22), this.band(reached, 0.8)];
    this.stages.forEach((stage, at) => parts.push(...this.sublayer(stage, at, frame)));
    parts.push(...this.layerTicks(), ...this.token(reached));
    this.svg.replaceChildren(...parts);
    this.table.replaceChildren(...this.numbers(frame));
  }

  x(at) {
    return EDGE + (at + 1) * (this.width - 2 * EDGE) / (this.stages.length + 0.5);
  }

  half(norm) {
    return Math.max(1.5, THICKEST / 2 * norm / this.header.largest);
  }

  // The stream up to a stage; its width between two stages is the norm of x there.
  band(last, opacity) {
    const ends = [...this.stages.keys()].slice(0, last + 1);
    const corners = [[this.x(-1) - 14, this.header.norm]];
    let norm = this.header.norm;
    for (const at of ends) {
      corners.push([this.x(at) - 3, norm]);
      norm = this.stages[at].after;
      corners.push([this.x(at) + 3, norm]);
    }
    corners.push([this.x(last) + (last + 1 < this.stages.length ? 6 : 18), norm]);
    const upper = corners.map(([x, size]) => `${x} ${MIDDLE - this.half(size)}`);
    const lower = corners.reverse().map(([x, size]) => `${x} ${MIDDLE + this.half(size)}`);
    return drawn("path", {
      d: `M${[...upper, ...lower].join("L")}Z`,
      fill: this.header.colour,
      "fill-opacity": opacity,
    });
  }

  // Attention enters from above, the FFN from below; a final norm is a line across the stream.
  sublayer(stage, at, frame) {
    const x = this.x(at);
    const isNow = frame.at === at;
    const ink = isNow ? this.theme.text : this.theme.muted;
    if (stage.update === null) {
      return [
        drawn("path", { d: `M${x} ${MIDDLE - 40}V${MIDDLE + 40}`, stroke: ink, "stroke-width": isNow ? 3 : 1.5 }),
      ];
    }
    const above = stage.part === "attention";
    const start = above ? 30 : HEIGHT - 40;
    const end = MIDDLE + (above ? -1 : 1) * (this.half(stage.before) + 3);
    const reached = at <= frame.at;
    const half = this.half(stage.update);
    const neck = end + (above ? -9 : 9);
    const shape = `M${x - half} ${start}V${neck}H${x - half - 3}L${x} ${end}L${x + half + 3} ${neck}H${
      x + half
    }V${start}Z`;
    const look = { fill: ink, "fill-opacity": reached ? 1 : 0.35, class: isNow ? "enc-flow-now" : "" };
    const arrow = drawn("path", { d: shape, ...look });
    const letter = { x, y: above ? 22 : HEIGHT - 24, "text-anchor": "middle", "font-size": 11, fill: ink };
    const roomy = (this.width - 2 * EDGE) / this.stages.length > 13;
    return [
      arrow,
      ...(roomy ? [drawn("text", { ...letter, "font-weight": isNow ? 700 : 400 }, above ? "A" : "F")] : []),
    ];
  }

  layerTicks() {
    const layers = this.stages.filter((stage) => stage.part === "attention").length;
    const every = Math.ceil(layers * 26 / (this.width - 2 * EDGE));
    return this.stages.flatMap((stage, at) => {
      if (stage.part !== "attention" || stage.layer % every) return [];
      const look = { x: this.x(at), y: HEIGHT - 6, "font-size": 11, fill: this.theme.muted };
      return [drawn("text", look, `L${stage.layer}`)];
    });
  }

  token(reached) {
    const x = this.x(reached) + (reached < 0 ? -8 : 8);
    const norm = reached < 0 ? this.header.norm : this.stages[reached].after;
    const dot = drawn("circle", { cx: x, cy: MIDDLE, r: 6, fill: this.theme.background, stroke: this.theme.text });
    const nearEnd = x > this.width / 2;
    const place = { x, y: MIDDLE - this.half(norm) - 8, "font-size": 13, "font-weight": 700, fill: this.theme.text };
    const look = { ...place, stroke: this.theme.background, "stroke-width": 4, "paint-order": "stroke" };
    return [dot, drawn("text", { ...look, "text-anchor": nearEnd ? "end" : "start" }, this.header.token)];
  }

  numbers({ at, done }) {
    const stage = this.stages[at];
    const entries = !stage ? [["|x|", this.header.norm]] : [
      ["|x| before", stage.before],
      ["|f(x)|", stage.update],
      ["|x + f(x)|", done && stage.update !== null ? stage.total : null],
      ["after LayerNorm", done && stage.normed ? stage.after : null],
      ["cosine", done ? stage.cosine : null],
    ];
    const known = entries.filter(([, value]) => value !== null);
    return known.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, shown(value))));
  }
}
