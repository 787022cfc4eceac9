/** The receivers in docs/callbacks.md, run as they stand on the page, on its vectors and on forged callbacks. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { longTest } from '../support/long-test.ts';

const PAGE = readFileSync(new URL('../../docs/callbacks.md', import.meta.url), 'utf8');

function codeBlock(language: string): string {
  const blocks = [...PAGE.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].filter(([, name]) => name === language);
  assert.equal(blocks.length, 1, `one block of ${language}`);
  return blocks[0]?.[2] ?? '';
}

interface Case {
  readonly about: string;
  readonly apiKey: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Unix seconds. */
  readonly now: number;
  readonly valid: boolean;
}

/** Rows of the table of vectors. */
const VECTORS = [...PAGE.matchAll(/^\| (\d+) \| `(\w+)` \| `(.+?)` \| `(v1=[0-9a-f]{64})` \|$/gm)].map(
  ([, timestamp = '', eventId = '', body = '', signature = '']) => ({ timestamp, eventId, body, signature }),
);

const CASES: readonly Case[] = VECTORS.flatMap(({ timestamp, eventId, body, signature }) => {
  const headers = {
    'x-gateway-timestamp': timestamp,
    'x-gateway-event-id': eventId,
    'x-gateway-task-id': 'task_1',
    'x-gateway-signature': signature,
  };
  const genuine = { apiKey: 'sk-test', headers, body, now: Number(timestamp) };
  const forged = (about: string, change: Partial<Case>): Case => ({ about, ...genuine, ...change, valid: false });
  const withHeader = (name: string, value: string) => ({ headers: { ...headers, [name]: value } });
  return [
    { about: 'genuine', ...genuine, valid: true },
    { about: 'almost too old', ...genuine, now: genuine.now + 299, valid: true },
    forged('too old', { now: genuine.now + 301 }),
    forged('from the future', { now: genuine.now - 301 }),
    forged('another body', { body: `${body} ` }),
    forged('no body', { body: '' }),
    forged('another key', { apiKey: 'sk-test2' }),
    forged('another event', withHeader('x-gateway-event-id', 'evt_2')),
    forged('another time', withHeader('x-gateway-timestamp', String(Number(timestamp) + 1))),
    forged(
      'another signature',
      withHeader(
        'x-gateway-signature',
        signature.replace(/.$/, (c) => (c === '0' ? '1' : '0')),
      ),
    ),
    forged('a short signature', withHeader('x-gateway-signature', signature.slice(0, -2))),
    forged('another version', withHeader('x-gateway-signature', signature.replace('v1', 'v2'))),
    forged('no signature', withHeader('x-gateway-signature', '')),
    forged('no time', withHeader('x-gateway-timestamp', '')),
    forged('a time in words', withHeader('x-gateway-timestamp', 'now')),
  ];
});

const event = (event_id: string, id: string, version: number) => ({ event_id, type: 'running', data: { id, version } });
/** Duplicates by id are dropped, and so are versions that are not above the highest. */
const EVENTS = [
  event('evt_1', 'task_1', 2),
  event('evt_1', 'task_1', 2),
  event('evt_3', 'task_1', 4),
  event('evt_2', 'task_1', 3),
  event('evt_4', 'task_2', 2),
  event('evt_5', 'task_2', 0),
];
const ACCEPTED = [true, false, true, false, true, false];

const EXPECTED = { valid: CASES.map(({ valid }) => valid), accepted: ACCEPTED };

let dir: string;
before(() => {
  dir = mkdtempSync(join(tmpdir(), 'dragoman-callbacks-'));
  writeFileSync(join(dir, 'input.json'), JSON.stringify({ cases: CASES, events: EVENTS }));
});
after(() => rmSync(dir, { recursive: true, force: true }));

const write = (name: string, text: string): string => {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
};

/** Skips the test on a machine without the program. */
function hasProgram(t: TestContext, program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    t.skip(`${program} is not installed, so its example was not run`);
    return false;
  }
}

const run = promisify(execFile);

test('V 6 r5: the page has two vectors and one example of each language', () => {
  assert.equal(VECTORS.length, 2);
  for (const language of ['ts', 'python', 'go']) assert.ok(codeBlock(language).length > 500, language);
  assert.ok(PAGE.includes('57b9c3ae38f9b503be5c23fd2f5c45dcec8386945fcf9df903af77e79ee35ed5'));
});

test('V 6 r5: the TypeScript example accepts genuine callbacks only, each once and in order', async () => {
  interface Example {
    verifyCallback(apiKey: string, headers: Record<string, string>, body: Uint8Array, now?: number): boolean;
    CallbackInbox: new () => { accept(event: object): boolean };
  }
  const example = (await import(pathToFileURL(write('example.ts', codeBlock('ts'))).href)) as Example;
  const inbox = new example.CallbackInbox();
  assert.deepEqual(
    {
      valid: CASES.map(({ apiKey, headers, body, now }) =>
        example.verifyCallback(apiKey, headers, Buffer.from(body), now),
      ),
      accepted: EVENTS.map((one) => inbox.accept(one)),
    },
    EXPECTED,
  );
  const [old] = CASES;
  assert.ok(old && !example.verifyCallback(old.apiKey, old.headers, Buffer.from(old.body)), 'compared with the clock');
});

test('V 6 r5: the Python example does the same', async (t) => {
  if (!hasProgram(t, 'python3', '-c', 'import sys; assert sys.version_info >= (3, 10)')) return;
  write('example.py', codeBlock('python'));
  const program = write(
    'check.py',
    `import json
from example import CallbackInbox, verify_callback
with open("input.json") as file:
    given = json.load(file)
inbox = CallbackInbox()
valid = [verify_callback(c["apiKey"], c["headers"], c["body"].encode(), c["now"]) for c in given["cases"]]
print(json.dumps({"valid": valid, "accepted": [inbox.accept(event) for event in given["events"]]}))
`,
  );
  const { stdout } = await run('python3', [program], { cwd: dir });
  assert.deepEqual(JSON.parse(stdout), EXPECTED);
});

longTest('V 6 r5: the Go example does the same', async (t) => {
  if (!hasProgram(t, 'go', 'version')) return;
  // A program instead of a test, in one package: less of the standard library to compile.
  write('callbacks.go', codeBlock('go').replace('package callbacks', 'package main'));
  write(
    'main.go',
    `package main

import (
	"encoding/json"
	"os"
	"strings"
	"time"
)

func main() {
	var given struct {
		Cases []struct {
			APIKey  string
			Headers map[string]string
			Body    string
			Now     int64
		}
		Events []Event
	}
	text, _ := os.ReadFile("input.json")
	if err := json.Unmarshal(text, &given); err != nil {
		panic(err)
	}
	result := map[string][]bool{}
	for _, c := range given.Cases {
		header := func(name string) string { return c.Headers[strings.ToLower(name)] }
		result["valid"] = append(result["valid"], Verify(c.APIKey, header, []byte(c.Body), time.Unix(c.Now, 0)))
	}
	inbox := NewInbox()
	for _, event := range given.Events {
		result["accepted"] = append(result["accepted"], inbox.Accept(event))
	}
	json.NewEncoder(os.Stdout).Encode(result)
}
`,
  );
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOPROXY: 'off', GO111MODULE: 'off', CGO_ENABLED: '0' };
  const { stdout } = await run('go', ['run', 'main.go', 'callbacks.go'], { cwd: dir, env });
  assert.deepEqual(JSON.parse(stdout), EXPECTED);
});
