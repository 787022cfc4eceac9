/** Faults inside a body whose framing is correct: distortions of JSON texts and of server-sent events. */

export interface BodyFault {
  about: string;
  distort(body: Buffer, context: { errorEvent: string }): Buffer;
}

const text = (about: string, distort: (body: string, errorEvent: string) => string): BodyFault => ({
  about,
  distort: (body, { errorEvent }) => Buffer.from(distort(body.toString('utf8'), errorEvent)),
});

const bytes = (about: string, distort: (body: Buffer) => Buffer): BodyFault => ({ about, distort });

/** The blocks of a stream of server-sent events, without the blank lines between them. */
const blocksOf = (body: string): string[] => body.split('\n\n').filter((block) => block !== '');
const joined = (blocks: readonly string[]): string => blocks.map((block) => `${block}\n\n`).join('');
const DONE = 'data: [DONE]';
const UNKNOWN = 'event: provider.telemetry\ndata: {"type":"provider.telemetry","value":1}';
const COMMENTS = 5_000;
const MEBIBYTE = 2 ** 20;

export const BODY_FAULTS: Record<string, BodyFault> = {
  // Any body.
  empty_body: bytes('an empty body', () => Buffer.alloc(0)),
  empty_object: text('the body {}', () => '{}'),
  json_null: text('the body null', () => 'null'),
  json_array: text('the body []', () => '[]'),
  page: text('an HTML page as the body', () => '<!doctype html><html><body><h1>It works</h1></body></html>'),
  truncated_json: bytes('a complete body whose JSON ends in the middle', (body) => body.subarray(0, body.length >> 1)),
  trailing_garbage: text('bytes after the end of the JSON', (body) => `${body}}}}<<<`),
  bad_utf8: bytes('a byte that is not UTF-8 inside a text', (body) => withBadByte(body)),
  leading_bom: bytes('a byte order mark before the body', (body) => Buffer.concat([Buffer.from('\ufeff'), body])),
  padded: text('a MiB of white space before the body', (body) => `${' '.repeat(MEBIBYTE)}${body}`),

  // Server-sent events: other spellings of the same stream.
  sse_crlf: text('lines that end in CR LF', (body) => body.replaceAll('\n', '\r\n')),
  sse_cr: text('lines that end in CR', (body) => body.replaceAll('\n', '\r')),
  sse_mixed: text('LF, CR and CR LF in turn', (body) => mixLineEnds(body)),
  sse_bom: text('a byte order mark before the first event', (body) => `\ufeff${body}`),
  sse_no_space: text('no space after data:', (body) => body.replaceAll('data: ', 'data:')),
  sse_fields: text('id and retry fields', (body) =>
    joined(blocksOf(body).map((block, n) => `id: ${n}\nretry: 1000\n${block}`)),
  ),
  sse_split_data: text('events whose JSON spans two data lines', (body) =>
    body.replaceAll(/^data: \{/gm, 'data: {\ndata: '),
  ),
  sse_comments: text('thousands of comments between the events', (body) => withComments(body)),
  sse_unknown: text('unknown events between the known ones', (body) =>
    joined(blocksOf(body).flatMap((block) => [UNKNOWN, block])),
  ),
  sse_blank_data: text('events without data', (body) => `data:\n\n${body}`),
  sse_no_final_newline: text('no blank line after the last event', (body) => body.replace(/\n+$/, '')),
  sse_last_line_only: text('one line end after the last event', (body) => body.replace(/\n+$/, '\n')),

  // Server-sent events: broken streams.
  sse_cut_data: text('ends inside the data of an event', (body) => body.slice(0, midData(body))),
  sse_cut_name: text('ends inside the word data:', (body) => `${joined(half(blocksOf(body)))}da`),
  sse_no_events: bytes('a stream without events', () => Buffer.alloc(0)),
  sse_only_comments: text('a stream of comments', () => ': still here\n\n'.repeat(50)),
  sse_bad_json: text('an event whose JSON is malformed', (body) => withBlock(body, 'data: {"type": <<<')),
  sse_html: text('an HTML page between the events', (body) =>
    withBlock(body, '<html><body>502 Bad Gateway</body></html>'),
  ),
  sse_no_done: text('no [DONE] at the end', (body) => joined(blocksOf(body).filter((block) => block !== DONE))),
  sse_only_done: text('nothing but [DONE]', () => `${DONE}\n\n`),
  sse_done_early: text('[DONE] in the middle', (body) => withBlock(body, DONE)),
  sse_no_final: text('no final event', (body) => joined(withoutFinal(blocksOf(body)))),
  sse_twice_final: text('the last event twice', (body) => joined(twiceFinal(blocksOf(body)))),
  sse_twice_first: text('the first event twice', (body) => joined(twiceFirst(blocksOf(body)))),
  sse_error_after: text('an error after the final event', (body, errorEvent) => body + errorEvent),
  sse_big_event: text('an unknown event of a MiB', (body) =>
    withBlock(body, `event: provider.telemetry\ndata: {"type":"provider.telemetry","pad":"${'x'.repeat(MEBIBYTE)}"}`),
  ),
  sse_only_half: text('a clean end after half of the events', (body) => joined(half(blocksOf(body)))),
};

function withBadByte(body: Buffer): Buffer {
  const at = body.indexOf('simulated');
  if (at < 0) return body;
  const copy = Buffer.from(body);
  copy[at] = 0xff;
  return copy;
}

function mixLineEnds(body: string): string {
  const ends = ['\n', '\r\n', '\r'];
  // The two line ends of a blank line stay of one kind, because CR and LF next to each other would be one line end.
  return joined(blocksOf(body))
    .split('\n\n')
    .map((block, n) => block.replaceAll('\n', ends[n % 3] ?? '\n'))
    .map((block, n, all) => (n === all.length - 1 ? block : `${block}${(ends[n % 3] ?? '\n').repeat(2)}`))
    .join('');
}

const withComments = (body: string): string =>
  joined(
    blocksOf(body).flatMap((block, n) => [
      n === 1 ? ': keep-alive\n'.repeat(COMMENTS).trimEnd() : ': keep-alive',
      block,
    ]),
  );

/** The middle of the data of the middle event. */
function midData(body: string): number {
  const at = body.indexOf('data: ', body.length >> 1);
  return at < 0 ? body.length >> 1 : at + 12;
}

const half = (blocks: readonly string[]): string[] => blocks.slice(0, Math.max(1, blocks.length >> 1));

function withBlock(body: string, block: string): string {
  const blocks = blocksOf(body);
  return joined([...half(blocks), block, ...blocks.slice(half(blocks).length)]);
}

const isFinal = (block: string, n: number, all: readonly string[]): boolean =>
  block === DONE ||
  n === all.length - 1 ||
  /"finish_reason":"|"finishReason":"|^event: (?:message_delta|message_stop|response\.(?:completed|incomplete))$/m.test(
    block,
  ) ||
  // The chunk with the usage, which has no choices.
  /"choices":\[\]/.test(block);

const withoutFinal = (blocks: readonly string[]): string[] => blocks.filter((block, n) => !isFinal(block, n, blocks));
const twiceFinal = (blocks: readonly string[]): string[] => [...blocks, blocks.at(-1) ?? ''];
const twiceFirst = (blocks: readonly string[]): string[] => [blocks[0] ?? '', ...blocks];
