// A shaded text as a file: drawn where the browser has set its words.
/** @import { TextView } from "./text_view.js" */
import { legendWeight } from "./drawing.js";
import { savePicture } from "./picture.js";

/** @param {TextView} view */
export function saveText(view, kind) {
  const frame = view.root.getBoundingClientRect();
  const height = view.body.getBoundingClientRect().bottom - frame.top + 16;
  savePicture(kind, view.header.name, frame.width + 16, height, view.theme.background, (pen) => {
    pen.translate(8 - frame.left, 8 - frame.top);
    pen.textBaseline = "middle";
    view.units.forEach((element, unit) => drawShade(view, pen, element, unit));
    const walker = document.createTreeWalker(view.root, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (!node.parentElement.closest("button, .enc-aloud, .enc-note, .enc-tip")) drawText(pen, node);
    }
    drawLegendBar(view, pen);
  });
}

/** @param {TextView} view */
function drawShade(view, pen, element, unit) {
  for (const box of element.getClientRects()) {
    pen.beginPath();
    pen.roundRect(box.left, box.top, box.width, box.height, 3);
    pen.fillStyle = getComputedStyle(element).backgroundColor;
    pen.fill();
    pen.strokeStyle = view.root.style.getPropertyValue("--enc-from");
    pen.lineWidth = 2.5;
    if (view.selected.has(unit)) pen.stroke();
  }
}

// Draws each word of a text where it is on the page.
function drawText(pen, node) {
  const style = getComputedStyle(node.parentElement);
  const isRightToLeft = style.direction === "rtl";
  pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  pen.fillStyle = style.color;
  pen.direction = style.direction;
  pen.textAlign = isRightToLeft ? "right" : "left";
  const range = document.createRange();
  for (const word of node.data.matchAll(/\S+/g)) {
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    const box = range.getBoundingClientRect();
    pen.fillText(word[0], isRightToLeft ? box.right : box.left, box.top + box.height / 2);
  }
}

/** @param {TextView} view */
function drawLegendBar(view, pen) {
  const box = view.top.querySelector("i").getBoundingClientRect();
  const top = view.largest(view.shown());
  for (let x = 0; x < box.width; x++) {
    const weight = legendWeight(x / box.width, top, view.header.log);
    pen.fillStyle = `rgb(${view.colour(view.strength(weight, top))})`;
    pen.fillRect(box.left + x, box.top, 1.5, box.height);
  }
}
