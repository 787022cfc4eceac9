import assert from 'node:assert/strict';
import { test } from 'node:test';
import { awsFrame } from '../../../../sim/clouds/bedrock.ts';
import { BedrockStream, messagesEvent } from './bedrock-stream.ts';

/** What a listener hears of the chunks, and whether the exchange was ended. */
function heard(chunks: readonly Buffer[]): { text: string; end: string; isAborted: boolean } {
  const outcome = { text: '', end: '', isAborted: false };
  const stream = new BedrockStream(
    {
      onHead(status, headers) {
        outcome.text += `${status === 200 ? '' : `${status} `}${headers['content-type']}\n`;
      },
      onData: (chunk) => {
        outcome.text += chunk.toString();
        return true;
      },
      onEnd() {
        outcome.end = 'end';
      },
      onError({ code }) {
        outcome.end = code;
      },
    },
    messagesEvent,
  );
  stream.upstream = {
    resume() {},
    abort() {
      outcome.isAborted = true;
    },
  };
  stream.onHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
  for (const chunk of chunks) stream.onData(chunk);
  stream.onEnd();
  return outcome;
}

const PING = '{ "type" : "ping","n":1.0 }';
const EVENT = `event: ping\ndata: ${PING}\n\n`;
const HEAD = 'text/event-stream\n';

test('payloads become events with their bytes', () => {
  const [one, two] = [awsFrame(PING, 'ping'), awsFrame('{"n":2,"type":"message_stop"}', 'message_stop')];
  const text = `${HEAD}${EVENT}event: message_stop\ndata: {"n":2,"type":"message_stop"}\n\n`;
  assert.deepEqual(heard([one, two]), { text, end: 'end', isAborted: false });
});

test('a damaged frame ends the stream after the frames before it, and a cut one is an error', () => {
  const whole = awsFrame(PING, 'ping');
  const damaged = Buffer.from(whole);
  damaged.writeUInt8(damaged.readUInt8(60) ^ 1, 60);
  const text = HEAD + EVENT;
  assert.deepEqual(heard([Buffer.concat([whole, damaged])]), { text, end: 'FRAME_CHECKSUM', isAborted: true });
  assert.deepEqual(heard([whole, whole.subarray(0, 40)]), { text, end: 'FRAME_LENGTH', isAborted: true });
});

test('a stream that begins with an exception is a failed request, and a later one is an event', () => {
  const throttled = awsFrame('{"error":{"type":"rate_limit_error"}}', 'error');
  const error = '{"type":"error","error":{"type":"rate_limit_error","message":"The model failed (simulated)."}}';
  assert.deepEqual(heard([throttled.subarray(0, 20), throttled.subarray(20)]), {
    text: `429 application/json\n${error}`,
    end: 'end',
    isAborted: true,
  });
  assert.deepEqual(heard([awsFrame(PING, 'ping'), throttled]), {
    text: `${HEAD}${EVENT}event: error\ndata: ${error}\n\n`,
    end: 'end',
    isAborted: false,
  });
});

test('a stream without frames has its head', () => {
  assert.deepEqual(heard([]), { text: HEAD, end: 'end', isAborted: false });
});
