// SPDX-License-Identifier: Apache-2.0
// A configuration from a file, from standard input, or from the head of a GGUF file.

import { open } from 'node:fs/promises';
import { fromConfig, fromGGUF, PosencError, readGGUFHeader } from 'posenc';

const magic = 'GGUF';
/** Read so much of a GGUF file first, and then twice as much, until the header is whole. */
const firstBytes = 2 ** 20;
const mostBytes = 64 * 2 ** 20;
const mostText = 32 * 2 ** 20;

export async function readInput(name, options) {
  const bytes = name === '-' ? await readStandard() : undefined;
  const start = bytes ?? (await readStart(name, 4));
  if (start.subarray(0, 4).toString('latin1') === magic) {
    const header = bytes === undefined ? await readHead(name) : readGGUFHeader(bytes);
    return fromGGUF(header.metadata, named(header.tensors), options);
  }
  return fromConfig((bytes ?? (await readStart(name, mostText))).toString('utf8'), options);
}

/** Names without data: enough to know that a file scales its frequencies by a tensor. */
const named = (tensors) => new Map(tensors.map((tensor) => [tensor.name, tensor]));

async function readStandard() {
  const parts = [];
  let size = 0;
  for await (const part of process.stdin) {
    parts.push(part);
    size += part.length;
    if (size > mostBytes) break;
  }
  return Buffer.concat(parts);
}

async function readStart(name, most) {
  const file = await open(name);
  try {
    const { size } = await file.stat();
    const bytes = Buffer.alloc(Math.min(size, most));
    let read = 0;
    while (read < bytes.length) {
      const { bytesRead } = await file.read(bytes, read, bytes.length - read, read);
      if (bytesRead === 0) break;
      read += bytesRead;
    }
    return bytes.subarray(0, read);
  } finally {
    await file.close();
  }
}

async function readHead(name) {
  for (let most = firstBytes; ; most *= 4) {
    const bytes = await readStart(name, most);
    try {
      return readGGUFHeader(bytes);
    } catch (error) {
      const whole = bytes.length < most || most >= mostBytes;
      if (whole || !PosencError.is(error) || error.code !== 'TRUNCATED') throw error;
    }
  }
}
