/** Manners of the way over HTTP, whatever the dialect: the spelling of events, headers, compression and how bytes arrive. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Chance } from '../chance.ts';
import { DIALECTS, type Manner, type Manners, type Message } from './manner.ts';

const dialects = DIALECTS;

const blocksOf = (text: string): string[] => text.split('\n\n').filter((block) => block !== '');
const joined = (blocks: readonly string[]): string => blocks.map((block) => `${block}\n\n`).join('');

const spelling = (about: string, seen: string, spell: (text: string) => string): Manner => ({
  about,
  seen,
  effect: 'harmless',
  dialects,
  spelling: spell,
});

const encoded = (name: string, encode: (body: Buffer) => Buffer): Manner => ({
  about: `a body in ${name}, which was not asked for`,
  seen: 'content networks',
  effect: 'harmless',
  dialects,
  encoding: { name, encode },
});

const typed = (about: string, seen: string, typeFor: (isStream: boolean) => string | undefined): Manner => ({
  about,
  seen,
  effect: 'harmless',
  dialects,
  message({ headers, body }) {
    const { 'content-type': type = '', ...others } = headers;
    const other = typeFor(type.startsWith('text/event-stream'));
    return { headers: other === undefined ? others : { ...others, 'content-type': other }, body };
  },
});

/** Pieces of a random length. */
function cutAtRandom(body: Buffer, chance: Chance): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0, n = 0; at < body.length; n += 1) {
    const size = 1 + chance.number(`piece ${n}`, MAX_PIECE);
    pieces.push(body.subarray(at, at + size));
    at += size;
  }
  return pieces;
}
const MAX_PIECE = 60;
/** More writes than this take a test too long. */
const MAX_WRITES = 3_000;

/** Every byte of a character that has several is a piece of its own. */
function cutCharacters(body: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  let start = 0;
  for (let at = 1; at < body.length && pieces.length < MAX_WRITES; at += 1) {
    if (((body[at] ?? 0) & 0xc0) !== 0x80) continue;
    pieces.push(body.subarray(start, at));
    start = at;
  }
  return [...pieces, body.subarray(start)];
}

/** The bytes between two events arrive apart: the blank line is cut in the middle. */
function cutLineEnds(body: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  let start = 0;
  for (let at = body.indexOf(0x0a); at !== -1 && pieces.length < MAX_WRITES; at = body.indexOf(0x0a, at + 1)) {
    pieces.push(body.subarray(start, at + 1));
    start = at + 1;
  }
  return [...pieces, body.subarray(start)];
}

const isJson = ({ headers }: Message): boolean => headers['content-type']?.startsWith('application/json') === true;

