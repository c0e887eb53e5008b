// One chart of the runs: a number over the steps, on a canvas.

const LEFT = 40; // room of the vertical axis' numbers
const [TOP, RIGHT, BOTTOM] = [6, 8, 20];
const DASHES = { solid: [], dash: [7, 4], dot: [2, 3], dashdot: [7, 3, 2, 3] };

// A canvas of its size on the screen, cleared, with a pen in units of `unit` CSS pixels; null while it has no size.
export function penOf(canvas, unit) {
  const [width, height] = [canvas.clientWidth / unit, canvas.clientHeight / unit];
  if (!width || !height) return null;
  const scale = (devicePixelRatio || 1) * unit;
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return { pen, width, height };
}

function straight(pen, x1, y1, x2, y2) {
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
}

function setLine(pen, run, width) {
  Object.assign(pen, { strokeStyle: run.colour, lineWidth: width, lineJoin: "round", globalAlpha: 1 });
  pen.setLineDash(DASHES[run.dash] ?? []);
}

// The line of a run, for the legend.
export function drawSwatch(canvas, run, theme) {
  const drawn = penOf(canvas, theme.scale);
  if (!drawn) return;
  setLine(drawn.pen, run, 2.5);
  straight(drawn.pen, 0, drawn.height / 2, drawn.width, drawn.height / 2);
}

// Numbers 1, 2, 5 times a power of ten around two positive ends.
function logTicks(low, high) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const digit of [1, 2, 5]) ticks.push(digit * 10 ** power);
  }
  return ticks;
}

function stepTicks(last) {
  const rough = last / 4;
  const unit = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const every = Math.max(1, [1, 2, 5, 10].find((digit) => digit * unit >= rough) * unit);
  return Array.from({ length: Math.floor(last / every) + 1 }, (_, k) => k * every);
}

const short = (value) => (value >= 1 ? String(+value.toPrecision(3)) : String(+value.toPrecision(1)));

export class Chart {
  // log: the loss, on a logarithmic scale; otherwise the accuracy, 0 to 1.
  /** @param {HTMLCanvasElement} canvas @param {boolean} log */
  constructor(canvas, log) {
    this.canvas = canvas;
    this.log = log;
    this.last = 1;
    this.unit = 1;
  }

  // The step at a place of the canvas, in pixels.
  stepAt(x) {
    const share = (x / this.unit - LEFT) / Math.max(1, this.canvas.clientWidth / this.unit - LEFT - RIGHT);
    return Math.max(0, Math.min(1, share)) * this.last;
  }

  // mark: a step with a line, or null; classes: how many answers there are to guess among.
  draw(runs, theme, mark, classes) {
    this.unit = theme.scale; // large type is a large drawing
    const drawn = penOf(this.canvas, this.unit);
    if (!drawn) return;
    this.last = Math.max(...runs.map((run) => run.steps));
    const { pen, width, height } = drawn;
    const x = (step) => LEFT + (step / this.last) * (width - LEFT - RIGHT);
    const [low, high] = this.log ? this.ends(runs, Math.log(classes)) : [0, 1];
    const share = this.log ? (value) => Math.log(value / low) / Math.log(high / low) : (value) => value;
    const y = (value) => TOP + (1 - share(value)) * (height - TOP - BOTTOM);
    this.axes(drawn, theme, x, y, low, high);
    this.guessing(drawn, theme, y, this.log ? Math.log(classes) : 1 / classes);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, TOP - 2, width - LEFT - RIGHT + 4, height - TOP - BOTTOM + 4);
    pen.clip();
    for (const run of runs) this.line(pen, run, x, y);
    pen.restore();
    if (mark === null) return;
    Object.assign(pen, { strokeStyle: theme.text, lineWidth: 1 });
    pen.setLineDash([2, 2]);
    straight(pen, x(mark), TOP, x(mark), height - BOTTOM);
  }

  line(pen, run, x, y) {
    const column = this.log ? 1 : 2;
    if (this.log) { // the training loss of each step, faint
      setLine(pen, { ...run, dash: "solid" }, 1);
      pen.globalAlpha = 0.4;
      this.path(pen, run.data.losses.map((value, k) => [x(k + 1), y(value)]));
    }
    setLine(pen, run, 2);
    this.path(pen, run.data.points.map((point) => [x(point[0]), y(point[column])]));
  }

  path(pen, places) {
    pen.beginPath();
    for (const [left, top] of places) if (Number.isFinite(top)) pen.lineTo(left, top);
    pen.stroke();
  }

  // The ends of the loss' axis: around all losses and that of guessing.
  ends(runs, guessing) {
    let [low, high] = [guessing, guessing];
    const widen = (value) => {
      if (!(value > 0) || !Number.isFinite(value)) return;
      low = Math.min(low, value);
      high = Math.max(high, value);
    };
    for (const { data } of runs) {
      data.losses.forEach(widen);
      data.points.forEach((point) => widen(point[1]));
    }
    const ticks = logTicks(low / 2, high * 2);
    return [ticks.findLast((tick) => tick <= low * 0.95), ticks.find((tick) => tick >= high * 1.02)];
  }

  axes({ pen, width, height }, theme, x, y, low, high) {
    Object.assign(pen, { font: `11px ${theme.font}`, fillStyle: theme.muted, strokeStyle: theme.faint, lineWidth: 1 });
    pen.globalAlpha = 1;
    pen.setLineDash([]);
    const all = this.log ? logTicks(low, high).filter((tick) => tick >= low && tick <= high) : [0, 0.25, 0.5, 0.75, 1];
    const few = all.length > 7 ? all.filter((tick) => /^1/.test(tick.toExponential())) : all;
    Object.assign(pen, { textAlign: "right", textBaseline: "middle" });
    for (const tick of few) {
      straight(pen, LEFT, y(tick), width - RIGHT, y(tick));
      pen.fillText(this.log ? short(tick) : `${100 * tick}%`, LEFT - 5, y(tick));
    }
    Object.assign(pen, { textAlign: "center", textBaseline: "top" });
    const ticks = stepTicks(this.last);
    ticks.forEach((tick, k) => {
      pen.textAlign = k ? (x(tick) > width - 22 ? "right" : "center") : "left";
      pen.fillText(k || ticks.length === 1 ? tick.toLocaleString("en") : "step 0", x(tick), height - BOTTOM + 6);
    });
  }

  guessing({ pen, width }, theme, y, level) {
    Object.assign(pen, { strokeStyle: theme.muted, fillStyle: theme.muted, lineWidth: 1, textAlign: "right" });
    pen.setLineDash([3, 3]);
    straight(pen, LEFT, y(level), width - RIGHT, y(level));
    pen.setLineDash([]);
    pen.textBaseline = this.log ? "top" : "bottom";
    pen.fillText("guessing", width - RIGHT - 2, y(level) + (this.log ? 3 : -2));
  }
}
