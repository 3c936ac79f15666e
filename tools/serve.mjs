// SPDX-License-Identifier: Apache-2.0
// Serves a folder as a strict static host would: node tools/serve.mjs FOLDER
// PORT from the environment, else 8080 or the next free one; HOST, else this machine alone. With COMPRESS=brotli everything is
// compressed before the first request, as hosts of static pages do.
import { createReadStream, readFileSync } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, resolve, sep } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, createGzip } from 'node:zlib';

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

const root = await realpath(resolve(process.argv[2] ?? 'web/dist')).catch(() => {
  console.error(`There is no folder ${process.argv[2] ?? 'web/dist'}; build the page first.`);
  process.exit(1);
});

const rules = readFileSync(new URL('../web/policy.txt', import.meta.url), 'utf8');
/** A page that carries its policy is served under the same one, since it names the hashes of what stands in the page itself. */
async function policyOf(file) {
  const page = file?.endsWith('.html') ? await readFile(file, 'utf8') : '';
  const [, own] = /<meta http-equiv="Content-Security-Policy" content="([^"]+)">/.exec(page) ?? [];
  return own ?? rules.trim().split('\n').join('; ');
}

const common = {
  'Cache-Control': 'no-cache',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

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

const packs = (type) => /^text|json|javascript|wasm|svg/.test(type);
const typeOf = (file) => types[extname(file)] ?? 'application/octet-stream';

/** Compressed ahead of time, by file. What is larger than a megabyte is somebody else's, loaded at a click, and takes a minute. */
const ahead = new Map();
if (process.env.COMPRESS === 'brotli')
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !packs(typeOf(file)) || (await stat(file)).size > 1e6) continue;
    ahead.set(file, await promisify(brotliCompress)(await readFile(file)));
  }

const server = createServer(async (request, response) => {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { ...common, Allow: 'GET, HEAD' }).end();
    return;
  }
  const file = await fileFor(request.url ?? '/');
  const headers = { ...common, 'Content-Security-Policy': await policyOf(file) };
  if (file === undefined) {
    response
      .writeHead(404, { ...headers, 'Content-Type': 'text/plain; charset=utf-8' })
      .end('not found\n');
    return;
  }
  const type = typeOf(file);
  const accepted = request.headers['accept-encoding'] ?? '';
  const ready = /\bbr\b/.test(accepted) ? ahead.get(file) : undefined;
  if (ready) {
    response.writeHead(200, {
      ...headers,
      'Content-Type': type,
      Vary: 'Accept-Encoding',
      'Content-Encoding': 'br',
      'Content-Length': ready.length,
    });
    response.end(request.method === 'HEAD' ? undefined : ready);
    return;
  }
  // What such a host compresses, so that times measured against this one are those of visitors.
  const packed = packs(type) && /\bgzip\b/.test(accepted);
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
