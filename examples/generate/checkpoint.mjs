// SPDX-License-Identifier: Apache-2.0
/** The two files of a model in the format of llama2.c: its weights and its vocabulary. */

/**
 * @typedef {object} Checkpoint
 * @property {number} dim
 * @property {number} hidden Width of the feed-forward part.
 * @property {number} layers
 * @property {number} heads
 * @property {number} kvHeads
 * @property {number} vocabulary
 * @property {number} length Tokens the model was trained for.
 * @property {number} headDim
 * @property {Record<string, Float32Array>} weights Each name with all layers one after the other.
 */

/**
 * Seven int32, then float32 weights in a fixed order.
 * @param {ArrayBuffer} file
 * @returns {Checkpoint}
 */
export function readCheckpoint(file) {
  if (file.byteLength < 28) throw new Error('this is no llama2.c checkpoint: it has no header');
  const [dim, hidden, layers, heads, kvHeads, signed, length] = new Int32Array(file, 0, 7);
  // A negative count says that the classifier has weights of its own.
  const vocabulary = Math.abs(signed);
  const headDim = dim / heads;
  const kvDim = headDim * kvHeads;
  const sane = [dim, hidden, layers, heads, kvHeads, vocabulary, length].every((n) => n > 0);
  if (!sane || !Number.isInteger(headDim))
    throw new Error('this is no llama2.c checkpoint: its header makes no sense');
  let offset = 28;
  const take = (/** @type {number} */ count) => {
    if (offset + count * 4 > file.byteLength) throw new Error('the checkpoint ends too early');
    const part = new Float32Array(file, offset, count);
    offset += count * 4;
    return part;
  };
  /** @type {Record<string, Float32Array>} */
  const weights = {
    embedding: take(vocabulary * dim),
    attentionNorm: take(layers * dim),
    q: take(layers * dim * dim),
    k: take(layers * kvDim * dim),
    v: take(layers * kvDim * dim),
    o: take(layers * dim * dim),
    feedNorm: take(layers * dim),
    w1: take(layers * hidden * dim),
    w2: take(layers * dim * hidden),
    w3: take(layers * hidden * dim),
    finalNorm: take(dim),
  };
  if (signed < 0) {
    // Between them stand tables of cosines and sines, which posenc computes.
    take(length * headDim);
    weights.classifier = take(vocabulary * dim);
  } else {
    weights.classifier = weights.embedding;
  }
  return { dim, hidden, layers, heads, kvHeads, vocabulary, length, headDim, weights };
}

const beginning = 1;

/**
 * For each token a float32 score, an int32 length and as many bytes of text.
 * @param {ArrayBuffer} file
 * @param {number} vocabulary
 */
export function readTokenizer(file, vocabulary) {
  const view = new DataView(file);
  /** @type {Uint8Array[]} */
  const pieces = [];
  /** @type {Map<string, { id: number, score: number }>} */
  const known = new Map();
  const text = (/** @type {Uint8Array} */ bytes) => String.fromCharCode(...bytes);
  for (let at = 4, id = 0; id < vocabulary; ++id) {
    const [score, length] = [view.getFloat32(at, true), view.getInt32(at + 4, true)];
    const piece = new Uint8Array(file, at + 8, length);
    at += 8 + length;
    // <0x0A> stands for the byte itself.
    const byte = /^<0x([0-9A-F]{2})>$/.exec(text(piece))?.[1];
    pieces.push(byte === undefined ? piece : Uint8Array.of(Number.parseInt(byte, 16)));
    if (byte === undefined) known.set(text(piece), { id, score });
  }
  const bytes = new TextEncoder();

  return {
    beginning,

    /**
     * Characters, or bytes where there is no token for one; then the best pair becomes one token
     * until there is none left.
     * @param {string} prompt
     */
    encode(prompt) {
      /** @type {{ id: number, piece: string }[]} */
      const parts = [];
      for (const character of prompt === '' ? '' : ` ${prompt}`) {
        const encoded = bytes.encode(character);
        const whole = known.get(text(encoded));
        if (whole !== undefined) parts.push({ id: whole.id, piece: text(encoded) });
        // After the three special tokens come the 256 bytes.
        else for (const byte of encoded) parts.push({ id: byte + 3, piece: '' });
      }
      for (;;) {
        let best = { at: -1, id: 0, score: -Infinity };
        for (let at = 0; at + 1 < parts.length; ++at) {
          if (parts[at].piece === '' || parts[at + 1].piece === '') continue;
          const pair = known.get(parts[at].piece + parts[at + 1].piece);
          if (pair !== undefined && pair.score > best.score) best = { at, ...pair };
        }
        if (best.at < 0) return [beginning, ...parts.map(({ id }) => id)];
        const piece = parts[best.at].piece + parts[best.at + 1].piece;
        parts.splice(best.at, 2, { id: best.id, piece });
      }
    },

    /** @param {readonly number[]} tokens */
    decode(tokens) {
      const all = tokens.flatMap((token, i) => {
        const piece = [...pieces[token]];
        // The space that stands before the first word.
        return tokens[i - 1] === beginning && piece[0] === 0x20 ? piece.slice(1) : piece;
      });
      const special = tokens[0] === beginning ? pieces[beginning].length : 0;
      return new TextDecoder().decode(Uint8Array.from(all.slice(special)));
    },
  };
}