export const WIRE_MANNERS = {
  comments: spelling('comments between the events', 'OpenRouter', (text) =>
    joined(blocksOf(text).flatMap((block) => [': OPENROUTER PROCESSING', block])),
  ),
  comment_lines: spelling('comments inside of events', 'Perplexity', (text) =>
    joined(blocksOf(text).map((block) => `: ping - 2026-06-08 18:49:47\n${block}`)),
  ),
  keep_alives: spelling('empty lines and empty comments between the events', 'load balancers', (text) =>
    joined(blocksOf(text).flatMap((block) => ['\n:', block])),
  ),
  crlf: spelling('lines that end in CR LF', 'Gemini, Vertex, Perplexity', (text) => text.replaceAll('\n', '\r\n')),
  no_space: spelling('no space after the colon', 'Z.ai, Snowflake Cortex', (text) =>
    text.replaceAll(/^(data|event): /gm, '$1:'),
  ),
  sse_ids: {
    ...spelling('id and retry lines', 'relays with a library of events', (text) =>
      joined(blocksOf(text).map((block, n) => `id: ${n}\nretry: 3000\n${block}`)),
    ),
    // The official SDK of Google reads no other line than data.
    dialects: ['chat', 'messages', 'responses'],
  },
  data_first: {
    ...spelling('the event line after the data', 'relays with a library of events', (text) =>
      joined(blocksOf(text).map((block) => block.split('\n').toReversed().join('\n'))),
    ),
    dialects: ['messages', 'responses'],
  },
  no_type: {
    ...typed('no content type', 'OpenAI behind Codex', () => undefined),
    effect: 'shown',
  },
  bare_type: typed('another spelling of the content type', 'Z.ai, Together', (isStream) =>
    isStream ? 'text/event-stream;charset=UTF-8' : 'application/json; charset=UTF-8',
  ),
  capital_type: typed('a content type in capitals', 'relays', (isStream) =>
    isStream ? 'Text/Event-Stream' : 'Application/JSON',
  ),
  text_type: {
    ...typed('JSON as text/plain, or events as application/octet-stream', 'relays', (isStream) =>
      isStream ? 'application/octet-stream' : 'text/plain; charset=utf-8',
    ),
    effect: 'fault',
  },
  gzip: encoded('gzip', (body) => gzipSync(body)),
  deflate: encoded('deflate', (body) => deflateSync(body)),
  brotli: encoded('br', (body) => brotliCompressSync(body)),
  spaces: {
    about: 'white space around the JSON',
    seen: 'OpenRouter and DeepSeek while a model thinks',
    effect: 'harmless',
    dialects,
    message: (message) =>
      isJson(message)
        ? { ...message, body: Buffer.concat([Buffer.from('\n \n '), message.body, Buffer.from('\n')]) }
        : message,
  },
  unsized: {
    about: 'a body without a length',
    seen: 'every server behind a proxy',
    effect: 'harmless',
    dialects,
    message({ headers: { 'content-length': _, ...headers }, body }) {
      return { headers, body };
    },
  },
  one_piece: {
    about: 'all events at once',
    seen: 'proxies that buffer',
    effect: 'harmless',
    dialects,
    pieces: (body) => [body],
  },
  random_pieces: {
    about: 'pieces that begin and end anywhere',
    seen: 'every network',
    effect: 'harmless',
    dialects,
    pieces: cutAtRandom,
  },
  cut_characters: {
    about: 'cuts inside of all characters that have several bytes',
    seen: 'every network',
    effect: 'harmless',
    dialects,
    pieces: cutCharacters,
  },
  cut_lines: {
    about: 'every line on its own',
    seen: 'servers that flush lines',
    effect: 'harmless',
    dialects,
    pieces: cutLineEnds,
  },
  stream_garbage: {
    about: 'a page of a proxy after the end of a stream',
    seen: 'proxies that time out late',
    effect: 'shown',
    dialects,
    spelling: (text) => `${text}<html><body>504 Gateway Time-out</body></html>\n\n`,
  },
  unended_garbage: {
    about: 'bytes without a line end after the end of a stream',
    seen: 'relays',
    effect: 'shown',
    dialects,
    spelling: (text) => `${text}data`,
  },
  json_garbage: {
    about: 'bytes after the JSON',
    seen: 'relays that send their own error too',
    effect: 'fault',
    dialects,
    message: (message) =>
      isJson(message) ? { ...message, body: Buffer.concat([message.body, Buffer.from('{"error":')]) } : message,
  },
  page: {
    about: 'a page with status 200',
    seen: 'proxies in maintenance',
    effect: 'fault',
    dialects,
    message: () => ({
      headers: { 'content-type': 'text/html' },
      body: Buffer.from('<!doctype html><html><body><h1>Be right back</h1></body></html>'),
    }),
  },
  nothing: {
    about: 'an empty body',
    seen: 'proxies whose provider left',
    effect: 'fault',
    dialects,
    message: ({ headers }) => ({ headers, body: Buffer.alloc(0) }),
  },
  other_form: {
    about: 'one JSON object in place of a stream, or a stream in place of it',
    seen: 'relays that ignore or force stream',
    effect: 'fault',
    dialects,
    swapsForm: true,
  },
} satisfies Manners;
