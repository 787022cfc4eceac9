/** Requests that are small on the wire and expensive to read: every kind of content, as often as a size allows. */
import { randomBytes } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';

export interface Shape {
  readonly name: string;
  readonly client: 'messages' | 'chat' | 'responses' | 'generate';
  /** A body of about so many bytes. */
  readonly body: (bytes: number) => string;
}

/** `count` copies of an element that fill the size. */
const filled = (element: string, bytes: number): string =>
  Array(Math.max(1, Math.floor(bytes / (element.length + 1))))
    .fill(element)
    .join();
const numbered = (element: (n: number) => string, bytes: number): string =>
  Array.from({ length: Math.max(1, Math.floor(bytes / (element(100_000).length + 1))) }, (_, n) => element(n)).join();

const messages = (more: string): string => `{"model":"demo-text","max_tokens":9,${more}}`;
const chat = (more: string): string => `{"model":"demo-text",${more}}`;
const ask = '{"role":"user","content":"a"}';
const callWith = (args: string): string =>
  `"messages":[${ask},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"a","arguments":"${args}"}}]},{"role":"tool","tool_call_id":"c","content":"x"}]`;
const tool = (schema: string): string => `{"type":"function","function":{"name":"a","parameters":${schema}}}`;

export const SHAPES: readonly Shape[] = [
  {
    name: 'forged envelopes',
    client: 'messages',
    body: (bytes) =>
      messages(
        `"messages":[${ask},{"role":"assistant","content":[${filled('{"type":"thinking","thinking":"a","signature":"gw1.A"}', bytes)}]},${ask}]`,
      ),
  },
  {
    name: 'forged envelopes that begin like ours',
    client: 'messages',
    body: (bytes) =>
      messages(
        `"messages":[${ask},{"role":"assistant","content":[${filled('{"type":"thinking","thinking":"a","signature":"gw1.eyJ2IjoxLCJwIjoiA"}', bytes)}]},${ask}]`,
      ),
  },
  { name: 'turns', client: 'messages', body: (bytes) => messages(`"messages":[${filled(ask, bytes)}]`) },
  {
    name: 'text parts',
    client: 'messages',
    body: (bytes) =>
      messages(`"messages":[{"role":"user","content":[${filled('{"type":"text","text":"a"}', bytes)}]}]`),
  },
  {
    name: 'turns of two parts',
    client: 'messages',
    body: (bytes) =>
      messages(
        `"messages":[${filled('{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"a"}]}', bytes)}]`,
      ),
  },
  { name: 'chat turns', client: 'chat', body: (bytes) => chat(`"messages":[${filled(ask, bytes)}]`) },
  {
    name: 'calls and results',
    client: 'chat',
    body: (bytes) =>
      chat(
        `"messages":[${ask},{"role":"assistant","content":null,"tool_calls":[${numbered((n) => `{"id":"c${n}","type":"function","function":{"name":"a","arguments":"{}"}}`, bytes / 2)}]},${numbered((n) => `{"role":"tool","tool_call_id":"c${n}","content":"x"}`, bytes / 2.5)}]`,
      ),
  },
  {
    name: 'tools',
    client: 'chat',
    body: (bytes) => chat(`"messages":[${ask}],"tools":[${filled(tool('{"type":"object","properties":{}}'), bytes)}]`),
  },
  {
    name: 'values of a schema',
    client: 'chat',
    body: (bytes) =>
      chat(
        `"messages":[${ask}],"tools":[${tool(`{"type":"object","properties":{${numbered((n) => `"p${n}":{"type":"string"}`, bytes)}}}`)}]`,
      ),
  },
  {
    name: 'numbers in arguments',
    client: 'chat',
    body: (bytes) => chat(callWith(`{\\"a\\":[${filled('1', bytes)}]}`)),
  },
  {
    name: 'exact numbers in arguments',
    client: 'chat',
    body: (bytes) => chat(callWith(`{\\"a\\":[${filled('1.0', bytes)}]}`)),
  },
  {
    name: 'strings in arguments',
    client: 'chat',
    body: (bytes) => chat(callWith(`{\\"a\\":[${filled('\\"\\"', bytes)}]}`)),
  },
  {
    name: 'arguments as a value',
    client: 'messages',
    body: (bytes) =>
      messages(
        `"messages":[${ask},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"a","input":{"a":[${filled('1.0', bytes)}]}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]`,
      ),
  },
  {
    name: 'escaped quotes',
    client: 'chat',
    body: (bytes) => chat(`"messages":[{"role":"user","content":"${'\\"'.repeat(bytes / 2)}"}]`),
  },
  {
    name: 'escaped letters',
    client: 'chat',
    body: (bytes) => chat(`"messages":[{"role":"user","content":"${'\\u0061'.repeat(bytes / 6)}"}]`),
  },
  {
    name: 'one text',
    client: 'messages',
    body: (bytes) => messages(`"messages":[{"role":"user","content":"${'a'.repeat(bytes)}"}]`),
  },
  {
    name: 'one text of wide characters',
    client: 'responses',
    body: (bytes) => `{"model":"demo-text","store":false,"input":"${'漢'.repeat(bytes / 3)}"}`,
  },
  { name: 'spaces', client: 'chat', body: (bytes) => chat(`${' '.repeat(bytes)}"messages":[${ask}]`) },
  {
    name: 'input items',
    client: 'responses',
    body: (bytes) => `{"model":"demo-text","store":false,"input":[${filled(ask, bytes)}]}`,
  },
  {
    name: 'stored input items',
    client: 'responses',
    body: (bytes) => `{"model":"demo-text","input":[${filled(ask, bytes)}]}`,
  },
  {
    name: 'bare references',
    client: 'responses',
    body: (bytes) =>
      `{"model":"demo-text","store":false,"input":[${filled('{"id":"a","role":"user","content":"a"}', bytes)}]}`,
  },
  {
    name: 'media by name',
    client: 'messages',
    body: (bytes) =>
      messages(
        `"messages":[{"role":"user","content":[${filled('{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}', bytes)}]}]`,
      ),
  },
  {
    name: 'nested lists',
    client: 'chat',
    body: (bytes) =>
      chat(`"messages":[${ask}],"metadata":{"a":${filled('[[[[[[[[[[]]]]]]]]]]', bytes).replace(/^/, '[')}]}`),
  },
  {
    name: 'members of an unknown object',
    client: 'chat',
    body: (bytes) => chat(`"messages":[${ask}],"logit_bias":{${numbered((n) => `"${n}":1`, bytes)}}`),
  },
  {
    name: 'unknown members',
    client: 'chat',
    body: (bytes) => chat(`"messages":[${ask}],${numbered((n) => `"x${n}":1`, bytes)}`),
  },
  {
    name: 'contents',
    client: 'generate',
    body: (bytes) => `{"contents":[${filled('{"role":"user","parts":[{"text":"a"},{"text":"b"}]}', bytes)}]}`,
  },
  {
    name: 'function responses',
    client: 'generate',
    body: (bytes) =>
      `{"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"functionCall":{"name":"a","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"a","response":{"a":[${filled('1.0', bytes)}]}}}]}]}`,
  },
];

/** What the largest request that has 100 kB compressed may expand to, by the limit of decompression. */
const EXPANDED_BYTES = 62 * 92_000;

/** A body as large as 100 kB can become. Noise that no compression shrinks keeps its ratio below the limit. */
export function largestBody({ body }: Shape): Buffer {
  const text = body(EXPANDED_BYTES);
  const noise = randomBytes(Math.max(0, 92_000 - zstdCompressSync(text).length)).toString('base64');
  const bytes = zstdCompressSync(text.replace('{', `{"x_noise":"${noise}",`));
  return bytes.length <= SENT_BYTES
    ? bytes
    : zstdCompressSync(body(EXPANDED_BYTES * (SENT_BYTES / bytes.length) * 0.9));
}

const SENT_BYTES = 100_000;
