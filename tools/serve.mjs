// SPDX-License-Identifier: Apache-2.0
// Serves a folder as a strict static host would: node tools/serve.mjs FOLDER
// PORT from the environment, else 8080 or the next free one; HOST, else this machine alone.
import { createReadStream, readFileSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, resolve, sep } from 'node:path';
import { createGzip } from 'node:zlib';

const types = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.mjs': 'text/javascript; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.wasm': 'application/wasm',
  '.webmanifest': 'application/manifest+json',
};

// The page carries the same policy in a <meta>; both read it from one file.
const policy = readFileSync(new URL('../web/policy.txt', import.meta.url), 'utf8');

const headers = {
  'Cache-Control': 'no-cache',
  'Content-Security-Policy': policy.trim().split('\n').join('; '),
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

const root = await realpath(resolve(process.argv[2] ?? 'web/dist')).catch(() => {
  console.error(`There is no folder ${process.argv[2] ?? 'web/dist'}; build the page first.`);
  process.exit(1);
});

/** The file behind a request, or undefined when there is none inside the folder. */
async function fileFor(url) {
  let path;
  try {
    path = decodeURIComponent(new URL(url, 'http://localhost').pathname);
  } catch {
    return undefined;
  }
  if (path.includes('\0')) return undefined;
  try {
    // Resolved through symbolic links before it is compared, so that none leads outside.
    let file = await realpath(join(root, path));
    if ((await stat(file)).isDirectory()) file = await realpath(join(file, 'index.html'));
    const inside = file === root || file.startsWith(root + sep);
    return inside && (await stat(file)).isFile() ? file : undefined;
  } catch {
    return undefined;
  }
}

const server = createServer(async (request, response) => {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { ...headers, Allow: 'GET, HEAD' }).end();
    return;
  }
  const file = await fileFor(request.url ?? '/');
  if (file === undefined) {
    response
      .writeHead(404, { ...headers, 'Content-Type': 'text/plain; charset=utf-8' })
      .end('not found\n');
    return;
  }
  const type = types[extname(file)] ?? 'application/octet-stream';
  // What such a host compresses, so that times measured against this one are those of visitors.
  const packed =
    /^text|json|javascript|wasm|svg/.test(type) &&
    /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  response.writeHead(200, {
    ...headers,
    'Content-Type': type,
    Vary: 'Accept-Encoding',
    ...(packed ? { 'Content-Encoding': 'gzip' } : { 'Content-Length': (await stat(file)).size }),
  });
  if (request.method === 'HEAD') response.end();
  else {
    const source = createReadStream(file).on('error', () => response.destroy());
    if (packed) source.pipe(createGzip()).pipe(response);
    else source.pipe(response);
  }
});

const asked = process.env.PORT;
const host = process.env.HOST ?? '127.0.0.1';
let port = Number(asked ?? 8080);
server.on('error', (error) => {
  if (error.code === 'EADDRINUSE' && asked === undefined && port < 8180) {
    port += 1;
    server.listen(port, host);
  } else {
    console.error(`Cannot serve on port ${port}: ${error.message}`);
    process.exit(1);
  }
});
server.on('listening', () =>
  console.log(`\n  http://localhost:${server.address().port}/   (Ctrl-C ends)`),
);
server.listen(port, host);

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    server.close(() => process.exit(0));
    server.closeAllConnections();
  });
}
