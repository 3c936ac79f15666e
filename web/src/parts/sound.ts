// SPDX-License-Identifier: Apache-2.0
// A curve as a tone: from left to right in two seconds, the higher the value the higher the tone.

export interface Heard {
  readonly name: string;
  readonly values: ArrayLike<number>;
  /** Where each value stands along the axis as drawn, ascending. */
  readonly places: ArrayLike<number>;
  readonly logarithmic: boolean;
}

export const seconds = 2;
/** Two octaves around the middle of what small loudspeakers and most ears take well. */
const lowest = 220;
const octaves = 2;
const steps = 256;
const loudness = 0.2;
/** Shares of the sweep in which the tone comes and goes, since one cut off clicks. */
const edge = 6;

export interface Tone {
  readonly frequencies: Float32Array;
  /** 0 where there is no value. */
  readonly gains: Float32Array;
  /** Indices of the values that are nearest, for a cursor to follow. */
  readonly columns: Int32Array;
  readonly low: number;
  readonly high: number;
}

export function toneOf({ values, places, logarithmic }: Heard): Tone {
  const scaled = Float64Array.from(values, (value) => (logarithmic ? Math.log(value) : value));
  const known = scaled.filter(Number.isFinite);
  const [least, most] = [Math.min(...known), Math.max(...known)];
  const first = places[0] as number;
  const span = (places[places.length - 1] as number) - first;
  const frequencies = new Float32Array(steps);
  const gains = new Float32Array(steps);
  const columns = new Int32Array(steps);
  let at = 0;
  let last = lowest;
  for (let step = 0; step < steps; step += 1) {
    const wanted = first + (span * step) / (steps - 1);
    while (at < places.length - 2 && (places[at + 1] as number) <= wanted) at += 1;
    const next = Math.min(at + 1, places.length - 1);
    const [from, to] = [places[at] as number, places[next] as number];
    const share = to > from ? Math.min(1, (wanted - from) / (to - from)) : 0;
    columns[step] = share < 0.5 ? at : next;
    const [before, after] = [scaled[at] as number, scaled[next] as number];
    const value = share === 0 ? before : share === 1 ? after : before + share * (after - before);
    const height = most > least ? (value - least) / (most - least) : 0.5;
    if (Number.isFinite(height)) {
      last = lowest * 2 ** (octaves * height);
      const inward = Math.min(step, steps - 1 - step) / edge;
      gains[step] = loudness * Math.min(1, inward);
    }
    // A glide through silence would be heard at its end.
    frequencies[step] = last;
  }
  const plain = (value: number): number => (logarithmic ? Math.exp(value) : value);
  return { frequencies, gains, columns, low: plain(least), high: plain(most) };
}

/** Plays it; the function that comes back ends it early. */
export function play(
  { frequencies, gains, columns }: Tone,
  follow: ((column: number) => void) | undefined,
  ended: (early: boolean) => void,
): () => void {
  const context = new AudioContext();
  const tone = context.createOscillator();
  const volume = context.createGain();
  // Sines sound alike at all heights; a triangle has overtones that small loudspeakers still give.
  tone.type = 'triangle';
  const start = context.currentTime + 0.05;
  volume.gain.value = 0;
  tone.frequency.setValueCurveAtTime(frequencies, start, seconds);
  volume.gain.setValueCurveAtTime(gains, start, seconds);
  tone.connect(volume).connect(context.destination);
  tone.start(start);
  tone.stop(start + seconds);
  let over = false;
  const end = (early: boolean): void => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    void context.close();
    ended(early);
  };
  // Where no sound device is, the context's clock may stand still, and no end would ever come of it.
  const timer = setTimeout(() => end(false), 1000 * (seconds + 0.2));
  if (follow) {
    const begun = performance.now() + 50;
    const step = (): void => {
      if (over) return;
      const share = Math.max(0, Math.min(1, (performance.now() - begun) / (1000 * seconds)));
      follow(columns[Math.round(share * (steps - 1))] as number);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }
  void context.resume();
  return () => end(true);
}
