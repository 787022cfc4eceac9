/** The provider of a replay: a server on loopback that answers each lane with the bytes of its script. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { isList } from './events.ts';
import { isFramed } from './frames.ts';

export interface Received {
  /** Path and query below the address of the lane. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}
export interface Reply {
  readonly status: number;
  readonly isStream: boolean;
  readonly body: Buffer;
}
export type Script = (received: Received) => Reply;

export interface Upstream {
  addressOf(lane: string): string;
  /** Sets what the lane gets until the next script, and returns the list of requests that it will have sent. */
  play(lane: string, script: Script): readonly Received[];
  close(): Promise<void>;
}

interface Stage {
  readonly script: Script;
  readonly received: Received[];
}

export async function startUpstream(): Promise<Upstream> {
  const stages = new Map<string, Stage>();
  const server = createServer(async (request, response) => {
    const body = await buffer(request).catch(() => undefined);
    const [, lane = '', target = ''] = /^\/([^/]+)(\/.*)$/s.exec(request.url ?? '') ?? [];
    const stage = stages.get(lane);
    if (!body || !stage) return void response.writeHead(404).end();
    const received = { target, headers: request.headers, body };
    stage.received.push(received);
    const reply = stage.script(received);
    const isEvents = reply.isStream && !isList(reply.body);
    response.writeHead(reply.status, {
      'content-type': isFramed(reply.body)
        ? 'application/vnd.amazon.eventstream'
        : isEvents
          ? 'text/event-stream; charset=utf-8'
          : 'application/json',
      ...(!isEvents && { 'content-length': reply.body.length }),
    });
    response.end(reply.body);
  });
  server.keepAliveTimeout = 75_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    addressOf: (lane) => `${origin}/${lane}`,
    play(lane, script) {
      const received: Received[] = [];
      stages.set(lane, { script, received });
      return received;
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
