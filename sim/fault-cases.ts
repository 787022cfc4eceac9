/**
 * Every fault of a text request that tests go through, and what it damages. The words are those of faults.ts. `fault-ports.ts` has the
 * faults of connections, which a request cannot choose.
 */

/**
 * What the client of a gateway can expect. `none`: the complete reply. `before`: nothing usable came, so another account may be tried.
 * `mid`: content came, then the reply broke. `late`: the reply was complete before the fault. `rejected`: the provider blames the request.
 * `open`: the reply is complete or an error, because the fault is a matter of interpretation.
 */
export type Damage = 'none' | 'before' | 'mid' | 'late' | 'rejected' | 'open';

/** `socket`: a turn on a WebSocket of the provider. */
export type FaultMode = 'unary' | 'stream' | 'socket';

export interface FaultCase {
  name: string;
  /** The words of the fault, for the model name or the header `x-sim`. */
  words: string;
  /** By mode; a missing one does not apply. */
  damage: Partial<Record<FaultMode, Damage>>;
  /** The stream has bytes although nothing in it is usable; a client that forwards bytes has passed them on before it can know. */
  hasBytes?: true;
  /** The fault shows only after a time limit of the client. */
  isSlow?: true;
  /** The request must offer a tool, whose call the fault damages. */
  needsTool?: true;
}

const everywhere = (damage: Damage): FaultCase['damage'] => ({ unary: damage, stream: damage, socket: damage });
const http = (unary: Damage, stream: Damage = unary): FaultCase['damage'] => ({ unary, stream });
const onlyStream = (stream: Damage): FaultCase['damage'] => ({ stream });
const onlyUnary = (unary: Damage): FaultCase['damage'] => ({ unary });
const wire = (name: string, damage: FaultCase['damage'], more: Partial<FaultCase> = {}): FaultCase => ({
  name: name.replace(':', ' '),
  words: `wire=${name}`,
  damage,
  ...more,
});
const words = (text: string, damage: FaultCase['damage'], more: Partial<FaultCase> = {}): FaultCase => ({
  name: text.replaceAll(/[=;]/g, ' '),
  words: text,
  damage,
  ...more,
});

const SLOW = { isSlow: true } as const;
const BYTES = { hasBytes: true } as const;

