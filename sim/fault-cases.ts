/**
 * Every fault of a text request that tests go through, and what it damages. The words are those of faults.ts.
 * `fault-ports.ts` has the faults of connections, which a request cannot choose.
 */

/**
 * What the client of a gateway can expect. `none`: the complete reply. `before`: nothing usable came, so another
 * account may be tried. `mid`: content came, then the reply broke. `late`: the reply was complete before the fault.
 * `rejected`: the provider blames the request. `open`: the reply is complete or an error, because the fault is a matter
 * of interpretation.
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
  /**
   * The stream has bytes although nothing in it is usable; a client that forwards bytes has passed them on before it
   * can know.
   */
  hasBytes?: true;
  /** The fault shows only after a time limit of the client. */
  isSlow?: true;
  /** The request must offer a tool, whose call the fault damages. */
  needsTool?: true;
}

const everywhere = (damage: Damage): FaultCase['damage'] => ({ unary: damage, stream: damage, socket: damage });
const http = (unary: Damage, stream: Damage = unary): FaultCase['damage'] => ({ unary, stream });
/** Of both kinds of streams. */
const streamed = (damage: Damage): FaultCase['damage'] => ({ stream: damage, socket: damage });
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
/** Cases of one damage, with blanks between. */
const wires = (names: string, damage: FaultCase['damage'], more?: Partial<FaultCase>): FaultCase[] =>
  names.split(' ').map((name) => wire(name, damage, more));

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
  ...[503, 400, 404].map((status) => words(`html;status=${status}`, http('before'))),
  wire('huge_error:500', http('before')),
  wire('huge_error:400', http('open')),
  ...wires('redirect no_content unknown_status switching', http('before')),

  // Connections.
  words('reset', http('before')),
  words('hang', http('before'), SLOW),

  // Heads.
  ...wires('head_drip head_silence', http('before'), SLOW),
  ...wires('head_cut head_reset bad_status_line bad_header bare_line_feed huge_head many_headers', http('before')),
  ...wires('two_lengths length_and_chunked', http('before')),
  wire('early_hints:3', http('none')),
  wire('early_hints:40', http('before')),
  wire('no_type', http('none', 'open')),

  // Framing of bodies.
  ...[25, 50, 99].flatMap((percent) =>
    wires(`body_cut:${percent} body_reset:${percent} chunked_cut:${percent}`, http('before', 'mid')),
  ),
  ...wires('body_cut:0 body_reset:0', http('before')),
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
  ...wires('close_delimited sliced', http('none')),
  wire('surplus', http('late')),
  wire('gzip', http('none')),
  wire('gzip_cut', http('before', 'open')),
  ...wires('not_gzip unknown_encoding', http('before')),

  // Bodies.
  wire('empty_body', http('before')),
  ...wires('empty_object json_null json_array page', http('before'), BYTES),
  words('garbage', http('before')),
  words('html;status=500', http('before')),
  ...wires('truncated_json trailing_garbage', onlyUnary('before')),
  wire('bad_utf8', http('open')),
  wire('leading_bom', onlyUnary('open')),
  wire('padded', onlyUnary('none')),
  words('reset_mid', http('before', 'mid')),
  words('eof_mid', http('before', 'mid')),
  words('silent_mid', http('before', 'mid'), SLOW),

  // Spellings of server-sent events.
  ...wires('sse_crlf sse_cr sse_mixed sse_bom sse_no_space sse_fields sse_split_data', onlyStream('none')),
  ...wires('sse_comments sse_unknown', onlyStream('none')),
  wire('sse_blank_data', onlyStream('open')),
  wire('sse_big_event', onlyStream('none')),
  // An event ends with its blank line, so the last one is incomplete.
  ...wires('sse_no_final_newline sse_last_line_only', onlyStream('open')),

  // Broken streams.
  ...wires('sse_cut_data sse_cut_name sse_only_half', onlyStream('mid')),
  wire('sse_no_events', onlyStream('before')),
  wire('sse_only_comments', onlyStream('before'), BYTES),
  ...wires('sse_only_done sse_done_early sse_bad_json sse_html sse_no_done', onlyStream('open')),
  wire('sse_no_final', onlyStream('mid')),
  ...wires('sse_twice_final sse_twice_first', onlyStream('open')),
  wire('sse_error_after', onlyStream('late'), BYTES),
  ...['error_first', 'error_first;status=429'].map((text) => words(text, streamed('before'), BYTES)),
  words('error_first;status=400', streamed('rejected')),
  ...['error_mid', 'error_mid;status=429', 'error_mid=1'].map((text) => words(text, streamed('mid'))),

  // Tool calls.
  words('eof_mid=1', onlyStream('mid'), { needsTool: true }),
  wire('sse_cut_data', onlyStream('mid'), { needsTool: true, name: 'sse_cut_data in a tool call' }),
  wire('body_cut:50', http('before', 'mid'), { needsTool: true, name: 'body_cut 50 in a tool call' }),

  // Usage.
  ...['missing', 'negative', 'huge', 'zero', 'text', 'fraction'].map((usage) =>
    words(`usage=${usage}`, everywhere('none')),
  ),
];
