/** Native calls byte by byte: bodies, headers, queries, multipart forms and responses pass through the gateway unchanged. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { ErrorFormat } from '../../src/rules/index.ts';
import { type Canned, jsonResponse, sseResponse, startCanned } from '../support/canned.ts';
import { errorCode } from '../support/error-body.ts';
import { basicSetup, startGateway, type TestGateway } from '../support/gateway.ts';
import { request, sendRaw } from '../support/raw.ts';
import { until } from '../support/wait.ts';

const LIMIT = 32 * 1024;
const IMAGE_LIMIT = 48 * 1024;
const RESTRICTED = 'key-that-may-use-one-model';

let upstream: Canned;
let gateway: TestGateway;
let keys: Record<string, string>;
const key = (group: string): string => keys[group] ?? assert.fail(`no key for ${group}`);

before(async () => {
  upstream = await startCanned();
  gateway = await startGateway({ env: { BODY_LIMIT_TEXT: String(LIMIT), BODY_LIMIT_IMAGE: String(IMAGE_LIMIT) } });
  const setup = basicSetup(upstream.url) as { keys: object[] };
  keys = await gateway.apply({
    ...setup,
    keys: [
      ...setup.keys,
      { user: 'ana', group: 'claude', name: 'restricted', key: RESTRICTED, models: ['demo-messages'] },
    ],
  });
  // Created last, because `apply` returns one key per group and would return the restricted one.
  keys.claude =
    (await gateway.apply({ ...setup, keys: [{ user: 'ana', group: 'claude', name: 'more' }] })).claude ?? '';
});
after(async () => {
  await gateway?.stop();
  await upstream?.close();
});
beforeEach(() => {
  upstream.requests.length = 0;
  upstream.respondWith(jsonResponse('{"ok":true}'));
});

interface Exchange {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
  readonly json: unknown;
}

async function post(
  url: string,
  path: string,
  body: string | Buffer,
  headers: Record<string, string>,
): Promise<Exchange> {
  const response = await fetch(url + path, {
    method: 'POST',
    body: typeof body === 'string' ? body : new Uint8Array(body),
    headers: { 'content-type': 'application/json', ...headers },
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    get json() {
      return JSON.parse(bytes.toString('utf8'));
    },
  };
}

const send = (group: string, path: string, body: string | Buffer, headers: Record<string, string> = {}) =>
  post(gateway.url, path, body, { authorization: `Bearer ${key(group)}`, ...headers });

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Members that a JSON parser and serializer would change. */
const UNUSUAL_MEMBERS = [
  '"x_unknown" :\t{"a":1.0,"b":1e5,"c":-0,"d":1E+2,"e":12345678901234567890,"f":0.1000,"g":[ ],"h":{ },"i":1.5e-07}',
  '"twice":1,"twice":2,"Model":"other","modelx":"m","mod\\u0065l_":"m"',
  '"text":"h\\u00e9llo é \\ud83d\\ude00 😀 \\/ \\u2028 \u2028 \\u0000 \\ud800"',
  '"__proto__":{"x":1},"constructor":null,"":0',
].join(',\r\n  ');

interface BodyCase {
  readonly about: string;
  readonly group: string;
  readonly path: string;
  readonly target: string;
  readonly model: string;
  /** The body around the JSON text of the model name. */
  readonly body: (model: string) => string;
}

const BODY_CASES: readonly BodyCase[] = [
  {
    about: 'messages',
    group: 'claude',
    path: '/v1/messages',
    target: '/v1/messages',
    model: 'demo-messages',
    body: (model) =>
      `{"max_tokens":1e3,"messages":[{"role":"user","content":"hi"}],"model" : ${model} ,${UNUSUAL_MEMBERS}}\n`,
  },
  {
    about: 'chat',
    group: 'openai',
    path: '/v1/chat/completions',
    target: '/v1/chat/completions',
    model: 'demo-responses',
    body: (model) => `\ufeff\n{\t"model":${model},"messages":[{"content":"hi","role":"user"}],${UNUSUAL_MEMBERS} }`,
  },
  {
    about: 'responses',
    group: 'openai',
    path: '/v1/responses',
    target: '/v1/responses',
    model: 'demo-responses',
    body: (model) => `{${UNUSUAL_MEMBERS},"input":[{"role":"user","content":"hi"}],"\\u006dodel":${model}}  `,
  },
  {
    about: 'embeddings',
    group: 'openai',
    path: '/v1/embeddings',
    target: '/v1/embeddings',
    model: 'demo-embedding',
    body: (model) => `{"input":[[1,2,3.0],[4]],${UNUSUAL_MEMBERS},"dimensions":8.0,"model":${model}}`,
  },
];

