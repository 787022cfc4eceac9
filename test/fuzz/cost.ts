/**
 * `npm run fuzz -- cost`: random requests of at most 100 kB, compressed or not, against a server in its own process. Prints each that takes
 * more CPU time of the main thread, or more memory, than any before, and fails above the limits. `--seed 7` repeats a run, `--count 500`
 * sets the number of requests, `--turn-ms 100` and `--memory-mb 100` the limits.
 */
import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { zstdCompressSync } from 'node:zlib';
import { type CostServer, startCostServer, TARGETS } from '../support/cost-server.ts';
import { seededRandom } from '../support/random.ts';
import type { Shape } from '../support/request-shapes.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    count: { type: 'string', default: '500' },
    'turn-ms': { type: 'string', default: '100' },
    'memory-mb': { type: 'string', default: '100' },
  },
});
const limits = { turnMs: Number(values['turn-ms']), memoryMb: Number(values['memory-mb']) };
const random = seededRandom(Number(values.seed));
const below = (n: number): number => random() % n;
const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;

const SENT_BYTES = 100_000;
const SIZES = [1_000, 10_000, 60_000, 130_000, 500_000, 1_000_000, 3_000_000, 6_000_000];

/** Values that cost most when there are many of them, or when they are long. */
const SCALARS = [
  '1',
  '1.0',
  '-0',
  '1e400',
  '12345678901234567890',
  'null',
  '""',
  '"a"',
  '"\\""',
  '"\\u0061"',
  '"gw1.A"',
  '[]',
  '{}',
  '"漢"',
];
const NAMES = [
  'a',
  '1',
  'type',
  'id',
  'input',
  'arguments',
  'data',
  'content',
  'file_id',
  'signature',
  'image_url',
  'parts',
  'text',
  '__proto__',
];
const ELEMENTS: Readonly<Record<Shape['client'], readonly string[]>> = {
  messages: [
    '{"role":"user","content":"a"}',
    '{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"gw1.eyJ2IjoxLCJwIjoiA"}]}',
    '{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"a","input":{"1":1.0}}]}',
    '{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"}]}]}',
    '{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aaaa"}}]}',
  ],
  chat: [
    '{"role":"user","content":"a"}',
    '{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"a","arguments":"{\\"1\\":1.0}"}}]}',
    '{"role":"tool","tool_call_id":"c","content":"x"}',
    '{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aaaa"}}]}',
  ],
  responses: [
    '{"role":"user","content":"a"}',
    '{"type":"function_call","call_id":"c","name":"a","arguments":"{\\"a\\":1.0}"}',
    '{"type":"function_call_output","call_id":"c","output":"x"}',
    '{"type":"reasoning","summary":[],"encrypted_content":"gw1.A"}',
    '{"id":"a"}',
  ],
  generate: [
    '{"role":"user","parts":[{"text":"a"}]}',
    '{"role":"model","parts":[{"functionCall":{"name":"a","args":{"1":1.0}}}]}',
    '{"role":"user","parts":[{"functionResponse":{"name":"a","response":{"a":1.0}}}]}',
    '{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"aaaa"}}]}',
  ],
};
const CONVERSATION = { messages: 'messages', chat: 'messages', responses: 'input', generate: 'contents' } as const;
const TOOL = '{"type":"function","name":"a","function":{"name":"a","parameters":{}},"input_schema":{"type":"object"}}';

const filled = (element: string, bytes: number): string =>
  Array(Math.max(1, Math.floor(bytes / (Buffer.byteLength(element) + 1))))
    .fill(element)
    .join();

/** Any JSON value of about the size. */
function value(bytes: number, depth = 0): string {
  const kind = depth > 6 ? 0 : below(5);
  if (kind === 0) return `"${pick(['a', '\\"', '\\\\', '\\u0061', '漢', ' ', '1,']).repeat(Math.max(1, bytes >> 2))}"`;
  if (kind === 1) return `[${filled(pick(SCALARS), bytes)}]`;
  if (kind === 2) return `{"${pick(NAMES)}":${value(bytes, depth + 1)}}`;
  if (kind === 3) return `[${filled(`{"${pick(NAMES)}":${pick(SCALARS)}}`, bytes)}]`;
  const count = Math.max(1, Math.floor(bytes / 16));
  return `{${Array.from({ length: count }, (_, n) => `"${pick(NAMES)}${n}":${pick(SCALARS)}`).join()}}`;
}

function bodyOf(client: Shape['client'], bytes: number): string {
  const share = bytes / (1 + below(3));
  const elements = ELEMENTS[client];
  const conversation =
    below(3) === 0
      ? `${pick(elements)},{"role":"user","content":${value(share)}}`
      : filled([pick(elements), pick(elements)].slice(below(2)).join(), share);
  const members = [
    ...(client === 'generate' ? [] : ['"model":"demo-text"', '"max_tokens":9']),
    `"${CONVERSATION[client]}":[${conversation}]`,
    ...(below(2) === 0
      ? [`"${pick(['metadata', 'tools', 'x', 'system', 'tool_choice', 'logit_bias'])}":${value(bytes - share)}`]
      : []),
    ...(below(4) === 0 ? [`"tools":[${filled(TOOL, bytes - share)}]`] : []),
  ];
  return `{${members.join()}}`;
}

const server: CostServer = await startCostServer();
process.stdout.write(`Seed ${values.seed}.\n`);
const most = { turnMs: 0, memoryMb: 0 };
let failures = 0;
try {
  for (const [client, groups] of Object.entries(TARGETS) as [Shape['client'], (typeof TARGETS)['chat']][])
    for (const group of groups) await server.send(client, group, `{"model":"demo-text","x":"${'a'.repeat(400_000)}"}`);
  for (let n = 0; n < Number(values.count); n += 1) await sendOne(n);
} finally {
  await server.stop();
}
process.stdout.write(
  `${values.count} requests, at most ${most.turnMs.toFixed(0)} ms of the main thread and ${most.memoryMb.toFixed(0)} MB, ${failures} above the limits\n`,
);
process.exit(failures > 0 ? 1 : 0);

async function sendOne(n: number): Promise<void> {
  const client = pick(['messages', 'chat', 'responses', 'generate'] as const);
  const group = pick(TARGETS[client]);
  const text = bodyOf(client, pick(SIZES));
  const sent = zstdCompressSync(text);
  const body = text.length <= SENT_BYTES && below(2) === 0 ? text : sent;
  if (body.length > SENT_BYTES) return;
  const { status, turnMs, memoryMb } = await server.measure(client, group, body);
  const isNew = turnMs > most.turnMs || memoryMb > most.memoryMb;
  const isFailure = turnMs > limits.turnMs || memoryMb > limits.memoryMb || status >= 500 || status === 0;
  most.turnMs = Math.max(most.turnMs, turnMs);
  most.memoryMb = Math.max(most.memoryMb, memoryMb);
  if (isFailure) failures += 1;
  if (isNew || isFailure)
    process.stdout.write(
      `${n} ${client} to ${group}: ${status}, ${body.length} of ${text.length} bytes, ${turnMs.toFixed(0)} ms, ${memoryMb.toFixed(0)} MB: ${text.slice(0, 150)}\n`,
    );
}
