// The small maps of all heads as one picture, at any size: several sizes are kept.

// The opacity of a weight, 0 to 255: of a scale of one colour it is the weight itself (encoder/figures/colours.py).
export function opacityOf(colours) {
  const isOne = [0, 1, 2].every((channel) => colours[channel] === colours[3 * 255 + channel]);
  return (weight) => isOne ? weight : 255;
}

export class Thumbnails {
  // thumbnails: uint8 [L, H, s, s] as { data, shape }, places in a scale of 256 colours.
  constructor(thumbnails, colours) {
    this.thumbnails = thumbnails;
    this.colours = colours;
    this.sizes = new Map();
  }

  // The picture, each map shrunk to at most `most` blocks a side: { canvas, blocks }.
  atlas(most) {
    const side = this.thumbnails.shape[2];
    const group = Math.max(1, Math.ceil(side / Math.max(1, most)));
    if (!this.sizes.has(group)) this.sizes.set(group, this.draw(group, Math.ceil(side / group)));
    return this.sizes.get(group);
  }

  draw(group, blocks) {
    const { data, shape: [layers, heads, side] } = this.thumbnails;
    const image = new ImageData(heads * blocks, layers * blocks);
    const pixels = new Uint32Array(image.data.buffer);
    const opacity = opacityOf(this.colours.data);
    const table = Uint32Array.from({ length: 256 }, (_, v) => {
      const [red, green, blue] = this.colours.data.subarray(3 * v, 3 * v + 3);
      return (opacity(v) << 24) | (blue << 16) | (green << 8) | red;
    });
    for (let map = 0; map < layers * heads; map++) {
      const start = map * side * side;
      const corner = Math.floor(map / heads) * blocks * heads * blocks + (map % heads) * blocks;
      for (let row = 0; row < blocks; row++) {
        for (let column = 0; column < blocks; column++) {
          // The largest weight of the group: the mean would make a thin diagonal fade.
          let largest = 0;
          const [rowEnd, columnEnd] = [Math.min(side, (row + 1) * group), Math.min(side, (column + 1) * group)];
          for (let i = row * group; i < rowEnd; i++) {
            for (let j = column * group; j < columnEnd; j++) largest = Math.max(largest, data[start + i * side + j]);
          }
          pixels[corner + row * heads * blocks + column] = table[largest];
        }
      }
    }
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext("2d").putImageData(image, 0, 0);
    return { canvas, blocks };
  }
}
