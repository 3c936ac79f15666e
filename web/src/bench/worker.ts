// SPDX-License-Identifier: Apache-2.0
// Measures away from the page, so that drawing takes no part in it and the page can stop it at once.
import { load as loadPosenc } from 'posenc';
import type { Engine } from '../engine.ts';
import { type Contender, check, race } from './measure.ts';
import { biasInfo, rotationInfo } from './own.ts';
import { loadPeer, peerContenders, peerVersion } from './peer.ts';
import { plainAttention, plainRotation } from './plain.ts';
import { type Checked, type News, type Order, ownName } from './protocol.ts';
import { headDim, heads, reference, type Workload, workload } from './workloads.ts';

const tell = (news: News): void => postMessage(news);
const clock = (): number => performance.now();

function ownContender(engine: Engine, load: Workload, name: string): Contender {
  const { q, k, v, queries, keys, scale, work } = load;
  const table = (data: Float32Array, rows: number) => ({ shape: [heads, rows, headDim], data });
  const [query, key, value] = [table(q, queries), table(k, keys), table(v, keys)];
  if (work === 'rotation') {
    const turning = engine.encoding(rotationInfo.id, { headDim });
    return { name, how: `rotate, ${rotationInfo.title}`, run: () => turning.rotate(query).data };
  }
  const encoding =
    work === 'bias' && biasInfo ? engine.encoding(biasInfo.id, { heads }) : undefined;
  const options = { causal: true, scale, ...(encoding ? { encoding } : {}) };
  return {
    name,
    how: `attention${encoding ? `, ${biasInfo?.title}` : ''}`,
    run: () => engine.attention(query, key, value, options).output.data,
  };
}

function plainContender(load: Workload): Contender {
  const run = load.work === 'rotation' ? plainRotation(load) : plainAttention(load);
  return { name: 'plain JavaScript', how: 'loops over typed arrays', run };
}

/** One that is off by a thousandth, to see that such a one gets no time. */
function wrongContender(load: Workload): Contender {
  const { run } = plainContender(load);
  return {
    name: 'wrong on purpose',
    how: 'the plain loops, every number larger by a thousandth',
    run: () => (run() as Float32Array).map((value) => 1.001 * value),
  };
}

/** The faster build where there is one, and whether the browser could run it. */
async function relaxedBuild(): Promise<{ engine?: Engine; runs: boolean }> {
  try {
    const engine = (await loadPosenc({ build: 'relaxed', fresh: true })) as unknown as Engine;
    return { engine, runs: true };
  } catch (error) {
    return { runs: (error as { code?: unknown }).code !== 'UNSUPPORTED' };
  }
}

/** The smallest step that the clock makes. */
function clockStep(): number {
  let least = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 20; i += 1) {
    const start = clock();
    let now = start;
    while (now === start) now = clock();
    least = Math.min(least, now - start);
  }
  return least;
}

async function measure(order: Order): Promise<void> {
  tell({ kind: 'step', text: 'Loading' });
  const engine = (await loadPosenc()) as unknown as Engine;
  const { engine: relaxed, runs } = await relaxedBuild();
  const turning = engine.encoding(rotationInfo.id, { headDim });
  const interleaved = turning.plan().layout === 'interleaved';
  const load = workload(order.work, order.size, order.seed, interleaved);

  const contenders = [ownContender(engine, load, ownName)];
  if (relaxed) contenders.push(ownContender(relaxed, load, `${ownName}, relaxed`));
  let peer = 'left out';
  if (order.peer) {
    const ort = await loadPeer(order.peer, (received, total) =>
      tell({ kind: 'download', received, total }),
    );
    tell({ kind: 'step', text: 'Making the models of onnxruntime-web' });
    peer = peerVersion(ort);
    contenders.push(...(await peerContenders(ort, load)));
  }
  contenders.push(plainContender(load));
  if (order.wrong) contenders.push(wrongContender(load));

  tell({ kind: 'step', text: 'Comparing the answers with double precision' });
  const truth = reference(load);
  const checked: Checked[] = [];
  for (const contender of contenders) checked.push(await check(contender, truth));
  tell({ kind: 'checked', checked });
  const right = contenders.filter((_, i) => checked[i]?.passed);

  tell({ kind: 'step', text: 'Warming up' });
  const timed = await race(right, order.samples, order.batch, clock, (round) =>
    tell({ kind: 'round', round, of: order.samples }),
  );
  const { version, build } = engine.info;
  tell({
    kind: 'done',
    outcome: {
      order,
      title: titleOf(load),
      operations: load.operations,
      checked,
      timed,
      surroundings: {
        posenc: version,
        builds: [build, ...(relaxed ? ['relaxed'] : [])],
        peer,
        clock: clockStep(),
        relaxed: runs,
        isolated: self.crossOriginIsolated,
      },
    },
  });
}

function titleOf({ work, queries, keys }: Workload): string {
  const geometry = `${heads} heads of ${headDim}`;
  if (work === 'rotation') return `Turning ${queries} vectors, ${geometry}`;
  if (work === 'decode') return `One new token over ${keys} keys, ${geometry}`;
  return `Causal attention over ${keys} tokens, ${geometry}${work === 'bias' ? `, ${biasInfo?.title}` : ''}`;
}

addEventListener('message', ({ data }: MessageEvent<Order>) => {
  measure(data).catch((error: unknown) =>
    tell({ kind: 'failed', message: error instanceof Error ? error.message : String(error) }),
  );
});