const GENERATE = `{ "contents":[{"parts":[{"text":"hi"}]}],${UNUSUAL_MEMBERS},"generation_config":{"temperature":1.0} }`;

describe('native request body', () => {
  for (const { about, group, path, target, model, body } of BODY_CASES) {
    test(`G 1 r3, G 4.2: ${about} request body reaches the provider byte for byte`, async () => {
      const sent = Buffer.from(body(`"${model}"`));
      assert.equal((await send(group, path, sent)).status, 200);
      assert.equal(upstream.last.target, target);
      assert.equal(sha256(upstream.last.body), sha256(sent), upstream.last.body.toString());
      assert.equal(upstream.last.headers['content-length'], String(sent.length));
    });

    test(`${about} request body under an alias differs only in the model`, async () => {
      const upstreamModel = group === 'claude' ? 'demo-messages' : 'demo-responses';
      assert.equal((await send(group, path, body('"ali\\u0061s-\\u00fc"'))).status, 200);
      assert.equal(upstream.last.body.toString(), body(`"${upstreamModel}"`));
    });
  }

  test('G 1 r3: generate-content request body reaches the provider byte for byte, and an alias changes only the path', async () => {
    for (const [requested, upstreamModel] of [
      ['demo-generate', 'demo-generate'],
      ['alias-x', 'demo-generate'],
      ['demo-a%20b', 'demo-a%20b'],
    ]) {
      assert.equal((await send('gemini', `/v1beta/models/${requested}:generateContent`, GENERATE)).status, 200);
      assert.equal(upstream.last.target, `/v1beta/models/${upstreamModel}:generateContent`);
      assert.equal(sha256(upstream.last.body), sha256(GENERATE));
    }
  });

  test("G 2: image request body without a model gets the group's first image model and is otherwise unchanged", async () => {
    assert.equal((await send('openai', '/v1/images/generations', '{ "prompt":"a lamp","n":1.0}')).status, 200);
    assert.equal(upstream.last.body.toString(), '{"model":"demo-image", "prompt":"a lamp","n":1.0}');
  });

  for (const [encoding, encode] of [
    ['gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['zstd', zstdCompressSync],
  ] as const) {
    test(`G 8: ${encoding} request body is decoded, and the limit counts decoded bytes`, async () => {
      const body = BODY_CASES[0]?.body('"demo-messages"') ?? '';
      const response = await send('claude', '/v1/messages', encode(Buffer.from(body)), {
        'content-encoding': encoding,
      });
      assert.equal(response.status, 200);
      assert.equal(upstream.last.body.toString(), body);
      assert.equal(upstream.last.headers['content-encoding'], undefined);
      const bomb = encode(Buffer.alloc(100 * LIMIT, ' '));
      assert.ok(bomb.length < LIMIT, 'the encoded body is below the limit');
      const rejected = await send('claude', '/v1/messages', bomb, { 'content-encoding': encoding });
      assert.equal(rejected.status, 413);
      assert.equal(errorCode('messages', 413, rejected.json), 'request_too_large');
    });
  }

  test('request body with an unknown content encoding is 415, and one that does not decode is 400', async () => {
    for (const [encoding, status] of [
      ['compress', 415],
      ['gzip, gzip', 415],
      ['gzip', 400],
    ] as const) {
      const response = await send('claude', '/v1/messages', '{"model":"demo-messages"}', {
        'content-encoding': encoding,
      });
      assert.equal(response.status, status);
      errorCode('messages', status, response.json);
    }
    assert.equal(upstream.requests.length, 0);
  });
});

describe('native request headers', () => {
  const forwarded = {
    'anthropic-beta': 'context-management-2025-06-27, fine-grained-tool-streaming-2025-05-14',
    'anthropic-version': '2023-01-01',
    'openai-beta': 'responses=experimental',
    'user-agent': 'some-agent/1.2 (x; y)',
    'x-stainless-lang': 'js',
    'x-unknown-header': 'caf\u00e9',
    'content-type': 'application/json; charset=UTF-8',
    accept: 'application/json, text/event-stream',
  };
  const removed = {
    cookie: 'session=secret',
    'openai-organization': 'org-caller',
    'openai-project': 'proj-caller',
    'x-forwarded-for': '203.0.113.9',
    'x-real-ip': '203.0.113.9',
    forwarded: 'for=203.0.113.9',
    'x-goog-user-project': 'project-of-the-caller',
    'accept-encoding': 'gzip, br',
    'x-hop': 'named by connection',
    te: 'trailers',
  };

  for (const [group, path, shown, credential] of [
    ['openai', '/v1/responses', 'authorization', 'Bearer sk-upstream-oa1'],
    ['claude', '/v1/messages', 'x-api-key', 'sk-upstream-cl1'],
    ['gemini', '/v1beta/models/demo-x:generateContent', 'x-goog-api-key', 'sk-upstream-ge1'],
  ] as const) {
    test(`request headers reach the ${group} provider, except the client's credentials and connection headers`, async () => {
      const body = '{"model":"demo-x","contents":[]}';
      const callers: [string, string][] = [
        ['Authorization', `Bearer ${key(group)}`],
        ['X-Api-Key', key(group)],
        ...(group === 'gemini' ? [['x-goog-api-key', key(group)] as [string, string]] : []),
      ];
      const response = await sendRaw(
        gateway.url,
        Buffer.from(
          request(
            `POST ${path} HTTP/1.1`,
            [
              ...callers,
              ...Object.entries({ ...forwarded, ...removed }),
              ['connection', 'keep-alive, X-Hop'],
              ['content-length', String(body.length)],
            ],
            body,
          ),
          'latin1',
        ),
      );
      assert.equal(response?.status, 200);
      const { headers } = upstream.last;
      for (const [name, value] of Object.entries(forwarded)) assert.equal(headers[name], value, name);
      for (const name of Object.keys(removed))
        if (name !== 'accept-encoding') assert.equal(headers[name], undefined, name);
      assert.equal(headers['accept-encoding'], 'identity', 'the gateway reads usage from the response');
      assert.equal(headers.host, new URL(upstream.url).host);
      const credentials = ['authorization', 'x-api-key', 'x-goog-api-key'].filter(
        (name) => headers[name] !== undefined,
      );
      assert.deepEqual(credentials, [shown], 'one credential');
      assert.equal(headers[shown], credential);
      assert.ok(!JSON.stringify(upstream.last.headers).includes(key(group)), "the client's key is not forwarded");
    });
  }

  test('messages request without a version gets the default version', async () => {
    await send('claude', '/v1/messages', '{"model":"demo-messages"}');
    assert.equal(upstream.last.headers['anthropic-version'], '2023-06-01');
  });
});

describe('native request query', () => {
  test('request query reaches the provider unchanged', async () => {
    await send('claude', '/v1/messages?beta=true&x=%2F+%20', '{"model":"demo-messages"}');
    assert.equal(upstream.last.target, '/v1/messages?beta=true&x=%2F+%20');
  });

  test("G 5 r1: the client's key is removed from the query, however its name is encoded", async () => {
    const body = '{"contents":[]}';
    for (const [query, left] of [
      [`key=${key('gemini')}`, ''],
      [`alt=sse&key=${key('gemini')}&monkey=1`, '?alt=sse&monkey=1'],
      [`k%65y=${key('gemini')}&monkey=1`, '?monkey=1'],
    ] as const) {
      const response = await post(gateway.url, `/v1beta/models/demo-generate:streamGenerateContent?${query}`, body, {});
      assert.equal(response.status, 200);
      assert.equal(upstream.last.target, `/v1beta/models/demo-generate:streamGenerateContent${left}`);
    }
  });
});

describe('native response', () => {
  const UNARY = Buffer.from(
    '\n{"id":"msg_1",\t"n":1.0,"twice":1,"twice":2,"usage":{"input_tokens":1e0,"output_tokens":2},"t":"\\u00e9é😀"} \r\n',
  );

  test('unary response reaches the client byte for byte, small or large', async () => {
    const large = Buffer.from(`{"id":"msg_2","t":"${'é'.repeat(2_000_000)}", "usage" : null}`);
    for (const bytes of [UNARY, large]) {
      upstream.respondWith(jsonResponse(bytes));
      const response = await send('claude', '/v1/messages', '{"model":"demo-messages"}');
      const direct = await post(upstream.url, '/v1/messages', '{}', {});
      assert.equal(response.status, 200);
      assert.equal(sha256(response.bytes), sha256(direct.bytes));
      assert.equal(response.headers.get('content-type'), 'application/json');
    }
  });

  const STREAMS: readonly [string, string, string, string, (string | Buffer)[]][] = [
    [
      'messages',
      'claude',
      '/v1/messages',
      '{"model":"demo-messages","stream":true}',
      [
        ': a comment\n\nretry: 10\nevent: message_start\ndata: {"type":"message_start", "n":1.0}\n',
        '\nevent:ping\ndata:{"type": "ping"}\n\n',
        Buffer.from('event: unknown_event\nid: 7\ndata: {"t":"é😀"}\n\n').subarray(0, -8),
        Buffer.from('event: unknown_event\nid: 7\ndata: {"t":"é😀"}\n\n').subarray(-8),
        'event: message_stop\ndata: {"type":"message_stop"}\n\n: bye\n\n',
      ],
    ],
    [
      'chat with CRLF',
      'openai',
      '/v1/chat/completions',
      '{"model":"demo-responses","stream":true}',
      ['data: {"id":"c1",\r\ndata: "choices":[]}\r', '\n\r', '\n\r\n\r\ndata: [DONE]\r\n\r\n'],
    ],
    [
      'chat without the last blank line',
      'openai',
      '/v1/chat/completions',
      '{"model":"demo-responses","stream":true}',
      ['data: {"id":"c1","choices":[]}\n\n', 'data: [DONE]'],
    ],
    [
      'responses',
      'openai',
      '/v1/responses',
      '{"model":"demo-responses","stream":true}',
      [
        'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_b"},"sequence_number":0}\n\n',
        'event: response.completed\ndata: {"type":"response.completed","response":{"id":"resp_b"},"sequence_number":1}\n\n',
      ],
    ],
    [
      'generate',
      'gemini',
      '/v1beta/models/demo-generate:streamGenerateContent?alt=sse',
      '{"contents":[]}',
      [
        'data: {"candidates": [{"content": {"parts": [{"text": "a"}]}}]}\r\n\r\n',
        'data: {"candidates": [{"finishReason": "STOP"}],"usageMetadata": {"promptTokenCount": 1}}\r\n\r\n',
        'data: {"usageMetadata": {"promptTokenCount": 2}}\r\n\r\n',
      ],
    ],
  ];
  for (const [about, group, path, body, pieces] of STREAMS) {
    test(`${about} stream reaches the client byte for byte`, async () => {
      upstream.respondWith(sseResponse(...pieces));
      const response = await send(group, path, body);
      assert.equal(
        response.bytes.toString(),
        Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))).toString(),
      );
      assert.equal(response.headers.get('content-type'), 'text/event-stream');
      assert.equal(response.headers.get('x-accel-buffering'), 'no');
    });
  }

  test('generate-content stream as a JSON array reaches the client byte for byte, and its usage is logged', async () => {
    const text =
      '[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},\r\n{"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3,"totalTokenCount":10}}\n]\n';
    upstream.respondWith(jsonResponse(text));
    const response = await send('gemini', '/v1beta/models/demo-generate:streamGenerateContent', '{"contents":[]}');
    assert.equal(response.bytes.toString(), text);
    assert.equal(upstream.last.target, '/v1beta/models/demo-generate:streamGenerateContent');
    const id = response.headers.get('x-request-id');
    const line = await until('the log line', () =>
      gateway.log.find((entry) => entry.msg === 'request.completed' && entry.request === id),
    );
    assert.deepEqual([line.tokensIn, line.tokensOut, line.stream], [7, 3, true]);
  });

  test("response headers about the upstream account are removed, and the gateway's request id is set", async () => {
    const forwarded = {
      'openai-processing-ms': '12',
      'openai-version': '2020-10-01',
      'retry-after': '3',
      'x-codex-turn-state': 'abc',
      'content-disposition': 'inline',
    };
    const hidden = {
      'x-ratelimit-limit-requests': '1000',
      'anthropic-ratelimit-requests-remaining': '9',
      'openai-organization': 'org-ours',
      'openai-project': 'proj-ours',
      'anthropic-organization-id': 'org-ours',
      'set-cookie': '__cf_bm=1',
      'cf-ray': '1-FRA',
      server: 'cloudflare',
      via: '1.1 google',
      'alt-svc': 'h3',
    };
    upstream.respondWith(
      jsonResponse('{"ok":true}', 200, {
        ...forwarded,
        ...hidden,
        'x-request-id': 'req_theirs',
        'request-id': 'req_theirs',
      }),
    );
    const chat = await send('openai', '/v1/chat/completions', '{"model":"demo-responses"}');
    const messages = await send('claude', '/v1/messages', '{"model":"demo-messages"}');
    for (const { headers } of [chat, messages]) {
      for (const [name, value] of Object.entries(forwarded)) assert.equal(headers.get(name), value, name);
      for (const name of Object.keys(hidden)) assert.equal(headers.get(name), null, name);
      assert.match(headers.get('x-request-id') ?? '', /^req_(?!theirs)/);
    }
    assert.equal(chat.headers.get('request-id'), null);
    assert.equal(messages.headers.get('request-id'), messages.headers.get('x-request-id'));
  });
});

