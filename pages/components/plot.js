// Hosts plotly.js: clicks, zooms and keys of a Plotly figure reach Python, which `st.plotly_chart` does not offer for a map.

const MOST_LABELS = 32;    // tick labels cost more than the cells they stand for
const LABEL_PITCH = 14;    // pixels between two tick labels
const SETTLED_MS = 150;    // a zoom or pan counts once the pointer has been still for so long

// plotly.js, fetched once a page: 1.4 MB of gzip that the browser unpacks by itself.
function loadPlotly(path) {
  window.__encoderscopePlotly ??= (async () => {
    const response = await fetch(appUrl(path), { cache: "force-cache" });
    if (!response.ok) throw new Error(`Plotly's script did not arrive (HTTP ${response.status}). Reload the page.`);
    let source = await response.blob();
    const start = new Uint8Array(await source.slice(0, 2).arrayBuffer());
    if (start[0] === 0x1f && start[1] === 0x8b) {   // a proxy may have unpacked it on the way
      source = await new Response(source.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
    }
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    try {
      await new Promise((resolve, reject) => {
        const tag = make("script", { src: url });
        tag.onload = resolve;
        tag.onerror = () => reject(new Error("Plotly's script could not be run. Reload the page."));
        document.head.append(tag);
      });
    } finally {
      URL.revokeObjectURL(url);
    }
    return window.Plotly;
  })().catch((error) => {
    window.__encoderscopePlotly = undefined;   // the next chart tries again
    throw error;
  });
  return window.__encoderscopePlotly;
}

class PlotView {
  constructor(parent) {
    this.parent = parent;
    this.host = make("div", { class: "enc-focus", tabindex: "0" });
    this.aloud = make("div", { class: "enc-aloud", "aria-live": "polite" });
    this.cursorBox = make("div", { class: "enc-cursor", hidden: "" });
    this.note = make("div", { class: "enc-note", role: "status" });
    this.chip = make("div", { class: "enc-chip", "aria-hidden": "true", hidden: "" });
    this.root = make("div", { class: "enc-root enc-plot" }, this.host, this.cursorBox, this.chip, this.aloud, this.note);
    this.tip = new Tip(this.root);
    parent.append(this.root);
    this.arrays = {};
    this.cursor = null;       // { map, row, column } of the cell that the arrow keys are on
    this.point = null;        // { trace, point, x, y } of the point that they are on, in a figure without maps
    this.known = null;        // the zoom window that Python knows
    this.resize = everyFrame(() => this.root.clientWidth !== this.width && this.draw());
    this.observer = new ResizeObserver(this.resize);
    this.observer.observe(this.root);
    this.host.addEventListener("keydown", (event) => this.onKey(event));
    this.host.addEventListener("blur", () => { this.cursorBox.hidden = true; this.tip.hide(); });
    this.host.addEventListener("pointermove", (event) => this.onPointer(event));
    this.host.addEventListener("pointerleave", () => this.tip.hide());
    this.host.addEventListener("pointerdown", (event) => { this.pressed = [event.clientX, event.clientY]; }, true);
    this.host.addEventListener("pointercancel", () => { this.pressed = null; }, true);   // a finger has begun to scroll
    this.host.addEventListener("click", (event) => this.onLabelClick(event), true);
    this.asked = null;        // { id, layer, head }: opened in the grid, and not yet answered by Python
    this.onOpened = (event) => this.openReady(event.detail);
    window.addEventListener("enc-open", this.onOpened);
    this.onScroll = () => this.tip.hide();
    window.addEventListener("scroll", this.onScroll, { capture: true, passive: true });
  }

  async update(component) {
    this.component = component;
    try {
      const { header, arrays } = unpack(component.data);
      this.header = header;
      this.known = header.window;
      this.host.style.height = this.host.firstChild ? "" : `${header.height}px`;   // no jump when the chart arrives
      this.plotly = await loadPlotly(header.plotly);
      if (this.gone || this.component !== component) return;
      this.figure = revive(header.figure, arrays, this.arrays);
      this.arrays = arrays;
      if (!(header.ready?.heard < this.asked?.id)) this.asked = null;   // and not an answer to a click before
      this.readFigure();
      this.putReady();
      this.describe();
      await this.draw();
      this.note.textContent = "";
    } catch (error) {
      this.note.textContent = `This chart could not be drawn: ${error.message}`;
    }
  }

  // ---- A head opened in the grid, whose map is in the browser already. ----

  // Draws it at once. Its name and words follow with Python's answer; until then a chip says whose map it is.
  async openReady({ grid, id, layer, head }) {
    if (!this.figure || this.header.ready?.grid !== grid) return;
    this.asked = { id, layer, head };
    if (this.putReady()) await this.draw();
  }

  putReady() {
    const { ready } = this.header;
    const kept = ready && stored.get(ready.maps.name);
    const known = this.asked && kept?.digest === ready.maps.digest ? kept.arrays.maps : null;
    const [, heads, rows, columns] = known?.shape ?? [];
    const fits = known && this.maps[0]?.rows === rows && this.maps[0].columns === columns;
    this.chip.hidden = !fits;
    if (!fits) return false;
    const { layer, head } = this.asked;
    this.chip.textContent = `L${layer} H${head}`;
    const start = (layer * heads + head) * rows * columns;
    const data = known.data.subarray(start, start + rows * columns);
    const map = { data, shape: [rows, columns], nested: nest(data, [rows, columns]) };
    this.arrays = { ...this.arrays, "data.0.z": map };   // an answer with the same numbers is not drawn anew
    const own = ready.own ? { zmax: data.reduce((most, weight) => Math.max(most, weight), 0) || 1 } : {};
    this.figure.data[0] = { ...this.figure.data[0], z: map.nested, ...own };
    this.readFigure();
    return true;
  }

  // What the figure says about its maps and its token axes.
  readFigure() {
    this.maps = [];
    this.figure.data.forEach((trace, number) => {
      if (!MAP_TYPES.has(trace.type) || !trace.z?.length || trace.visible === false) return;
      const [rows, columns] = [trace.z.length, trace.z[0].length];
      const x = trace.xaxis ?? "x";
      const y = trace.yaxis ?? "y";
      this.maps.push({
        number, trace, rows, columns, x: axisKey(x), y: axisKey(y), xref: x, yref: y,
        across: cellsAlong(trace.x, trace.x0, trace.dx, columns), down: cellsAlong(trace.y, trace.y0, trace.dy, rows),
      });
    });
    this.labels = {};   // axis -> position -> label, for axes whose ticks are named
    this.told = {};     // axis -> position -> name in labels of cells: "the (4)" where a text stands more than once
    for (const [name, axis] of Object.entries(this.figure.layout)) {
      if (/^[xy]axis\d*$/.test(name) && axis.ticktext && axis.tickvals) {
        this.labels[name] = new Map(Array.from(axis.tickvals, (value, k) => [value, axis.ticktext[k]]));
        const told = Object.entries(axis.labelalias || {}).map(([value, text]) => [Number(value), text]);
        this.told[name] = new Map([...this.labels[name], ...told]);
      }
    }
    if (this.cursor && !this.maps[this.cursor.map]) this.cursor = null;
  }

  describe() {
    const points = this.figure.data.some((trace) => /^scatter/.test(trace.type ?? "scatter"));
    const keys = this.maps.length ? "Arrow keys move over the cells, Enter selects, Escape clears, plus and minus zoom, 0 shows all."
      : points ? "Arrow keys move over the points, Enter selects, Escape clears." : "";
    this.host.setAttribute("role", keys ? "application" : "img");
    this.host.setAttribute("aria-label", [this.header.alt, keys].filter(Boolean).join(" "));
    const kind = this.maps.length ? "heat map" : keys ? "chart" : null;
    if (kind) this.host.setAttribute("aria-roledescription", kind);
    else this.host.removeAttribute("aria-roledescription");
  }

  async draw() {
    this.width = this.root.clientWidth;
    if (!this.width || !this.figure || this.gone) return;   // in a closed tab or expander: drawn when it gets a width
    this.theme = readTheme(this.parent);
    const layout = this.layout();
    if (this.isDrawn(layout)) {
      this.placeCursor();
      this.settle();
      return;
    }
    // Another text starts anew: Plotly's `react` scales the ranges of a map of square cells by the size of the map before.
    const anew = !this.host.data || layout.uirevision !== this.revision;
    this.revision = layout.uirevision;
    this.host.style.height = "";
    await this.plotly[anew ? "newPlot" : "react"](this.host, this.traces(), layout, (this.config ??= this.makeConfig()));
    if (this.gone) return;
    if (anew) this.listen();   // a new plot has forgotten who listens
    await this.fitLabels();
    this.hideCovered();
    this.placeCursor();
    this.settle();
  }

  // Whether the plot shows just this: most answers change another part of the page, and drawing takes 30 ms.
  isDrawn(layout) {
    const bare = (_, value) => (ArrayBuffer.isView(value) ? undefined : value);   // these are told apart by identity
    const look = JSON.stringify([this.figure, this.header.selected, layout.width, layout.height, layout.dragmode, this.theme], bare);
    const { arrays, drawn } = this;
    this.drawn = { look, arrays };
    return Boolean(this.host.data) && drawn?.look === look && Object.keys(arrays).every((name) => arrays[name] === drawn.arrays[name]);
  }

  traces() {
    return this.figure.data.map((trace, number) => {
      const map = this.maps.find((candidate) => candidate.number === number);
      if (trace.hoverinfo === "skip") return trace;
      if (!map) return this.toldApart(trace);
      // The label of a cell is drawn here: Plotly would know only the tokens whose tick is drawn.
      const { hovertemplate, ...rest } = trace;
      return { ...rest, hoverinfo: "none" };
    });
  }

  // Bars and curves over tokens: Plotly would name a token as its tick.
  toldApart(trace) {
    const name = axisKey(trace.xaxis ?? "x");
    const told = this.figure.layout[name]?.labelalias && this.told[name];
    if (!told || !trace.x || !String(trace.hovertemplate).includes("%{x}")) return trace;
    const hovertext = Array.from(trace.x, (value) => told.get(Number(value)) ?? String(value));
    return { ...trace, hovertext, hovertemplate: trace.hovertemplate.replace("%{x}", "%{hovertext}") };
  }

  layout() {
    const own = copy(this.figure.layout);   // Plotly writes into what it is given
    const layout = {
      ...own, width: this.width, height: this.height(), template: themeTemplate(this.theme, own.template),
      shapes: [...(own.shapes ?? []), ...this.marks()],
      uirevision: own.uirevision ?? this.maps.map((map) => `${map.rows}x${map.columns}`).join() + "-",
    };
    // A finger that scrolls the page must not zoom instead: on a touch screen zooming is switched on in the mode bar.
    if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false;
    for (const name of Object.keys(this.labels)) layout[name] = { ...own[name], ...this.someLabels(name) };
    return layout;
  }

  height() {
    const { height, fill } = this.header;
    if (!this.maps.length) return height;
    return fill ? this.fillingHeight() : Math.min(height, Math.max(280, 1.25 * this.width));
  }

  // The height at which cells are square, as far as the window has room below the chart's upper edge; where that is too
  // little (the chart lies below the fold), the window's own height. The header's height is the least.
  fillingHeight() {
    const { rows, columns } = this.maps[0];
    const { l, r, t, b } = this.host._fullLayout?._size ?? { l: 90, r: 8, t: 60, b: 80 };
    const square = Math.max(40, this.width - l - r) * rows / columns + t + b;
    const scroller = this.scroller();
    const top = this.root.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop;
    const below = scroller.clientHeight - top - this.header.reserve;
    const most = below >= this.header.height ? below : Math.max(this.header.height, scroller.clientHeight - 100);
    return Math.round(Math.min(most, Math.max(this.header.height, square)));
  }

  // The nearest ancestor that scrolls.
  scroller() {
    let element = this.root.parentElement;
    while (element && !/(auto|scroll)/.test(getComputedStyle(element).overflowY)) element = element.parentElement;
    return element ?? document.documentElement;
  }

  // Made once: Plotly draws everything anew, and forgets the zoom, when the configuration is another object.
  makeConfig() {
    const save = (format, icon) => ({
      name: `Download ${format.toUpperCase()}`, title: `Download as ${format.toUpperCase()}`, icon, click: () => this.save(format),
    });
    const icons = this.plotly.Icons;
    return {
      displaylogo: false, responsive: false, scrollZoom: false, showTips: false,
      displayModeBar: matchMedia("(hover: none)").matches ? true : "hover",
      modeBarButtons: [["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"], [save("png", icons.camera), save("svg", icons.disk)]],
    };
  }

  listen() {
    this.host.on("plotly_click", (event) => this.onClick(event));
    this.host.on("plotly_hover", (event) => this.onHover(event));
    this.host.on("plotly_unhover", () => this.tip.hide());
    this.host.on("plotly_doubleclick", () => this.clear());
    this.host.on("plotly_afterplot", () => this.hideCovered());
    this.host.on("plotly_relayouting", () => { this.cursorBox.hidden = true; this.tip.hide(); });
    this.host.on("plotly_relayout", async (change) => {
      if (!Object.keys(change).some((key) => /^[xy]axis\d*\.(range|autorange)/.test(key))) return;
      await this.fitLabels();
      this.placeCursor();
      this.settle();
    });
  }

  // ---- Labels of the token axes: as many as fit, more of them the closer one looks. ----

  // What an axis says of its labels. `labelalias` is Plotly's own way to name positions and leaves the choice to Plotly.
  someLabels(name) {
    const own = this.figure.layout[name];
    const labels = this.labels[name];
    const longest = this.width < 500 ? 10 : 16;
    if (own.labelalias) {
      return { labelalias: Object.fromEntries([...labels].map(([value, label]) => [value, cut(label, longest)])) };
    }
    if (own.tickmode && own.tickmode !== "array") return {};
    const live = this.host._fullLayout?.[name];
    const all = [...labels.keys()];
    const [low, high] = live?.range ? [...live.range].sort((a, b) => a - b) : [-Infinity, Infinity];
    const seen = all.filter((position) => position >= low && position <= high);
    const length = live?._length || (name[0] === "x" ? this.width : this.header.height) * 0.75;
    const fit = Math.max(2, Math.min(MOST_LABELS, Math.floor(length / LABEL_PITCH)));
    let step = 1;
    while (seen.length / step > fit) step *= 2;
    const first = all.indexOf(seen[0]);
    const shown = seen.filter((_, k) => (first + k) % step === 0);
    return { tickmode: "array", tickvals: shown, ticktext: shown.map((position) => cut(labels.get(position), longest)) };
  }

  async fitLabels() {
    const change = {};
    for (const name of Object.keys(this.labels)) {
      const { tickvals, ticktext } = this.someLabels(name);
      if (!tickvals || String(tickvals) === String(Array.from(this.host.layout[name].tickvals ?? []))) continue;
      change[`${name}.tickvals`] = tickvals;
      change[`${name}.ticktext`] = ticktext;
    }
    if (Object.keys(change).length) await this.plotly.relayout(this.host, change);
  }

  // What a label of the selection would lie upon is hidden: tick labels, and names of points. Of two names that overlap
  // the later one in the figure's own order (its layout.meta) is hidden, too.
  hideCovered() {
    const find = (selector) => [...this.host.querySelectorAll(selector)];
    const taken = find(".annotation-text-g").map((node) => node.getBoundingClientRect());
    const put = (node, keep) => {
      const own = node.getBoundingClientRect();
      const free = taken.every((one) => own.left >= one.right || one.left >= own.right || own.top >= one.bottom || one.top >= own.bottom);
      node.style.visibility = free ? "" : "hidden";
      if (free && keep) taken.push(own);
    };
    for (const node of find(".xtick text, .ytick text")) put(node, false);
    const names = new Map(find(".scatterlayer .textpoint").map((node) =>
      [`${node.closest(".trace").__data__[0].trace.index},${node.__data__.i}`, node]));
    for (const place of this.figure.layout.meta?.names ?? []) if (names.has(String(place))) put(names.get(String(place)), true);
  }

  nameOf(name, position) {
    return this.told[name]?.get(position) ?? String(Number(position.toPrecision(6)));
  }

  // ---- The selection, drawn as shapes so that it follows every zoom and is in the exported picture. ----

  marks() {
    if (this.figure.layout.shapes?.length) return [];   // the figure frames its selection itself
    const { i = [], j = [] } = this.header.selected ?? {};
    const shapes = [];
    const frame = (colour, place) => {
      const shape = { type: "rect", layer: "above", fillcolor: "rgba(0,0,0,0)", ...place };
      shapes.push({ ...shape, line: { color: "#ffffff", width: 3.5 } }, { ...shape, line: { color: colour, width: 1.75 } });
    };
    for (const map of this.maps) {
      const [xref, yref] = [map.xref, map.yref];
      const rows = i.map((position) => span(map.down.edges, position)).filter(Boolean);
      const columns = j.map((position) => span(map.across.edges, position)).filter(Boolean);
      for (const [y0, y1] of rows) frame(this.theme.query, { xref: `${xref} domain`, x0: 0, x1: 1, yref, y0, y1 });
      for (const [x0, x1] of columns) frame(this.theme.key, { yref: `${yref} domain`, y0: 0, y1: 1, xref, x0, x1 });
      for (const [y0, y1] of rows) for (const [x0, x1] of columns) frame("#111111", { xref, yref, x0, x1, y0, y1 });
    }
    return shapes;
  }

  // ---- Pointer ----

  onHover(event) {
    const point = event.points[0];
    const index = this.maps.findIndex((map) => map.number === point.curveNumber);
    if (index < 0 || !event.event?.clientX) return;
    const [row, column] = point.pointNumber;
    this.tip.element.textContent = this.cellText(this.maps[index], row, column);
    this.tip.show(event.event.clientX, event.event.clientY);
  }

  onPointer(event) {
    this.host.classList.toggle("enc-over-label", this.labelAt(event) !== null);
  }

  onClick(event) {
    if (event.event?.detail > 1 || !this.pressed) return;   // the second half of a double click; a finger that scrolls
    const point = event.points[0];
    const shift = Boolean(event.event?.shiftKey);
    const index = this.maps.findIndex((map) => map.number === point.curveNumber);
    if (index < 0) {
      this.send({ axis: "point", trace: point.curveNumber, point: point.pointNumber ?? point.pointIndex ?? 0, x: point.x, y: point.y, shift });
      return;
    }
    const [row, column] = point.pointNumber;
    this.pressed = null;   // a tap can reach Plotly twice, as touch and as mouse
    this.cursor = { map: index, row, column };
    this.placeCursor();
    this.sendCell(shift);
  }

  // The token whose tick label lies under the pointer. Plotly lays its own handles over the labels and reports nothing.
  labelAt(event) {
    const box = this.host.getBoundingClientRect();
    const size = this.host._fullLayout?._size;
    if (!size || !Object.keys(this.labels).length) return null;
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    for (const name of Object.keys(this.labels)) {
      const axis = this.host._fullLayout[name];
      const other = this.host._fullLayout[axisKey(axis.anchor && axis.anchor !== "free" ? axis.anchor : name[0] === "x" ? "y" : "x")];
      const [along, across] = name[0] === "x" ? [x, y] : [y, x];
      if (along < axis._offset || along > axis._offset + axis._length) continue;
      if (other && across > other._offset && across < other._offset + other._length) continue;   // in the plot itself
      const position = this.tickAt(name, event) ?? this.besideTicks(name, event, along);
      if (position !== null) return { axis: name[0], position };
    }
    return null;
  }

  ticksOf(name) {
    return this.host.querySelectorAll(`g.${name.replace("axis", "")}tick > text`);
  }

  // The label itself; on slanted labels this is the only way to tell.
  tickAt(name, event) {
    const ticks = new Set(this.ticksOf(name));
    for (const element of document.elementsFromPoint(event.clientX, event.clientY)) {
      const tick = ticks.has(element) ? element : ticks.has(element.parentNode) ? element.parentNode : null;
      const position = tick?.__data__?.x;
      if (this.labels[name].has(position)) return position;
    }
    return null;
  }

  // Between the labels, in the strip that they take: the token there, though its own label found no room.
  besideTicks(name, event, along) {
    const texts = [...this.ticksOf(name)];
    if (texts.some((text) => /rotate\((?!-?(0|90|180|270)[,)])/.test(text.getAttribute("transform") ?? ""))) return null;
    const boxes = texts.map((text) => text.getBoundingClientRect());
    const [low, high, at] = name[0] === "x" ? ["top", "bottom", event.clientY] : ["left", "right", event.clientX];
    if (!boxes.length || at < Math.min(...boxes.map((box) => box[low])) - 2 || at > Math.max(...boxes.map((box) => box[high])) + 2) return null;
    const axis = this.host._fullLayout[name];
    const position = Math.round(axis.p2l(along - axis._offset));
    return this.labels[name].has(position) ? position : null;
  }

  onLabelClick(event) {
    if (!this.pressed) return;
    const [x, y] = this.pressed;
    if (Math.hypot(event.clientX - x, event.clientY - y) > 4 || event.detail > 1) return;
    const label = this.labelAt(event);
    if (!label) return;
    this.send({ axis: label.axis, [label.axis === "x" ? "j" : "i"]: label.position, trace: this.maps[0]?.number ?? 0, shift: event.shiftKey });
  }

  // ---- Keyboard ----

  onKey(event) {
    const moves = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    const zooms = { "+": "in", "=": "in", "-": "out", 0: "reset" };
    if (event.ctrlKey || event.metaKey || event.altKey || !this.host._fullLayout) return;
    if (event.key === "Escape") this.clear();
    else if (event.key === "Enter" && this.cursor) this.sendCell(event.shiftKey);
    else if (event.key === "Enter" && this.point) this.send({ axis: "point", shift: event.shiftKey, ...this.point });
    else if (moves[event.key] && this.maps.length) this.moveCursor(...moves[event.key]);
    else if (moves[event.key] && this.points().length) this.movePoint(...moves[event.key]);
    else if (zooms[event.key] && this.maps.length) this.host.querySelector(`.modebar-btn[data-attr="zoom"][data-val="${zooms[event.key]}"]`)?.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  clear() {
    this.cursor = this.point = null;
    this.placeCursor();
    this.tip.hide();
    if (!this.maps.length) this.plotly.Fx.unhover(this.host);
    this.send({ axis: "clear" });
  }

  // dx, dy in the directions of the screen; the first key only shows where the cursor is. It stays inside the window.
  moveCursor(dx, dy) {
    const { i = [], j = [] } = this.header.selected ?? {};
    const first = !this.cursor;
    this.cursor ??= { map: 0, row: indexOf(this.maps[0].down.edges, i[0]) ?? 0, column: indexOf(this.maps[0].across.edges, j[0]) ?? 0 };
    const map = this.maps[this.cursor.map];
    const step = (name, centres, at, by) => {
      const range = this.host._fullLayout[name].range;
      const [low, high] = [Math.min(...range), Math.max(...range)];
      const seen = centres.map((_, k) => k).filter((k) => centres[k] >= low && centres[k] <= high);
      if (!seen.length) return at;
      const next = first ? at : at + by * Math.sign(range[1] - range[0]) * Math.sign(centres[centres.length - 1] - centres[0] || 1);
      return Math.max(seen[0], Math.min(seen[seen.length - 1], next));
    };
    this.cursor.column = step(map.x, map.across.centres, this.cursor.column, dx);
    this.cursor.row = step(map.y, map.down.centres, this.cursor.row, -dy);
    this.showCursor();
  }

  // ---- A figure of points: the arrow keys go to the next point in their direction. ----

  points() {
    return this.host._fullData.flatMap((trace, number) => {
      if (trace.visible !== true || trace.hoverinfo === "skip" || !/^scatter(gl)?$/.test(trace.type) || !trace.x?.length) return [];
      const [x, y] = [axisKey(trace.xaxis ?? "x"), axisKey(trace.yaxis ?? "y")].map((name) => this.host._fullLayout[name]);
      return Array.from(trace.x, (value, point) => ({
        trace: number, point, x: value, y: trace.y[point], left: x._offset + x.d2p(value), top: y._offset + y.d2p(trace.y[point]),
      })).filter(({ left, top }) => Number.isFinite(left) && Number.isFinite(top));
    });
  }

  movePoint(dx, dy) {
    const points = this.points();
    const here = this.point && points.find(({ trace, point }) => trace === this.point.trace && point === this.point.point);
    const ahead = (other) => (other.left - here.left) * dx + (other.top - here.top) * dy;
    const aside = (other) => Math.abs((other.left - here.left) * dy) + Math.abs((other.top - here.top) * dx);
    const next = here
      ? points.filter((other) => ahead(other) > 0.5).sort((a, b) => ahead(a) + 2 * aside(a) - ahead(b) - 2 * aside(b))[0]
      : points[0];
    if (!next) return;
    const { left, top, ...point } = next;
    this.point = point;
    this.plotly.Fx.hover(this.host, [{ curveNumber: point.trace, pointNumber: point.point }]);
    const label = [...this.host.querySelectorAll(".hoverlayer .hovertext")].map((group) => (
      [...group.querySelectorAll("text")].map((text) => text.textContent).filter(Boolean).join(" "))).join(", ");
    this.aloud.textContent = label;
  }

  showCursor() {
    const map = this.maps[this.cursor.map];
    const text = this.cellText(map, this.cursor.row, this.cursor.column);
    this.aloud.textContent = text;
    this.placeCursor();
    if (this.cursorBox.hidden) return;
    const box = this.cursorBox.getBoundingClientRect();
    this.tip.element.textContent = text;
    this.tip.show(box.right, box.bottom, 6);
  }

  placeCursor() {
    this.cursorBox.hidden = true;
    if (!this.cursor || !this.host._fullLayout || !this.root.contains(document.activeElement)) return;
    const map = this.maps[this.cursor.map];
    this.cursor.row = Math.min(this.cursor.row, map.rows - 1);
    this.cursor.column = Math.min(this.cursor.column, map.columns - 1);
    const along = (name, edges, k) => {
      const axis = this.host._fullLayout[name];
      const pixels = [axis.l2p(edges[k]), axis.l2p(edges[k + 1])].sort((a, b) => a - b);
      const [low, high] = [Math.max(0, pixels[0]), Math.min(axis._length, pixels[1])];
      return high - low < 1 ? null : [axis._offset + low, high - low];
    };
    const across = along(map.x, map.across.edges, this.cursor.column);
    const down = along(map.y, map.down.edges, this.cursor.row);
    if (!across || !down) return;
    const grow = (size) => Math.max(0, (6 - size) / 2);   // a cell of two pixels still needs a visible frame
    const [gx, gy] = [grow(across[1]), grow(down[1])];
    Object.assign(this.cursorBox.style, {
      left: `${across[0] - gx}px`, width: `${across[1] + 2 * gx}px`, top: `${down[0] - gy}px`, height: `${down[1] + 2 * gy}px`,
    });
    this.cursorBox.hidden = false;
  }

  cellText(map, row, column) {
    const template = map.trace.hovertemplate ?? "%{y} to %{x}: %{z:.3f}";
    const [x, y] = [map.across.centres[column], map.down.centres[row]];
    const values = {
      x: this.nameOf(map.x, x), y: this.nameOf(map.y, y), z: map.trace.z[row][column],
      text: map.trace.text?.[row]?.[column], hovertext: map.trace.hovertext?.[row]?.[column], customdata: map.trace.customdata?.[row]?.[column],
    };
    const picture = String(template).replace(/<extra>.*?<\/extra>/gs, "");
    return picture.split(/(%\{[^}]*\})/).map((part) => {
      const field = /^%\{([a-z]+)(?:\[(\d+)\])?(?::([^}]*))?\}$/.exec(part);
      if (!field) return plainText(part);
      const value = field[2] === undefined ? values[field[1]] : values[field[1]]?.[Number(field[2])];
      return typeof value === "number" ? formatNumber(value, field[3]) : plainText(value ?? "");
    }).join("");
  }

  // ---- To Python ----

  sendCell(shift) {
    const map = this.maps[this.cursor.map];
    this.send({
      axis: "cell", trace: map.number, shift,
      i: Math.round(map.down.centres[this.cursor.row]), j: Math.round(map.across.centres[this.cursor.column]),
    });
  }

  send(value) {
    this.component.setTriggerValue("click", { ...value, id: eventId() });
  }

  // Tells Python the window once zooming or panning has ended, and only when it is another one.
  settle() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const now = this.zoomWindow();
      if (this.gone || JSON.stringify(now) === JSON.stringify(this.known)) return;
      this.known = now;
      this.component.setStateValue("relayout", now);
    }, SETTLED_MS);
  }

  zoomWindow() {
    const side = (name) => {
      const axis = this.host.layout[name];
      const own = this.figure.layout[name]?.range;
      if (!axis?.range || axis.range.some((edge) => typeof edge !== "number")) return null;
      const home = axis.autorange && axis.autorange !== "min" && axis.autorange !== "max";
      const same = own && own.every((edge, k) => Math.abs(edge - axis.range[k]) < 1e-6 * Math.abs(own[1] - own[0]));
      return { home: Boolean(home || same), range: [...axis.range].sort((a, b) => a - b).map((edge) => Number(edge.toFixed(4))) };
    };
    const map = this.maps[0];
    const [x, y] = [side(map?.x ?? "xaxis"), side(map?.y ?? "yaxis")];
    return !x || !y || (x.home && y.home) ? null : { x: x.range, y: y.range };
  }

  async save(format) {
    const layout = { ...this.host.layout, paper_bgcolor: this.theme.background };
    const size = { width: this.host._fullLayout.width, height: this.host._fullLayout.height };
    const url = await this.plotly.toImage({ data: this.host.data, layout }, { format, scale: format === "png" ? 2 : 1, ...size });
    download(`${fileName(this.header.name)}.${format}`, url);
  }

  destroy() {
    this.gone = true;
    clearTimeout(this.timer);
    this.resize.cancel();
    this.observer.disconnect();
    window.removeEventListener("scroll", this.onScroll, { capture: true });
    window.removeEventListener("enc-open", this.onOpened);
    if (this.host.data) this.plotly.purge(this.host);
    this.root.remove();
  }
}

export default mounted(PlotView);
