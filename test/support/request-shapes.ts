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

const same = (base64: string): string => base64;
/** A document whose bytes are of another format: the head, and one part of it until the size is reached. */
const withFile = (bytes: number, write: (base64: string) => string, head: string, part = '\0'): string => {
  const file = head + part.repeat(Math.max(1, (bytes * 0.75) / part.length));
  const base64 = write(Buffer.from(file, 'latin1').toString('base64'));
  return messages(
    `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${base64}"}}]}]`,
  );
};

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
  {
    name: 'parts inside tool results',
    client: 'messages',
    body: (bytes) =>
      messages(
        `"messages":[${ask},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"a","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[${filled('{"type":"text","text":"a"}', bytes)}]}]}]`,
      ),
  },
  {
    name: 'numeric names in arguments',
    client: 'messages',
    body: (bytes) =>
      messages(
        `"messages":[${ask},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"a","input":{${numbered((n) => `"${9 * n}":1`, bytes)}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]`,
      ),
  },
  {
    name: 'the same name in arguments',
    client: 'chat',
    body: (bytes) => chat(callWith(`{${filled('\\"a\\":1', bytes)}}`)),
  },
  {
    name: 'numbers of many digits in arguments',
    client: 'chat',
    body: (bytes) => chat(callWith(`{\\"a\\":[${filled('9'.repeat(300), bytes)}]}`)),
  },
  {
    name: 'schemas that refer to themselves',
    client: 'chat',
    body: (bytes) =>
      chat(
        `"messages":[${ask}],"tools":[${filled(tool(`{"type":"object","$defs":{"a":{"$ref":"#/$defs/a"}},"properties":{"a":${'{"anyOf":[{"$ref":"#/$defs/a"},'.repeat(40)}{}${']}'.repeat(40)}}}`), bytes)}]`,
      ),
  },
  {
    name: 'values to choose from in a schema',
    client: 'generate',
    body: (bytes) =>
      `{"contents":[{"role":"user","parts":[{"text":"a"}]}],"tools":[{"functionDeclarations":[{"name":"a","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","enum":[${numbered((n) => `"v${n}"`, bytes)}]}}}}]}]}`,
  },
  {
    name: 'stop sequences',
    client: 'chat',
    body: (bytes) => chat(`"messages":[${ask}],"stop":[${numbered((n) => `"s${n}"`, bytes)}]`),
  },
  {
    name: 'instructions in parts',
    client: 'messages',
    body: (bytes) => messages(`"system":[${filled('{"type":"text","text":"a"}', bytes)}],"messages":[${ask}]`),
  },
  {
    name: 'long instructions, which the response repeats',
    client: 'responses',
    body: (bytes) => `{"model":"demo-text","store":false,"instructions":"${'\\n\\"'.repeat(bytes / 4)}","input":"a"}`,
  },
  {
    name: 'references to items',
    client: 'responses',
    body: (bytes) =>
      `{"model":"demo-text","store":false,"input":[${numbered((n) => `{"type":"item_reference","id":"msg_${n}"}`, bytes)}]}`,
  },
  {
    name: 'hosted calls with results of their own',
    client: 'responses',
    body: (bytes) =>
      `{"model":"demo-text","store":false,"input":[${filled('{"type":"shell_call","call_id":"c","action":{"commands":[]},"environment":{"type":"container_auto"}}', bytes / 2)},${filled('{"type":"shell_call_output","call_id":"c","output":[]}', bytes / 2)}]}`,
  },
  {
    name: 'pairs of surrogates',
    client: 'chat',
    body: (bytes) => chat(`"messages":[{"role":"user","content":"${'\\ud83d\\ude00'.repeat(bytes / 12)}"}]`),
  },
  {
    name: 'addresses of pictures',
    client: 'chat',
    body: (bytes) =>
      chat(
        `"messages":[{"role":"user","content":[${filled('{"type":"image_url","image_url":{"url":"data:image/png;base64,a"}}', bytes)}]}]`,
      ),
  },
  {
    name: 'a file in lines',
    client: 'messages',
    body: (bytes) => withFile(bytes, (base64) => base64.replace(/.{76}/g, '$&\\n'), 'GIF89a'),
  },
  {
    name: 'an MP4 of empty boxes',
    client: 'messages',
    body: (bytes) => withFile(bytes, same, '\0\0\0\x08ftyp', '\0\0\0\x08moof'),
  },
  {
    name: 'a WebM of empty elements',
    client: 'messages',
    body: (bytes) => withFile(bytes, same, '\x1a\x45\xdf\xa3\x80', '\xe7\x80'),
  },
  {
    name: 'an MP3 of short frames',
    client: 'messages',
    body: (bytes) => withFile(bytes, same, '', `\xff\xf3\x14\xc4${'\0'.repeat(20)}`),
  },
  {
    name: 'ID3 tags without an end',
    client: 'messages',
    body: (bytes) => withFile(bytes, same, '', 'ID3\x04\0\0\0\0\0\0'),
  },
  {
    name: 'an Ogg file of full pages',
    client: 'messages',
    body: (bytes) =>
      withFile(
        bytes,
        same,
        `OggS\0\x02${'\0'.repeat(20)}\x01\x13OpusHead${'\0'.repeat(11)}`,
        `OggS${'\0'.repeat(22)}\xff${'\0'.repeat(255)}`,
      ),
  },
  {
    name: 'a JPEG of empty segments',
    client: 'messages',
    body: (bytes) => withFile(bytes, same, '\xff\xd8', '\xff\xe0\0\0'),
  },
  {
    name: 'a PDF that counts its pages again and again',
    client: 'messages',
    body: (bytes) => withFile(bytes, same, '%PDF-1.7 ', '/Count 1 /Type /Page '),
  },
];

/** What the largest request that has 100 kB compressed may expand to, by the limit of decompression. */
const EXPANDED_BYTES = 62 * 92_000;

/** A body as large as 100 kB can become. Noise that no compression shrinks keeps its ratio below the limit. */
export function largestBody({ body }: Shape): Buffer {
  for (let size = EXPANDED_BYTES; ; size *= 0.8) {
    const text = body(size);
    const noise = randomBytes(Math.max(0, 92_000 - zstdCompressSync(text).length)).toString('base64');
    const bytes = zstdCompressSync(text.replace('{', `{"x_noise":"${noise}",`));
    if (bytes.length <= SENT_BYTES) return bytes;
  }
}

const SENT_BYTES = 100_000;