test('G 4.1 r1, G 9 r2: root aliases reach the /v1 paths of the provider', async () => {
  const body = '{"model":"demo-responses","prompt":"a lamp"}';
  for (const path of [
    '/chat/completions',
    '/responses/input_tokens',
    '/responses/compact',
    '/embeddings',
    '/images/generations',
  ]) {
    assert.equal((await send('openai', path, body)).status, 200, path);
    assert.equal(upstream.last.target, `/v1${path}`);
  }
  upstream.respondWith(jsonResponse('{"id":"resp_root"}'));
  await send('openai', '/responses', body);
  assert.equal(upstream.last.target, '/v1/responses');
  for (const [method, path] of [
    ['GET', '/responses/resp_root?include=x'],
    ['GET', '/responses/resp_root/input_items?limit=1'],
    ['POST', '/responses/resp_root/cancel'],
    ['DELETE', '/responses/resp_root'],
  ] as const) {
    const headers = { authorization: `Bearer ${key('openai')}` };
    assert.equal((await fetch(gateway.url + path, { method, headers })).status, 200, path);
    assert.deepEqual([upstream.last.method, upstream.last.target], [method, `/v1${path}`]);
  }
});

// ---------------------------------------------------------------- forms

type Part = readonly [header: string, value: string | Buffer];
const field = (name: string, value: string): Part => [`Content-Disposition: form-data; name="${name}"`, value];
const file = (name: string, value: Buffer): Part => [
  `content-disposition: form-data; filename="${name}.png"; name="${name}"\r\nContent-Type: image/png`,
  value,
];
const BOUNDARY = '----Unusual_Boundary.7';

