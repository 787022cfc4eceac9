import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { framingOf } from '../../src/platform/http/framing.ts';
import { HttpParseError } from '../../src/platform/http/index.ts';
import { ChunkedBody } from '../../src/platform/http/wire/chunks.ts';
import { type HttpHead, headEnd, readHead } from '../../src/platform/http/wire/head.ts';
import { type Peer, type ReadRequest, type ReadResponse, startPeer } from '../support/peer.ts';
import { anyRequests, anyResponses, validRequests } from './messages.ts';
import { asyncLaw } from './runs.ts';

let peer: Peer;
before(async () => {
  peer = await startPeer();
});
after(() => peer.stop());

interface Message {
  readonly head: HttpHead;
  readonly body: Buffer;
  /** Index of the first byte after the message. */
  readonly end: number;
}

/** Parses the message at `from`; undefined if it is rejected or incomplete. */
function messageAt(bytes: Buffer, from: number, otherwise: 0 | 'close'): Message | undefined {
  const bodyAt = headEnd(bytes, from);
  if (bodyAt < 0) return undefined;
  try {
    const head = readHead(bytes.toString('latin1', from, bodyAt - 4), 100);
    const framing = framingOf(head.headers) ?? otherwise;
    if (framing === 'chunked') return chunkedAt(Buffer.from(bytes), bodyAt, head);
    const end = framing === 'close' ? bytes.length : bodyAt + framing;
    return end > bytes.length ? undefined : { head, body: bytes.subarray(bodyAt, end), end };
  } catch (error) {
    assert.ok(error instanceof HttpParseError, 'the parser throws only HttpParseError');
    return undefined;
  }
}

function chunkedAt(bytes: Buffer, from: number, head: HttpHead): Message | undefined {
  const chunks = new ChunkedBody();
  const body = chunks.decode(bytes, from) ?? Buffer.alloc(0);
  return chunks.isDone ? { head, body, end: chunks.end } : undefined;
}

interface ParsedRequests {
  readonly requests: readonly ReadRequest[];
  /** All bytes belong to valid requests. */
  readonly isClean: boolean;
}

function parseRequests(bytes: Buffer): ParsedRequests {
  const requests: ReadRequest[] = [];
  let at = 0;
  while (at < bytes.length) {
    const message = messageAt(bytes, at, 0);
    const [, method, target] =
      /^(GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS) (\/[!-~]*) HTTP\/1\.1$/.exec(message?.head.line ?? '') ?? [];
    if (message === undefined || method === undefined || target === undefined) break;
    requests.push({ method, target, fields: message.head.rawHeaders, body: message.body });
    at = message.end;
    // After these headers the connection is closed or upgraded.
    if (message.head.headers.connection !== undefined || message.head.headers.upgrade !== undefined) break;
  }
  return { requests, isClean: at === bytes.length };
}

function parseResponse(bytes: Buffer): (ReadResponse & { end: number }) | undefined {
  const message = messageAt(bytes, 0, 'close');
  const status = Number(/^HTTP\/1\.1 ([2-5]\d\d)(?: .*)?$/.exec(message?.head.line ?? '')?.[1]);
  if (message === undefined || !(status >= 200) || status === 204 || status === 304) return undefined;
  return { status, fields: message.head.rawHeaders, body: message.body, end: message.end };
}

test('valid requests are parsed as Node parses them', async () => {
  await asyncLaw(
    validRequests,
    async (text) => {
      const bytes = Buffer.from(text, 'latin1');
      const ours = parseRequests(bytes);
      assert.ok(ours.isClean);
      assert.deepEqual(await peer.asServer(bytes), {
        requests: ours.requests,
        begun: ours.requests.length,
        fault: undefined,
      });
    },
    0.25,
  );
});

test('mutated requests that the parser accepts are parsed as Node parses them', async () => {
  const seen = { accepted: 0, rejected: 0 };
  await asyncLaw(anyRequests, async (text) => {
    const bytes = Buffer.from(text, 'latin1');
    const ours = parseRequests(bytes);
    const node = await peer.asServer(bytes);
    assert.deepEqual(node.requests.slice(0, ours.requests.length), ours.requests);
    if (ours.isClean) assert.equal(node.fault, undefined);
    seen[ours.isClean ? 'accepted' : 'rejected'] += 1;
  });
  assert.ok(Math.min(seen.accepted, seen.rejected) > (seen.accepted + seen.rejected) / 10, JSON.stringify(seen));
});

test('mutated responses that the parser accepts are parsed as Node parses them', async () => {
  const seen = { accepted: 0, rejected: 0 };
  await asyncLaw(anyResponses, async (text) => {
    const bytes = Buffer.from(text, 'latin1');
    const ours = parseResponse(bytes);
    if (ours) {
      const { end, ...response } = ours;
      assert.deepEqual(await peer.asClient(bytes.subarray(0, end)), response, 'the response ends at the same byte');
    }
    seen[ours ? 'accepted' : 'rejected'] += 1;
  });
  assert.ok(Math.min(seen.accepted, seen.rejected) > (seen.accepted + seen.rejected) / 10, JSON.stringify(seen));
});
