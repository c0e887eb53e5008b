// A forward pass of an encoder of text or images, with every value that a picture shows. The Python engine has the same
// parts under the same names; its `EncoderConfig` is the config here.
//
// Shapes: T tokens, D d_model, H heads, K width of a head, F width of the feed-forward layer. Arrays are row-major.
import { added } from "./linear.js";
import { block, Products } from "./products.js";

// The score of a key that a query does not attend to. It is finite, as in Python: a query without any key has a uniform row.
export const LOWEST = -3.4028234663852886e38;

export class Encoder {
  // config: of a checkpoint of Encoderscope, one that `encoder/live/bounds.py` lets through; tensors: of `readWeights`;
  // rows: of a learned bias by distance, the row of each distance from the farthest key before to the farthest after;
  // rotary: for each layer {angles, length}, the angle of each pair at position 1 and the factor of cos and sin.
  constructor(config, tensors, { rows = null, rotary = null } = {}, products = new Products()) {
    this.config = config;
    this.tensors = tensors;
    this.rowsOfBias = rows;
    this.rotary = rotary;
    this.products = products;
    this.held = {}; // the matrices that were multiplied once, by name
  }

  // The values of one forward pass over ids [T], or the pixels [S, S] of a picture.
  // edits: {placement: "pre" or "post", causal, noPositions, heads: [[layer, head]], sublayers: [[layer, part]],
  // hidden: tokens that none attends to}.
  trace(input, edits = {}) {
    const { config } = this;
    const placement = edits.placement ?? config.norm_placement;
    const tokens = config.patches ? this.patches(input) : this.rows("embedding.tokens.weight", input);
    const width = config.embedding_width;
    const nTokens = tokens.length / width;
    const positions = this.positions(nTokens, config.patches ? null : input, edits);
    let x = positions ? added(tokens, positions) : tokens.slice();
    if (this.has("embedding.segments.weight")) {
      const segment = this.rows("embedding.segments.weight", [0]);
      x = x.map((value, at) => value + segment[at % width]);
    }
    if (config.embedding_norm) x = this.norm("embedding.norm", x);
    if (this.has("embedding.projection.weight")) x = this.linear("embedding.projection", x);
    const found = { nTokens, placement, tokens, positions, embedding: x, layers: [], edits };
    for (let layer = 0; layer < config.n_layers; layer++) {
      found.layers.push(this.layer(layer, x, nTokens, placement, edits));
      x = found.layers[layer].afterFfn;
    }
    found.output = config.final_norm ? this.norm("final_norm", x) : x;
    return found;
  }

  layer(layer, x, nTokens, placement, edits) {
    const pre = placement === "pre";
    const name = (part) => `layers.${layer}.${part}`;
    const off = (part) => edits.sublayers?.some(([l, p]) => l === layer && p === part);
    const attentionNorm = (values) => this.hasAttentionNorm(layer) ? this.norm(name("attention_norm"), values) : values;
    const toAttention = pre ? attentionNorm(x) : x;
    const attention = this.attention(layer, toAttention, nTokens, edits);
    const added1 = off("attention") ? attention.out.map(() => 0) : attention.out;
    const sum1 = added(x, added1);
    const afterAttention = pre ? sum1 : attentionNorm(sum1);
    const toFfn = pre ? this.norm(name("ffn_norm"), afterAttention) : afterAttention;
    const hidden = this.neurons(name("ffn"), toFfn);
    const ffn = this.linear(name("ffn.w_out"), hidden);
    const added2 = off("ffn") ? ffn.map(() => 0) : ffn;
    const sum2 = added(afterAttention, added2);
    const afterFfn = pre ? sum2 : this.norm(name("ffn_norm"), sum2);
    return {
      ...attention,
      input: x,
      toAttention,
      addedByAttention: added1,
      sum1,
      afterAttention,
      toFfn,
      hidden,
      addedByFfn: added2,
      sum2,
      afterFfn,
    };
  }

