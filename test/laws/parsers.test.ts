import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ChunkedBody, framingOf, type HttpHead, HttpParseError, headEnd, readHead } from '../../src/core/index.ts';
import { type Peer, type ReadAnswer, type ReadRequest, startPeer } from '../support/peer.ts';
import { anyAnswers, anyRequests, properRequests } from './messages.ts';
import { laterLaw } from './runs.ts';

let peer: Peer;
before(async () => {
  peer = await startPeer();
});
after(() => peer.stop());

interface Message {
  readonly head: HttpHead;
  readonly body: Buffer;
  /** One past it. */
  readonly end: number;
}

/** The message at `from` as our parsers read it; undefined when it is rejected or not whole. */
function messageAt(bytes: Buffer, from: number, otherwise: 0 | 'close'): Message | undefined {
  const bodyAt = headEnd(bytes, from);
  if (bodyAt < 0) return undefined;
  try {
    const head = readHead(bytes.toString('latin1', from, bodyAt - 4));
    const framing = framingOf(head.headers) ?? otherwise;
    if (framing === 'chunked') return chunkedAt(Buffer.from(bytes), bodyAt, head);
    const end = framing === 'close' ? bytes.length : bodyAt + framing;
    return end > bytes.length ? undefined : { head, body: bytes.subarray(bodyAt, end), end };
  } catch (error) {
    assert.ok(error instanceof HttpParseError, 'nothing else is thrown');
    return undefined;
  }
}

function chunkedAt(bytes: Buffer, from: number, head: HttpHead): Message | undefined {
  const chunks = new ChunkedBody();
  const body = chunks.take(bytes, from) ?? Buffer.alloc(0);
  return chunks.isDone ? { head, body, end: chunks.end } : undefined;
}

interface Ours {
  readonly requests: readonly ReadRequest[];
  /** Everything was understood. */
  readonly isClean: boolean;
}

function ownRequests(bytes: Buffer): Ours {
  const requests: ReadRequest[] = [];
  let at = 0;
  while (at < bytes.length) {
    const message = messageAt(bytes, at, 0);
    const [, method, target] =
      /^(GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS) (\/[!-~]*) HTTP\/1\.1$/.exec(message?.head.line ?? '') ?? [];
    if (message === undefined || method === undefined || target === undefined) break;
    requests.push({ method, target, fields: message.head.fields, body: message.body });
    at = message.end;
    // What follows these is no longer a matter of parsing.
    if (message.head.headers.connection !== undefined || message.head.headers.upgrade !== undefined) break;
  }
  return { requests, isClean: at === bytes.length };
}

function ownAnswer(bytes: Buffer): (ReadAnswer & { end: number }) | undefined {
  const message = messageAt(bytes, 0, 'close');
  const status = Number(/^HTTP\/1\.1 ([2-5]\d\d)(?: .*)?$/.exec(message?.head.line ?? '')?.[1]);
  if (message === undefined || !(status >= 200) || status === 204 || status === 304) return undefined;
  return { status, fields: message.head.fields, body: message.body, end: message.end };
}

test('proper requests are read by us, and by Node as we read them', async () => {
  await laterLaw(
    properRequests,
    async (text) => {
      const bytes = Buffer.from(text, 'latin1');
      const ours = ownRequests(bytes);
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

test('requests that we accept Node accepts, and reads the same in them, whatever was done to the bytes', async () => {
  const seen = { accepted: 0, rejected: 0 };
  await laterLaw(anyRequests, async (text) => {
    const bytes = Buffer.from(text, 'latin1');
    const ours = ownRequests(bytes);
    const node = await peer.asServer(bytes);
    assert.deepEqual(node.requests.slice(0, ours.requests.length), ours.requests);
    if (ours.isClean) assert.equal(node.fault, undefined);
    seen[ours.isClean ? 'accepted' : 'rejected'] += 1;
  });
  assert.ok(Math.min(seen.accepted, seen.rejected) > (seen.accepted + seen.rejected) / 10, JSON.stringify(seen));
});

test('answers that we accept Node accepts, and reads the same in them, whatever was done to the bytes', async () => {
  const seen = { accepted: 0, rejected: 0 };
  await laterLaw(anyAnswers, async (text) => {
    const bytes = Buffer.from(text, 'latin1');
    const ours = ownAnswer(bytes);
    if (ours) {
      const { end, ...answer } = ours;
      assert.deepEqual(
        await peer.asClient(bytes.subarray(0, end)),
        answer,
        'neither more nor fewer bytes belong to it',
      );
    }
    seen[ours ? 'accepted' : 'rejected'] += 1;
  });
  assert.ok(Math.min(seen.accepted, seen.rejected) > (seen.accepted + seen.rejected) / 10, JSON.stringify(seen));
});