const form = (parts: readonly Part[]): Buffer =>
  Buffer.concat([
    ...parts.flatMap(([header, value]) => [
      Buffer.from(`--${BOUNDARY}\r\n${header}\r\n\r\n`),
      Buffer.from(value as string),
      Buffer.from('\r\n'),
    ]),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]);

/** A PNG by its first bytes: all byte values, line ends, and text that looks like delimiters and fields. */
const PIXELS = Buffer.concat([
  Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
  Buffer.from(Array.from({ length: 256 }, (_, n) => n)),
  Buffer.from(
    `\r\n\r\n--${BOUNDARY.slice(0, -1)}\r\n x--${BOUNDARY}\r\n${field('model', 'demo-secret').join('\r\n\r\n')}\r\n--`,
  ),
]);
const JPEG = Buffer.from('\xff\xd8\xff\xe0........', 'latin1');
const FILES = [
  file('image[]', PIXELS),
  file('image[]', Buffer.concat([PIXELS, PIXELS.toReversed()])),
  file('extra', Buffer.alloc(0)),
  file('mask', PIXELS),
];

const edit = (body: Buffer, contentType = `multipart/form-data; boundary=${BOUNDARY}`) =>
  send('openai', '/v1/images/edits', body, { 'content-type': contentType });

describe('image edit', () => {
  const prompt = field('prompt', 'brighter 😀');
  const arrange = (model: string): [string, readonly Part[]][] => [
    ['before', [field('model', model), prompt, ...FILES]],
    ['after', [prompt, ...FILES, field('model', model), field('stream', 'false')]],
  ];

  for (const [n, [where]] of arrange('').entries()) {
    test(`G 5 r2: image edit with the model ${where} its files reaches the provider byte for byte with its boundary`, async () => {
      const body = form(arrange('demo-image')[n]?.[1] ?? []);
      for (const type of [`multipart/form-data; boundary=${BOUNDARY}`, `multipart/Form-Data;Boundary="${BOUNDARY}"`]) {
        assert.equal((await edit(body, type)).status, 200);
        assert.equal(sha256(upstream.last.body), sha256(body));
        assert.equal(upstream.last.headers['content-type'], type);
      }
    });

    test(`image edit with an alias ${where} its files changes only in the model field`, async () => {
      assert.equal((await edit(form(arrange('alias-model')[n]?.[1] ?? []))).status, 200);
      assert.equal(sha256(upstream.last.body), sha256(form(arrange('demo-responses')[n]?.[1] ?? [])));
    });
  }

  test('invalid image edit is rejected before the provider call', async () => {
    const model = field('model', 'demo-image');
    const whole = form([model, prompt, ...FILES]);
    const cases: readonly [string, number, Promise<Exchange>][] = [
      ['too large', 413, edit(form([model, file('image', Buffer.alloc(IMAGE_LIMIT))]))],
      [
        'more than forty parts',
        400,
        edit(form([model, prompt, ...FILES, ...Array.from({ length: 40 }, (_, n) => field(`f${n}`, ''))])),
      ],
      ['no boundary', 400, edit(whole, 'multipart/form-data')],
      ['another boundary', 400, edit(whole, 'multipart/form-data; boundary=other')],
      ['cut off', 400, edit(whole.subarray(0, -10))],
      ['two models', 400, edit(form([model, prompt, ...FILES, field('model', 'demo-secret')]))],
      ['no model', 400, edit(form([prompt, ...FILES]))],
      ['an unknown model', 404, edit(form([prompt, ...FILES, field('model', 'nope')]))],
      ['no prompt', 400, edit(form([model, ...FILES]))],
      ['no image', 400, edit(form([model, prompt]))],
      ['text instead of an image', 400, edit(form([model, prompt, field('image', 'lamp.png')]))],
      ['a file that is not an image', 400, edit(form([model, prompt, file('image', Buffer.from('%PDF-1.7 ....'))]))],
      ['an empty image', 400, edit(form([model, prompt, file('image', Buffer.alloc(0))]))],
      ['a JPEG as mask', 400, edit(form([model, prompt, ...FILES.slice(0, 1), file('mask', JPEG)]))],
      ['17 images', 400, edit(form([model, prompt, ...Array.from({ length: 17 }, () => file('image[]', PIXELS))]))],
      ['a size above the budget', 400, edit(form([model, prompt, ...FILES, field('size', '3328x2496')]))],
      ['a word as number of images', 400, edit(form([model, prompt, ...FILES, field('n', 'two')]))],
      ['an endless field', 400, edit(form([model, field('prompt', 'x'.repeat(40_000)), prompt]).subarray(0, -8))],
      ['JSON without images', 400, edit(Buffer.from('{"prompt":"x"}'), 'application/json')],
      ['plain text', 415, edit(Buffer.from('x'), 'text/plain')],
    ];
    for (const [about, status, pending] of cases) {
      const response = await pending;
      assert.equal(response.status, status, about);
      errorCode('openai', status, response.json);
    }
    assert.equal(upstream.requests.length, 0);
  });

  test('G 2: image edit with sixteen images, a mask and every option is accepted', async () => {
    const options = { size: '1024x1024', quality: 'low', output_format: 'webp', output_compression: '9', n: '2' };
    const body = form([
      field('model', 'demo-image'),
      prompt,
      ...Array.from({ length: 16 }, () => file('image[]', PIXELS)),
      file('mask', PIXELS),
      ...Object.entries({ ...options, user: 'u', background: 'auto', moderation: 'low' }).map(([name, value]) =>
        field(name, value),
      ),
    ]);
    assert.equal((await edit(body)).status, 200);
    assert.equal(sha256(upstream.last.body), sha256(body));
  });

  test('image edit in JSON reaches the provider unchanged', async () => {
    const body = '{ "model":"demo-image","prompt":"x", "images":[{"image_url":"data:image/png;base64,iVBORw0KGgo="}]}';
    assert.equal((await edit(Buffer.from(body), 'application/json')).status, 200);
    assert.equal(upstream.last.body.toString(), body);
  });

  test('G 2: response_format does not reach the provider, and is named as dropped', async () => {
    const sent = await edit(form([field('model', 'demo-image'), prompt, field('response_format', 'url'), ...FILES]));
    assert.equal(sent.headers.get('x-gateway-dropped'), 'response_format');
    assert.equal(sha256(upstream.last.body), sha256(form([field('model', 'demo-image'), prompt, ...FILES])));
    for (const [body, expected] of [
      ['{"model":"demo-image","response_format":"url","prompt":"x"}', '{"model":"demo-image","prompt":"x"}'],
      ['{"prompt":"x", "response_format" : "b64_json" }', '{"model":"demo-image","prompt":"x" }'],
      ['{"response_format":null,"model":"alias-x","prompt":"x"}', '{"model":"demo-responses","prompt":"x"}'],
    ] as const) {
      const generated = await send('openai', '/v1/images/generations', body);
      assert.equal(generated.headers.get('x-gateway-dropped'), 'response_format');
      assert.equal(upstream.last.body.toString(), expected);
    }
    const plain = await send('openai', '/v1/images/generations', '{"model":"demo-image","prompt":"x","new":1}');
    assert.equal(plain.headers.get('x-gateway-dropped'), null);
  });

  test('chunked image edit above the limit is 413 and releases its account slot', async () => {
    const head = request('POST /v1/images/edits HTTP/1.1', [
      ['authorization', `Bearer ${key('openai')}`],
      ['content-type', `multipart/form-data; boundary=${BOUNDARY}`],
      ['transfer-encoding', 'chunked'],
    ]);
    const body = form([field('model', 'demo-image'), file('image', Buffer.alloc(IMAGE_LIMIT))]);
    const chunk = Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')]);
    const response = await sendRaw(gateway.url, Buffer.concat([Buffer.from(head), chunk]));
    assert.equal(response?.status, 413);
    assert.equal(upstream.requests.length, 0);
    assert.equal((await edit(form([field('model', 'demo-image'), prompt, ...FILES]))).status, 200);
  });
});

