/** The built files of the console, read into memory at the first request, with their compressed form. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fail } from '../../core/index.ts';
import { type Call, idHeaders } from '../../platform/web/index.ts';
import { CONSOLE_FILES, CONSOLE_HEADERS, REFERENCE_HEADERS } from '../../rules/index.ts';
import { type StaticFile, sendStaticFile, staticFile } from '../caller/index.ts';

interface File extends StaticFile {
  /** The name contains a hash of the content, so that browsers may keep the file for ever. */
  readonly isHashed: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  webmanifest: 'application/manifest+json',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  webp: 'image/webp',
  woff2: 'font/woff2',
  txt: 'text/plain; charset=utf-8',
};
const COMPRESSED = new Set(['html', 'js', 'css', 'json', 'webmanifest', 'svg', 'txt']);
const HASHED = /[-.][A-Za-z0-9_-]{8,}\.\w+$/;
const INDEX = 'index.html';

export class ConsoleFiles {
  readonly #folder: string;
  #loading: Promise<ReadonlyMap<string, File>> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Undefined when the console is not built: the next request looks again. */
  async load(): Promise<ReadonlyMap<string, File> | undefined> {
    this.#loading ??= readFiles(this.#folder);
    const files = await this.#loading.catch((error: NodeJS.ErrnoException) => {
      this.#loading = undefined;
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
      throw error;
    });
    if (files?.has(INDEX)) return files;
    this.#loading = undefined;
    return undefined;
  }
}

async function readFiles(folder: string): Promise<ReadonlyMap<string, File>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  if (paths.length > CONSOLE_FILES.count)
    throw new Error(`the folder of the console holds more than ${CONSOLE_FILES.count} files: ${folder}`);
  const files = new Map<string, File>();
  let bytes = 0;
  for (const path of paths) {
    bytes += (await stat(path)).size;
    if (bytes > CONSOLE_FILES.bytes)
      throw new Error(`the files of the console are larger than ${CONSOLE_FILES.bytes} bytes: ${folder}`);
    const name = relative(folder, path).split(sep).join('/');
    const ending = name.split('.').at(-1) ?? '';
    const type = TYPES[ending];
    if (type === undefined) continue;
    const file = await staticFile(type, await readFile(path), COMPRESSED.has(ending));
    files.set(name, { ...file, isHashed: HASHED.test(name) });
  }
  return files;
}

/**
 * A path that names no file is a page of the console, whose ids may contain dots. Only built files are in `assets/`.
 */
export async function sendFile({ files }: { readonly files: ConsoleFiles }, call: Call): Promise<void> {
  const all = await files.load();
  if (!all) return sendNotBuilt(call);
  const name = call.params.file ?? '';
  const isPage = !all.has(name) && !name.startsWith('assets/');
  const file = all.get(isPage ? INDEX : name);
  if (!file) throw fail('not_found', 'The console has no such file.');
  send(call, file, CONSOLE_HEADERS);
}

type OutgoingHeaders = Readonly<Record<string, string>>;

const REFERENCE = 'reference/';

export async function sendReference({ files }: { readonly files: ConsoleFiles }, call: Call): Promise<void> {
  const all = await files.load();
  // A console that was built by an earlier version has no reference.
  if (!all?.has(REFERENCE + INDEX)) return sendNotBuilt(call);
  const file = all.get(REFERENCE + (call.params.file || INDEX));
  if (!file) throw fail('not_found', 'The API reference has no such file.');
  send(call, file, REFERENCE_HEADERS);
}

const send = (call: Call, file: File, own: OutgoingHeaders): void =>
  sendStaticFile(call, file, {
    ...own,
    'cache-control': file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
  });

const NOT_BUILT = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Dragoman</title></head>
<body><h1>The console is not built</h1>
<p>The API works, and <a href="/openapi.json">/openapi.json</a> describes it. To build the console and the API reference, run
<code>npm run console</code> in the folder of Dragoman and load this page again.</p>
</body></html>
`;

function sendNotBuilt(call: Call): void {
  const bytes = Buffer.from(NOT_BUILT);
  call.response.writeHead(503, {
    ...idHeaders(call),
    ...CONSOLE_HEADERS,
    'content-type': TYPES.html ?? '',
    'content-length': bytes.length,
    'retry-after': 5,
  });
  call.response.end(bytes);
}
