/** Receivers of callbacks, events to deliver, and a check of signatures that shares no code with the gateway. */
import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sql } from 'kysely';
import { derive, newId, type Sealer } from '../../src/core/index.ts';
import type { Db } from '../../src/platform/db/index.ts';

export interface Delivery {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** A status, or a function that responds. */
export type Reply = number | ((response: ServerResponse, delivery: Delivery) => void);

/** An HTTP server that records what it receives. */
export class Receiver {
  readonly deliveries: Delivery[] = [];
  /** Requests at the same time, at most; also by path. */
  maxInFlight = 0;
  readonly maxByPath = new Map<string, number>();
  respond: (delivery: Delivery) => Reply = () => 200;
  origin = '';
  readonly #paths: string[] = [];
  readonly #server: Server = createServer((request, response) => {
    this.#begin(request.url ?? '');
    response.on('close', () => this.#paths.splice(this.#paths.indexOf(request.url ?? ''), 1));
    const chunks: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const delivery = {
        path: request.url ?? '',
        method: request.method ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
        at: Date.now(),
      };
      this.deliveries.push(delivery);
      const reply = this.respond(delivery);
      if (typeof reply === 'number') response.writeHead(reply).end();
      else reply(response, delivery);
    });
  });

  async listen(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  reset(): void {
    this.deliveries.length = 0;
    this.maxInFlight = 0;
    this.maxByPath.clear();
    this.respond = () => 200;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #begin(path: string): void {
    this.#paths.push(path);
    const same = this.#paths.filter((one) => one === path).length;
    this.maxInFlight = Math.max(this.maxInFlight, this.#paths.length);
    this.maxByPath.set(path, Math.max(this.maxByPath.get(path) ?? 0, same));
  }
}

const header = (headers: IncomingHttpHeaders, name: string): string => String(headers[name] ?? '');

/** Both signatures by the contract (V 6 r5), with Web Crypto. */
export async function isSignedBy(
  token: string,
  { headers, body }: Pick<Delivery, 'headers' | 'body'>,
): Promise<boolean> {
  const { subtle } = webcrypto;
  const text = new TextEncoder();
  const input = await subtle.importKey('raw', text.encode(token), 'HKDF', false, ['deriveKey']);
  const key = await subtle.deriveKey(
    { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: text.encode('gateway-video-callback-v1') },
    input,
    { name: 'HMAC', hash: 'SHA-256', length: 256 },
    false,
    ['verify'],
  );
  const [eventId, timestamp] = [header(headers, 'x-gateway-event-id'), header(headers, 'x-gateway-timestamp')];
  const own = /^v1=([0-9a-f]{64})$/.exec(header(headers, 'x-gateway-signature'))?.[1] ?? '';
  const standard = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(header(headers, 'webhook-signature'))?.[1] ?? '';
  const verify = (signature: Buffer, signed: string) =>
    subtle.verify('HMAC', key, new Uint8Array(signature), text.encode(signed));
  return (
    (await verify(Buffer.from(own, 'hex'), `${timestamp}\n${eventId}\n${body}`)) &&
    (await verify(
      Buffer.from(standard, 'base64'),
      `${header(headers, 'webhook-id')}.${header(headers, 'webhook-timestamp')}.${body}`,
    ))
  );
}

/** Signed, and ids, time and body agree. */
export async function assertValid(delivery: Delivery, token: string): Promise<void> {
  const { headers } = delivery;
  assert.ok(await isSignedBy(token, delivery), `the signature of ${delivery.body}`);
  const event = JSON.parse(delivery.body) as { event_id: string; data: { id: string } };
  assert.equal(headers['x-gateway-event-id'], event.event_id);
  assert.equal(headers['webhook-id'], event.event_id);
  assert.equal(headers['x-gateway-task-id'], event.data.id);
  assert.equal(headers['webhook-timestamp'], headers['x-gateway-timestamp']);
  const age = delivery.at / 1_000 - Number(headers['x-gateway-timestamp']);
  assert.ok(age > -2 && age < 20, `signed ${age} s before`);
}

export interface SeededTask {
  readonly userId: string;
  readonly token: string;
  readonly url: string;
  /** One event per version, all due. */
  readonly versions?: readonly number[];
}

export interface SeededEvent {
  readonly userId: string;
  readonly taskId: string;
  readonly eventId: string;
  readonly version: number;
}

/** Inserts tasks that have ended, with their events. */
export async function seedEvents(db: Db, sealer: Sealer, tasks: readonly SeededTask[]): Promise<SeededEvent[]> {
  const events = tasks.flatMap(({ versions = [2], ...task }) => {
    const taskId = newId('task');
    return versions.map((version) => ({ ...task, taskId, eventId: newId('evt'), version }));
  });
  const users = [...new Set(tasks.map(({ userId }) => userId))];
  await sql`insert into users (id) select unnest(${users}::text[]) on conflict do nothing`.execute(db);
  for (let n = 0; n < events.length; n += 500) {
    const part = events.slice(n, n + 500);
    const owned = [...new Map(part.map((event) => [event.taskId, event])).values()];
    await db
      .insertInto('video_tasks')
      .values(owned.map((event) => taskRow(event, sealer)))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    await db.insertInto('callback_events').values(part.map(eventRow)).execute();
  }
  return events.map(({ userId, taskId, eventId, version }) => ({ userId, taskId, eventId, version }));
}

type Event = Omit<SeededTask, 'versions'> & SeededEvent;

const taskRow = ({ userId, taskId, token, url }: Event, sealer: Sealer) => ({
  user_id: userId,
  id: taskId,
  key_id: 'key_1',
  group_id: 'ep',
  variant: 'EP',
  model: 'demo-video',
  upstream_model: 'demo-video',
  status: 'succeeded',
  progress: 100,
  callback_token_hash: Buffer.alloc(32),
  safety_identifier: 'end-user',
  parameters: '{}',
  has_video_input: false,
  callback_url: url,
  callback_secret_sealed: sealer.seal(
    derive(token, 'gateway-video-callback-v1').toString('base64'),
    `video_tasks.callback_secret:${taskId}`,
  ),
  expires_at: new Date(Date.now() + 86_400_000),
  finished_at: new Date(),
});

const eventRow = ({ userId, taskId, eventId, version, url }: Event) => ({
  user_id: userId,
  task_id: taskId,
  version,
  event_id: eventId,
  url,
  host: new URL(url).host,
  body: Buffer.from(JSON.stringify({ event_id: eventId, type: 'succeeded', data: { id: taskId, version } })),
});