// ---------------------------------------------------------------- invalid requests

const ENDPOINTS: readonly [ErrorFormat, string, string, string][] = [
  ['messages', 'claude', '/v1/messages', '"model":"demo-messages"'],
  ['openai', 'openai', '/v1/responses', '"model":"demo-responses"'],
  ['openai', 'openai', '/v1/chat/completions', '"model":"demo-responses"'],
  ['openai', 'openai', '/v1/embeddings', '"model":"demo-embedding"'],
  ['generate', 'gemini', '/v1beta/models/demo-generate:generateContent', '"contents":[]'],
];

describe('invalid native request', () => {
  for (const [format, group, path, member] of ENDPOINTS) {
    test(`G 5 r2: invalid body or content type at ${path} is rejected in the error format of the path, before the provider call`, async () => {
      const cases: readonly [string, number, string | Buffer, Record<string, string>?][] = [
        ['empty', 400, ''],
        ['not JSON', 400, `{${member},}`],
        ['cut off', 400, `{${member}`],
        ['invalid escape in a name', 400, `{${member},"\\x":1}`],
        ['invalid escape in a value', 400, `{"model":"demo-\\x","input":"${'y'.repeat(50)}\\x"}`],
        ['bytes after the object', 400, `{${member}}{}`],
        ['nested too deep', 400, `{${member},"x":${'['.repeat(200)}${']'.repeat(200)}}`],
        ['an array', 400, `[{${member}}]`],
        ['a string', 400, '"hello"'],
        [
          'not UTF-8',
          400,
          Buffer.concat([Buffer.from(`{${member},"x":"`), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]),
        ],
        ['too large', 413, `{${member},"x":"${'x'.repeat(LIMIT)}"}`],
        ['another content type', 415, `{${member}}`, { 'content-type': 'application/xml' }],
      ];
      for (const [about, status, body, headers] of cases) {
        const response = await send(group, path, body, headers);
        assert.equal(response.status, status, about);
        errorCode(format, status, response.json);
      }
      assert.equal(upstream.requests.length, 0, 'the provider gets no request');
    });
  }

  test('duplicate model member is rejected, however it is encoded', async () => {
    for (const body of [
      '{"model":"demo-messages","model":"demo-messages"}',
      '{"model":"demo-messages","m\\u006fdel":"demo-other"}',
    ]) {
      const response = await send('claude', '/v1/messages', body);
      assert.equal(response.status, 400);
      assert.match(String((response.json as { error: { message: string } }).error.message), /"model" occurs twice/);
    }
    assert.equal(upstream.requests.length, 0);
  });

  test('G 4.1 r2: a body of another dialect on a /v1beta path is rejected, naming its endpoint', async () => {
    const path = '/v1beta/models/demo-generate:generateContent';
    for (const [endpoint, body] of [
      ['/v1/messages', '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"system":"s"}'],
      ['/v1/chat/completions', '{"model":"m","messages":[{"role":"system","content":"x"}]}'],
      ['/v1/responses', '{"model":"m","input":"x"}'],
      ['/v1/responses', '\ufeff{"model":"m","input":"x"}'],
    ] as const) {
      const response = await send('gemini', path, body);
      assert.equal(response.status, 400, endpoint);
      assert.equal(errorCode('generate', 400, response.json), 'wrong_dialect');
      assert.ok(String((response.json as { error: { message: string } }).error.message).includes(`POST ${endpoint}`));
    }
    assert.equal(upstream.requests.length, 0);
  });
});

