// Put into every page before its own scripts: tells when what a person waits for has been painted.
//
// Nothing in the app knows of this. A small map is on the screen when an image was drawn onto a canvas that is in the
// document, so drawing is watched and what was drawn is summed up; a large map is a picture inside Plotly's SVG. Time
// runs from the browser's own event (a key, a click) to the second frame after each shows something else.
(() => {
  const sum = (data) => {
    let value = 17;
    for (let k = 0; k < data.length; k += 61) value = (value * 31 + data[k]) | 0;
    return `${data.length}:${value}`;
  };
  for (const kind of ["OffscreenCanvasRenderingContext2D", "CanvasRenderingContext2D"]) {
    const { putImageData, drawImage } = window[kind].prototype;
    window[kind].prototype.putImageData = function (image, ...rest) {
      this.canvas.__content = sum(image.data);
      return putImageData.call(this, image, ...rest);
    };
    window[kind].prototype.drawImage = function (source, ...rest) {
      if (source.__content !== undefined) this.canvas.__content = source.__content;
      return drawImage.call(this, source, ...rest);
    };
  }

  const text = (selector) => [...document.querySelectorAll(selector)].map((element) => element.textContent).join("|");
  const states = {
    grid: () => [...document.querySelectorAll("canvas")].map((canvas) => canvas.__content ?? "").join("|"),
    map: () =>
      [...document.querySelectorAll(".heatmaplayer image")].map((image) =>
        image.getAttribute("xlink:href") ?? image.getAttribute("href")
      ).join("|"),
    heading: () => {
      const opened = document.querySelector("[data-opened]"); // its style shows the name until the answer has it
      return opened ? getComputedStyle(opened).getPropertyValue("--opened") : text("h1, h2, h3");
    },
    answer: () => text("h1, h2, h3, .st-key-answer"),
    lines: () =>
      `${text("#vis svg text").length}:${document.querySelectorAll("#vis svg > g").length}:${
        document.querySelector("#vis svg line")?.getAttribute("stroke-opacity")
      }`,
  };
  const read = (names) => Object.fromEntries(names.map((name) => [name, states[name]()]));

  // The second frame's task: the first one has by then been handed to the compositor.
  const painted = (then) =>
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = then;
        channel.port2.postMessage(0);
      })
    );

  // Arms the watch: from the next `trigger` event until all of `names` differ from now. The result,
  // milliseconds of each name, comes from `finish`.
  let result = null;
  window.__arm = (trigger, names, patience) => {
    const before = read(names);
    result = new Promise((resolve, reject) => {
      const asBefore = () => names.filter((name) => states[name]() === before[name]);
      // A page that was busy all the time has this timer due before its next frame: only what did not change is late.
      const late = () =>
        asBefore().length && reject(
          new Error(
            began === null ? `no ${trigger} in ${patience} ms` : `after ${patience} ms still as before: ${asBefore()}`,
          ),
        );
      setTimeout(late, patience);
      let began = null;
      addEventListener(trigger, (event) => {
        began ??= event.timeStamp;
      }, { capture: true, once: true });
      const seen = new Set();
      const times = {};
      const look = () => {
        if (began === null) {
          requestAnimationFrame(look);
          return;
        }
        const now = read(names);
        for (const name of names) {
          if (seen.has(name) || !now[name] || now[name] === before[name]) continue;
          seen.add(name);
          painted(() => {
            times[name] = performance.now() - began;
            if (Object.keys(times).length === names.length) resolve(times);
          });
        }
        if (seen.size < names.length) requestAnimationFrame(look);
      };
      requestAnimationFrame(look);
    });
  };
  window.__finish = () => result;
  window.__shown = (name) => states[name]();

  // From the start of the navigation until `selector` is in the page and painted.
  window.__appeared = (selector) =>
    new Promise((resolve) => {
      const look = () => (document.querySelector(selector)
        ? painted(() => resolve(performance.now()))
        : requestAnimationFrame(look));
      look();
    });
})();
