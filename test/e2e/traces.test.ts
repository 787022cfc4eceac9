/** OpenTelemetry traces, received by a small OTLP/HTTP collector. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { jsonResponse, startCanned } from '../support/canned.ts';
import { startGateway } from '../support/gateway.ts';

interface OtlpSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

interface OtlpBody {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[] }[];
}

async function startCollector() {
  const spans: OtlpSpan[] = [];
  const tokens = new Set<string | undefined>();
  const server = createServer(async (request, response) => {
    const body = (await json(request)) as OtlpBody;
    if (request.url === '/otel/v1/traces')
      spans.push(...body.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
    tokens.add(request.headers.authorization);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/otel`;
  return { url, spans, tokens, close: () => server.closeAllConnections() ?? server.close() };
}

const attributesOf = (span: OtlpSpan | undefined): Record<string, unknown> =>
  Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));

test('OTEL_EXPORTER_OTLP_ENDPOINT gets a trace of every call at the latest at the shutdown, below the span of the caller', async () => {
  const collector = await startCollector();
  const provider = await startCanned();
  const gateway = await startGateway({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc' },
  });
  try {
    const keys = await gateway.apply({
      groups: [{ id: 'claude', style: 'messages' }],
      accounts: ['a', 'b'].map((id, priority) => ({
        id,
        group: 'claude',
        base_url: provider.url,
        api_key: id,
        priority,
      })),
      models: [{ id: 'claude-x', groups: ['claude'], upstream: 'claude-real' }],
      users: [{ id: 'ana' }],
      keys: [{ user: 'ana', group: 'claude' }],
    });
    const usage = { input_tokens: 11, output_tokens: 7 };
    const reply = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-real-2',
      content: [],
      stop_reason: 'end_turn',
      usage,
    };
    provider.respondWith((response, request) =>
      request.headers['x-api-key'] === 'a'
        ? jsonResponse('{"type":"error","error":{"type":"overloaded_error","message":"busy"}}', 529)(response, request)
        : jsonResponse(JSON.stringify(reply))(response, request),
    );
    const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': keys.claude ?? '', 'content-type': 'application/json', traceparent: parent },
      body: JSON.stringify({ model: 'claude-x', max_tokens: 9, messages: [{ role: 'user', content: 'secret words' }] }),
    });
    assert.equal(response.status, 200);
    await response.text();
    await gateway.stop();

    const [call, ...others] = collector.spans.filter(({ kind }) => kind === 2);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [call?.name, call?.traceId, call?.parentSpanId],
      ['POST /v1/messages', '0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'],
    );
    const expectAttributes = (span: OtlpSpan | undefined, expected: Record<string, unknown>): void => {
      const found = attributesOf(span);
      for (const [name, value] of Object.entries(expected)) assert.deepEqual(found[name], value, name);
    };
    expectAttributes(call, {
      'http.route': '/v1/messages',
      'url.path': '/v1/messages',
      'http.response.status_code': 200,
      'dragoman.model': 'claude-x',
      'dragoman.request_id': response.headers.get('x-request-id'),
      'dragoman.user': 'ana',
    });
    assert.doesNotMatch(JSON.stringify(call?.attributes), /gen_ai/, 'a sum over spans counts the call once');
    const attempts = collector.spans.filter(({ kind }) => kind === 3);
    assert.deepEqual(
      attempts.map((span) => [span.name, span.parentSpanId, span.traceId]),
      Array(2).fill(['chat claude-real', call?.spanId, call?.traceId]),
    );
    assert.deepEqual(
      attempts.map((span) => [
        attributesOf(span)['dragoman.account'],
        attributesOf(span)['error.type'],
        span.status?.code,
      ]),
      [
        ['a', 'overloaded', 2],
        ['b', undefined, 0],
      ],
    );
    const { hostname, port } = new URL(provider.url);
    expectAttributes(attempts[1], {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': 'claude-real',
      'gen_ai.response.model': 'claude-real-2',
      'gen_ai.response.id': 'msg_1',
      'gen_ai.response.finish_reasons': { values: [{ stringValue: 'end_turn' }] },
      'gen_ai.response.time_to_first_chunk': undefined,
      'gen_ai.usage.input_tokens': 11,
      'gen_ai.usage.output_tokens': 7,
      'server.address': hostname,
      'server.port': Number(port),
    });
    assert.equal(attributesOf(attempts[0])['gen_ai.usage.input_tokens'], undefined);
    for (const { startTimeUnixNano, endTimeUnixNano } of attempts) {
      assert.ok(BigInt(startTimeUnixNano) >= BigInt(call?.startTimeUnixNano ?? 0));
      assert.ok(BigInt(endTimeUnixNano) <= BigInt(call?.endTimeUnixNano ?? 0));
    }
    assert.doesNotMatch(JSON.stringify(collector.spans), /secret words/);
    assert.deepEqual([...collector.tokens], ['Bearer abc']);
  } finally {
    await gateway.stop();
    await provider.close();
    collector.close();
  }
});