describe('model of a native request', () => {
  const errorOf = ({ json }: Exchange) => (json as { error: { code: string; param?: string; message: string } }).error;

  test('missing or invalid model is 400 with param model', async () => {
    for (const body of ['{}', '{"model":null}', '{"model":""}', '{"model":["demo-responses"]}']) {
      const response = await send('openai', '/v1/responses', body);
      assert.equal(response.status, 400, body);
      assert.equal(errorOf(response).param, 'model');
      assert.equal((await send('claude', '/v1/messages', body)).status, 400);
    }
  });

  test('G 7 r3: model that the group does not offer is 404', async () => {
    const missing = await send('openai', '/v1/responses', '{"model":"demo"}');
    assert.deepEqual(
      [missing.status, errorOf(missing).code, errorOf(missing).param],
      [404, 'model_not_found', 'model'],
    );
    const native = await send('gemini', '/v1beta/models/nope:generateContent', '{"contents":[]}');
    assert.equal(native.status, 404);
    assert.equal(errorCode('generate', 404, native.json), 'model_not_found');
  });

  test("G 7 r3: model outside the key's list is 403, others work", async () => {
    const as = { 'x-api-key': RESTRICTED };
    const rejected = await post(gateway.url, '/v1/messages', '{"model":"demo-other"}', as);
    assert.equal(rejected.status, 403);
    assert.equal(errorCode('messages', 403, rejected.json), 'model_not_allowed');
    assert.equal(upstream.requests.length, 0);
    assert.equal((await post(gateway.url, '/v1/messages', '{"model":"demo-messages"}', as)).status, 200);
  });
});
