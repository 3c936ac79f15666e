// SPDX-License-Identifier: Apache-2.0
// Cuts texts away from the page: to build 50,000 tokens takes 0.2 s, and a pattern of a visitor's file may take for ever.
import type { Reply, Request } from './pairs-protocol.ts';
import { type Cutter, cutterOf, gpt2 } from './tokenizer.ts';

let cutter: Cutter | undefined;
const tell = (reply: Reply): void => postMessage(reply);

async function fetched(address: string, bytes: number): Promise<object> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`the server says ${response.status}`);
  const pairs = await response.arrayBuffer();
  if (pairs.byteLength !== bytes)
    throw new Error(`${pairs.byteLength} bytes came where ${bytes} belong`);
  return gpt2(new Uint16Array(pairs));
}
async function readFrom(file: Blob): Promise<unknown> {
  const text = await file.text();
  try {
    return JSON.parse(text);
  } catch {
    throw new RangeError('it is no JSON');
  }
}

async function answer(request: Request): Promise<Reply> {
  const { serial } = request;
  const messageOf = (error: unknown): string =>
    error instanceof Error ? error.message : String(error);
  if (request.kind === 'cut') {
    const { text } = request;
    try {
      if (!cutter) throw new Error('no tokens are known yet');
      return { serial, kind: 'tokens', text, tokens: cutter.cut(text) };
    } catch (error) {
      return { serial, kind: 'uncut', text, message: messageOf(error) };
    }
  }
  try {
    cutter = cutterOf(
      request.kind === 'fetch'
        ? await fetched(request.address, request.bytes)
        : await readFrom(request.file),
    );
    return { serial, kind: 'ready', size: cutter.size };
  } catch (error) {
    return { serial, kind: 'refused', message: messageOf(error) };
  }
}

let before: Promise<void> = Promise.resolve();
addEventListener('message', ({ data }: MessageEvent<Request>) => {
  // One after the other: a text is cut by what was asked for before it.
  before = before.then(async () => tell(await answer(data)));
});