  // The activations [T, F] of a feed-forward layer.
  neurons(name, x) {
    const active = this.linear(`${name}.w_in`, x, this.config.activation);
    if (!this.config.gated) return active;
    const gate = this.linear(`${name}.w_gate`, x);
    for (let at = 0; at < active.length; at++) active[at] *= gate[at];
    return active;
  }

  // q, k, v [T, H x K], q and k rotated where positions are rotary; scores and pattern: [H] of [T, T]; z [T, H x K]; out [T, D].
  attention(layer, x, nTokens, edits) {
    const { n_heads: nHeads, d_head: width, causal } = this.config;
    const [straightQ, straightK, v] = ["w_q", "w_k", "w_v"].map((part) =>
      this.linear(`layers.${layer}.attention.${part}`, x)
    );
    const [q, k] = [straightQ, straightK].map((values) => this.rotated(layer, values, edits));
    const inner = nHeads * width;
    const z = new Float32Array(nTokens * inner);
    const isCausal = causal || edits.causal;
    const heads = Array.from({ length: nHeads }, (_, head) => head);
    const ofHead = (values, head) => block(values, nTokens, width, head * width, inner);
    const scores = this.products.products(heads.map((head) => [ofHead(q, head), ofHead(k, head)]));
    for (const head of heads) this.finishScores(scores[head], nTokens, head, this.reach(layer), isCausal, edits);
    const pattern = this.products.softmax(scores, nTokens);
    const isOn = (head) => !edits.heads?.some(([l, h]) => l === layer && h === head);
    const transposed = (head) => block(v, width, nTokens, head * width, 1, inner);
    const on = heads.filter(isOn);
    const own = this.products.products(on.map((head) => [block(pattern[head], nTokens, nTokens), transposed(head)]));
    on.forEach((head, at) => {
      for (let t = 0; t < nTokens; t++) {
        z.set(own[at].subarray(t * width, (t + 1) * width), t * inner + head * width);
      }
    });
    return { q, k, v, scores, pattern, z, out: this.linear(`layers.${layer}.attention.w_o`, z) };
  }

  // Scales the products [T, T] of queries and keys, adds the bias of each distance, and hides keys.
  finishScores(scores, nTokens, head, reach, isCausal, edits) {
    const { scale } = this;
    const isPlain = !isCausal && reach >= nTokens && !this.has("relative_bias.weight");
    if (isPlain) { for (let at = 0; at < scores.length; at++) scores[at] *= scale; }
    else {
      const distances = Array.from({ length: 2 * nTokens - 1 }, (_, at) => at + 1 - nTokens);
      const more = Float64Array.from(
        distances,
        (far) => isCausal && far > 0 || Math.abs(far) > reach ? -Infinity : this.bias(head, far, edits),
      );
      for (let query = 0; query < nTokens; query++) {
        const zero = nTokens - 1 - query;
        for (let key = 0; key < nTokens; key++) {
          const score = scores[query * nTokens + key] * scale + more[zero + key];
          scores[query * nTokens + key] = Math.max(score, LOWEST);
        }
      }
    }
    for (const key of edits.hidden ?? []) {
      for (let query = 0; query < nTokens; query++) scores[query * nTokens + key] = LOWEST;
    }
  }

  // Queries or keys [T, H x K], each pair of components rotated by its position; without positions all by the first one.
  rotated(layer, x, edits) {
    if (this.rotary === null) return x;
    const { d_head: width, n_heads: nHeads, rotary_interleaved: areNeighbours } = this.config;
    const out = x.slice();
    const inner = width * nHeads;
    for (let position = 0; position < x.length / inner; position++) {
      const turns = this.turns(layer, edits.noPositions ? 0 : position); // the same in all heads
      turns.forEach(([cos, sin], pair) => {
        for (let head = 0; head < nHeads; head++) {
          const at = position * inner + head * width + (areNeighbours ? 2 * pair : pair);
          const other = at + (areNeighbours ? 1 : turns.length);
          out[at] = x[at] * cos - x[other] * sin;
          out[other] = x[other] * cos + x[at] * sin;
        }
      });
    }
    return out;
  }

