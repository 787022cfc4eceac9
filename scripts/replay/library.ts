/** The recordings below a folder, one file at a time because they may follow each other; what is skipped, by reason. */
import { globSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { isGzip } from './body.ts';
import { readCassette } from './cassette.ts';
import { detectByShape, detectByUrl } from './dialect.ts';
import { readBody, splitStreams, sseOf } from './events.ts';
import { isFramed, readFrames } from './frames.ts';
import {
  type Exchange,
  isRecord,
  type JsonRecord,
  jsonOf,
  type RecordedRequest,
  type Recording,
  textOf,
} from './recording.ts';

export interface LibraryOptions {
  /** Only files whose path matches. */
  readonly only: RegExp;
  /** Reports what is not replayed. */
  readonly skip: (reason: string, file: string) => void;
}

/** Larger files hold media; parsing YAML takes about a second for each megabyte. */
const MAX_FILE_BYTES = 4_000_000;
const MAX_PLAIN_BYTES = 16_000_000;
/** Statuses about the request itself. Others are about the account, which the pool then stops using. */
const REPLAYED_STATUSES: ReadonlySet<number> = new Set([200, 400, 413, 422]);
const FILES = '**/*.{yaml,yml,yaml.gz,yml.gz,json,json.gz,har,jsonl,ndjson,txt,sse}';

export async function* readLibrary(
  folder: string,
  { only, skip }: LibraryOptions,
): AsyncGenerator<readonly Recording[]> {
  const root = resolve(folder);
  const collection = basename(root);
  const ignored = (path: string): boolean => /(?:^|\/)(?:node_modules|\.git)$/.test(path);
  for (const file of globSync(FILES, { cwd: root, exclude: ignored }).sort()) {
    if (!only.test(file)) continue;
    const text = await readText(join(root, file));
    if (text === undefined) skip('file is too large, or damaged', file);
    else {
      const recordings: Recording[] = [];
      for (const [n, found] of recordingsIn(file, text).entries())
        if (typeof found === 'string') skip(found, file);
        else recordings.push({ collection, file: n === 0 ? file : `${file}#${n}`, ...found });
      yield recordings;
    }
  }
}

async function readText(path: string): Promise<string | undefined> {
  if ((await stat(path)).size > MAX_FILE_BYTES) return undefined;
  const bytes = await readFile(path);
  if (!isGzip(bytes)) return bytes.toString('utf8');
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_PLAIN_BYTES }).toString('utf8');
  } catch {
    return undefined;
  }
}

type Found = Omit<Recording, 'collection' | 'file'> | string;

/** Each is a recording, or the reason why it is skipped. */
export function recordingsIn(file: string, text: string): readonly Found[] {
  const name = file.replace(/\.gz$/, '');
  try {
    const exchanges = readCassette(name, text);
    if (exchanges) return exchanges.map((exchange) => (exchange ? ofExchange(exchange) : 'not an HTTP exchange'));
  } catch (error) {
    return [`unreadable file: ${(error as Error).message.split('\n')[0]}`];
  }
  return /\.ya?ml$/.test(name) ? ['not a recording'] : ofFixture(text);
}

function ofExchange(exchange: Exchange): Found {
  const isMasked = !exchange.url.includes('/');
  const detected = isMasked ? detectByShape(eventsIn(exchange)) : detectByUrl(exchange.method, exchange.url);
  if ('skip' in detected) return detected.skip;
  if (!REPLAYED_STATUSES.has(exchange.status)) return `recorded status ${exchange.status}`;
  const { dialect, cloud } = detected;
  const request = requestOf(exchange);
  if (request === undefined) return 'request without a JSON body';
  const { responseBody: body } = exchange;
  const read = isFramed(body) ? readFrames(body) : readBody(body.toString('utf8'));
  if (read === undefined) return body.length === 0 ? 'response without a body' : 'response is not JSON';
  const shape = detectByShape(read.events);
  const isError = exchange.status !== 200 || read.events.some(({ error }) => isRecord(error));
  if (!isError && !('dialect' in shape && shape.dialect === dialect)) return 'response of another API';
  return { dialect, cloud, request, status: exchange.status, body, ...read };
}

const eventsIn = ({ responseBody }: Exchange): readonly JsonRecord[] =>
  readBody(responseBody.toString('utf8'))?.events ?? [];

function ofFixture(text: string): readonly Found[] {
  const read = readBody(text);
  if (read === undefined) return ['not a recording'];
  const detected = detectByShape(read.events);
  if ('skip' in detected) return [detected.skip];
  const { dialect } = detected;
  if (dialect === 'converse' && read.isStream && !read.events.some((event) => 'messageStart' in event))
    return ['stream without its beginning'];
  const streams = read.isStream ? splitStreams(read.events) : [];
  if (streams.length > 1 || (read.isStream && /^\s*[{[]/.test(text)))
    return streams.map((events) => ({
      ...read,
      dialect,
      events,
      request: undefined,
      status: 200,
      body: sseOf(dialect, events),
    }));
  return [{ ...read, dialect, request: undefined, status: 200, body: Buffer.from(text, 'utf8') }];
}

/** Some recorders mask the host, or a part of it that is then no name of a host: `https://bedrock.<AWS_REGION>.test`. */
const ANY_HOST = 'http://recorded.invalid';
const HOST = /^\w+:\/\/[^/]*/;

/** Headers that a provider reads beyond the credentials. */
const KEPT_HEADERS = ['anthropic-version', 'anthropic-beta', 'openai-beta'];

function requestOf({ requestBody, requestHeaders, url }: Exchange): RecordedRequest | undefined {
  const json = requestBody && jsonOf(requestBody.toString('utf8'));
  if (!requestBody || !isRecord(json)) return undefined;
  const { pathname, searchParams } = new URL(url.replace(HOST, ''), ANY_HOST);
  for (const name of ['key', 'api-version']) searchParams.delete(name);
  const query = searchParams.size > 0 ? `?${searchParams}` : '';
  const inPath = /\/models\/([^/:]+):/.exec(pathname)?.[1] ?? /\/(?:deployments|model)\/([^/]+)\//.exec(pathname)?.[1];
  const headers = Object.fromEntries(
    KEPT_HEADERS.flatMap((name) => (requestHeaders[name] === undefined ? [] : [[name, requestHeaders[name]]])),
  );
  return { body: requestBody, json, model: textOf(json.model) || decodeURIComponent(inPath ?? ''), query, headers };
}