export const FAULT_CASES: readonly FaultCase[] = [
  // Statuses.
  ...[500, 502, 503, 504, 529].map((status) => words(`status=${status}`, everywhere('before'))),
  ...[401, 402, 403, 404, 408].map((status) => words(`status=${status}`, http('before'))),
  ...[400, 413, 422].map((status) => words(`status=${status}`, everywhere('rejected'))),
  words('context_too_long', everywhere('rejected')),
  words('bad_key', http('before')),
  words('status=429', everywhere('before')),
  ...['none', 'date', 'past', 'negative', 'garbage', 'huge'].map((wait) =>
    words(`status=429;retry_after=${wait}`, http('before')),
  ),
  words('html;status=503', http('before')),
  words('html;status=400', http('before')),
  words('html;status=404', http('before')),
  wire('huge_error:500', http('before')),
  wire('huge_error:400', http('open')),
  wire('redirect', http('before')),
  wire('no_content', http('before')),
  wire('unknown_status', http('before')),
  wire('switching', http('before')),

  // Connections.
  words('reset', http('before')),
  words('hang', http('before'), SLOW),

  // Heads.
  wire('head_drip', http('before'), SLOW),
  wire('head_silence', http('before'), SLOW),
  wire('head_cut', http('before')),
  wire('head_reset', http('before')),
  wire('bad_status_line', http('before')),
  wire('bad_header', http('before')),
  wire('bare_line_feed', http('before')),
  wire('huge_head', http('before')),
  wire('many_headers', http('before')),
  wire('two_lengths', http('before')),
  wire('length_and_chunked', http('before')),
  wire('early_hints:3', http('none')),
  wire('early_hints:40', http('before')),
  wire('no_type', http('none', 'open')),

  // Framing of bodies.
  ...[25, 50, 99].flatMap((percent) => [
    wire(`body_cut:${percent}`, http('before', 'mid')),
    wire(`body_reset:${percent}`, http('before', 'mid')),
    wire(`chunked_cut:${percent}`, http('before', 'mid')),
  ]),
  wire('body_cut:0', http('before')),
  wire('body_reset:0', http('before')),
  wire('body_stall:0', http('before'), SLOW),
  wire('body_stall:50', http('before', 'mid'), SLOW),
  wire('short_length', http('before', 'mid')),
  wire('long_length', http('before', 'late')),
  wire('long_length_open', http('before', 'late'), SLOW),
  wire('chunk_garbage:0', http('before')),
  wire('chunk_garbage:50', http('before', 'mid')),
  // What arrives together with malformed framing may be discarded.
  wire('chunk_garbage:100', http('before', 'open')),
  wire('chunk_size_lie', http('before', 'mid')),
  wire('close_delimited', http('none')),
  wire('sliced', http('none')),
  wire('surplus', http('late')),
  wire('gzip', http('none')),
  wire('gzip_cut', http('before', 'open')),
  wire('not_gzip', http('before')),
  wire('unknown_encoding', http('before')),

  // Bodies.
  wire('empty_body', http('before')),
  wire('empty_object', http('before'), BYTES),
  wire('json_null', http('before'), BYTES),
  wire('json_array', http('before'), BYTES),
  wire('page', http('before'), BYTES),
  words('garbage', http('before')),
  words('html;status=500', http('before')),
  wire('truncated_json', onlyUnary('before')),
  wire('trailing_garbage', onlyUnary('before')),
  wire('bad_utf8', http('open')),
  wire('leading_bom', onlyUnary('open')),
  wire('padded', onlyUnary('none')),
  words('reset_mid', http('before', 'mid')),
  words('eof_mid', http('before', 'mid')),
  words('silent_mid', http('before', 'mid'), SLOW),

  // Spellings of server-sent events.
  ...['sse_crlf', 'sse_cr', 'sse_mixed', 'sse_bom', 'sse_no_space', 'sse_fields', 'sse_split_data', 'sse_comments'].map(
    (name) => wire(name, onlyStream('none')),
  ),
  wire('sse_unknown', onlyStream('none')),
  wire('sse_blank_data', onlyStream('open')),
  wire('sse_big_event', onlyStream('none')),
  // An event ends with its blank line, so the last one is incomplete.
  wire('sse_no_final_newline', onlyStream('open')),
  wire('sse_last_line_only', onlyStream('open')),

  // Broken streams.
  wire('sse_cut_data', onlyStream('mid')),
  wire('sse_cut_name', onlyStream('mid')),
  wire('sse_only_half', onlyStream('mid')),
  wire('sse_no_events', onlyStream('before')),
  wire('sse_only_comments', onlyStream('before'), BYTES),
  wire('sse_only_done', onlyStream('open')),
  wire('sse_done_early', onlyStream('open')),
  wire('sse_bad_json', onlyStream('open')),
  wire('sse_html', onlyStream('open')),
  wire('sse_no_done', onlyStream('open')),
  wire('sse_no_final', onlyStream('mid')),
  wire('sse_twice_final', onlyStream('open')),
  wire('sse_twice_first', onlyStream('open')),
  wire('sse_error_after', onlyStream('late'), BYTES),
  words('error_first', { stream: 'before', socket: 'before' }, BYTES),
  words('error_first;status=429', { stream: 'before', socket: 'before' }, BYTES),
  words('error_first;status=400', { stream: 'rejected', socket: 'rejected' }),
  words('error_mid', { stream: 'mid', socket: 'mid' }),
  words('error_mid;status=429', { stream: 'mid', socket: 'mid' }),
  words('error_mid=1', { stream: 'mid', socket: 'mid' }),

  // Tool calls.
  words('eof_mid=1', onlyStream('mid'), { needsTool: true }),
  wire('sse_cut_data', onlyStream('mid'), { needsTool: true, name: 'sse_cut_data in a tool call' }),
  wire('body_cut:50', http('before', 'mid'), { needsTool: true, name: 'body_cut 50 in a tool call' }),

  // Usage.
  ...['missing', 'negative', 'huge', 'zero', 'text', 'fraction'].map((usage) =>
    words(`usage=${usage}`, everywhere('none')),
  ),
];