  // The cosine and the sine of each pair at a position: of its angle times the position, or of a table in the weights.
  turns(layer, position) {
    const { rotary_table: isTable, rotary_width: width } = this.config;
    if (isTable) {
      const row = this.rows("rotary_table.weight", [position]);
      return Array.from({ length: width / 2 }, (_, pair) => [row[width / 2 + pair], row[pair]]);
    }
    const { angles, length } = this.rotary[layer];
    return angles.map((angle) => {
      const turn = Math.fround(position * angle);
      return [Math.cos(turn) * length, Math.sin(turn) * length];
    });
  }

  rotates(edits) {
    return this.rotary !== null && !edits.noPositions;
  }

  // How far from a query the keys are that it attends to in a layer.
  reach(layer) {
    const { attention_window: reach } = this.config;
    return (Array.isArray(reach) ? reach[layer] : reach) ?? Infinity;
  }

  hasAttentionNorm(layer) {
    return this.config.first_norm || layer > 0;
  }

  get scale() {
    return this.config.attention_scale ?? 1 / Math.sqrt(this.config.d_head);
  }

  // What is added to the scores of a head for a key `distance` tokens after the query.
  bias(head, distance, edits) {
    const table = this.tensors["relative_bias.weight"];
    if (!table) return 0;
    const apart = edits.noPositions ? 0 : distance;
    return table.data[this.rowsOfBias[apart + (this.rowsOfBias.length - 1) / 2] * this.config.n_heads + head];
  }

  has(name) {
    return name in this.tensors;
  }

  data(name) {
    return this.tensors[name]?.data ?? null;
  }

  // activation: the name of what follows.
  linear(name, x, activation = "none") {
    this.held[name] ??= this.products.hold(this.tensors[`${name}.weight`], this.data(`${name}.bias`));
    return this.products.times(x, this.held[name], activation);
  }

  normOf(name) {
    return { gain: this.data(`${name}.weight`), bias: this.data(`${name}.bias`), eps: this.config.norm_eps };
  }

  norm(name, x) {
    return this.products.layerNorm(x, this.normOf(name));
  }

  // Rows of a table, one after another.
  rows(name, ids) {
    const { data, shape: [, width] } = this.tensors[name];
    const out = new Float32Array(ids.length * width);
    ids.forEach((id, at) => out.set(data.subarray(id * width, (id + 1) * width), at * width));
    return out;
  }

  // ids: of a text, whose padding has a row of its own where the config says so; null for an image.
  positions(nTokens, ids, edits) {
    const table = "embedding.positions.table.weight";
    if (edits.noPositions || !this.has(table)) return null;
    const { pad_position: pad, pad_id: padId, position_offset: offset = 0 } = this.config;
    let next = offset;
    const row = (at) => ids && pad !== null && ids[at] === padId ? pad : next++;
    return this.rows(table, Array.from({ length: nTokens }, (_, at) => row(at)));
  }

  // Special tokens, then a linear map of each patch. pixels: [S, S], one channel.
  patches(pixels) {
    const { image_size: size, patch_size: patch } = this.config.patches;
    const side = size / patch;
    const cut = new Float32Array(side * side * patch * patch);
    for (let at = 0; at < cut.length; at++) {
      const [place, inside] = [Math.floor(at / patch ** 2), at % patch ** 2];
      const row = Math.floor(place / side) * patch + Math.floor(inside / patch);
      cut[at] = pixels[row * size + (place % side) * patch + inside % patch];
    }
    const found = this.linear("embedding.tokens.projection", cut);
    const cls = this.data("embedding.tokens.cls") ?? new Float32Array();
    const out = new Float32Array(cls.length + found.length);
    out.set(cls);
    out.set(found, cls.length);
    return out;
  }
}
