/**
 * Parts of an upstream call for unit tests in src/gateway: a scripted provider, a recording client and a recording
 * admission.
 */
import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Account, Catalog, type Group, type Model } from '../../src/catalog/index.ts';
import { type Clock, createLog, type LogFields, systemClock } from '../../src/core/index.ts';
import type { HubUsage } from '../../src/dialects/index.ts';
import type { Admission, FailedBy } from '../../src/gateway/billing/admission.ts';
import type { Caller } from '../../src/gateway/caller.ts';
import { ReadOn } from '../../src/gateway/read-on.ts';
import type { IncomingRequest } from '../../src/platform/http/index.ts';
import { Call, type ResponseWriter } from '../../src/platform/web/index.ts';
import { AccountQueue, Pool, RetryBudget } from '../../src/providers/pool/index.ts';
import { UpstreamClient } from '../../src/providers/upstream/index.ts';
import type { Style } from '../../src/rules/index.ts';

/** What the provider does with one request; the account is known by its credential. */
export type ProviderStep = (response: ServerResponse, accountId: string) => void;

export interface ScriptedProvider {
  readonly url: string;
  /** The accounts in the order in which they were called. */
  readonly calls: string[];
  /** Bodies in the order in which they arrived. */
  readonly bodies: Record<string, unknown>[];
  /** One step for each of the following requests. */
  script(...steps: ProviderStep[]): void;
  close(): Promise<void>;
}

export async function startProvider(): Promise<ScriptedProvider> {
  const calls: string[] = [];
  const bodies: Record<string, unknown>[] = [];
  let steps: ProviderStep[] = [];
  const server = createServer(async (request, response) => {
    const accountId = String(request.headers['x-api-key'] ?? request.headers.authorization).replace(/^.*sk-/, '');
    const chunks = await request.toArray();
    calls.push(accountId);
    bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
    steps.shift()?.(response, accountId);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    bodies,
    script(...next) {
      steps = next;
      calls.length = 0;
      bodies.length = 0;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export const respondJson =
  (status: number, body: object): ProviderStep =>
  (response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

/** A client that records what it receives. With `isTurn` it takes events as a WebSocket turn does. */
export class RecordingClient extends EventEmitter implements ResponseWriter {
  statusCode = 200;
  headersSent = false;
  writableEnded = false;
  writableFinished = false;
  destroyed = false;
  readonly heads: Readonly<Record<string, string | number>>[] = [];
  readonly events: string[] = [];
  text = '';
  readonly writeEvent?: (json: string) => boolean;

  constructor({ isTurn = false } = {}) {
    super();
    if (isTurn) this.writeEvent = (json) => this.events.push(json) > 0;
  }

  writeHead(status: number, headers: Readonly<Record<string, string | number>>): void {
    this.statusCode = status;
    this.headersSent = true;
    this.heads.push(headers);
  }

  flushHeaders(): void {}

  write(chunk: Buffer | string): boolean {
    this.text += chunk.toString();
    this.emit('received');
    return true;
  }

  end(chunk?: Buffer | string): void {
    this.text += chunk?.toString() ?? '';
    this.writableEnded = true;
    this.writableFinished = true;
    this.emit('close');
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

/** An admission that records its charges. */
export class RecordingAdmission implements Admission {
  readonly charges: { readonly usage: HubUsage; readonly accountId: string }[] = [];
  readonly failed: { readonly usage: HubUsage; readonly accountId: string; readonly fault: string }[] = [];

  settle(usage: HubUsage, { account }: { account: { id: string } }): void {
    this.charges.push({ usage, accountId: account.id });
  }

  bookFailed(usage: HubUsage, { account, fault }: FailedBy): void {
    this.failed.push({ usage, accountId: account.id, fault });
  }

  release(): void {}

  flushed(): Promise<void> {
    return Promise.resolve();
  }
}

export function callFor(response: ResponseWriter): Call {
  return new Call({
    id: 'req_test',
    operation: 'responses.create',
    errorFormat: 'openai',
    request: { headers: {}, rawHeaders: [] } as unknown as IncomingRequest,
    response,
    params: {},
    path: '/v1/responses',
    query: '',
    address: '127.0.0.1',
    startedAt: 0,
  });
}

export const accountAt = (url: string, id: string, feature: string): Account => ({
  id,
  groupId: 'group',
  baseUrl: url,
  credential: `sk-${id}`,
  weight: 1,
  // In the order of their ids.
  priority: id.charCodeAt(0),
  maxConcurrency: 8,
  adapter: 'ark',
  features: new Set([feature]),
  models: new Map(),
  resultHosts: [],
});

export const groupOf = (style: Style): Group & { style: Style } => ({
  id: 'group',
  style,
  variant: null,
  name: 'group',
  multiplierPpm: 1_000_000n,
  unknownMembers: 'bound',
});

export const MODEL: Model = {
  name: 'demo-model',
  upstream: 'demo-model',
  line: {
    pattern: 'demo-model',
    upstream: null,
    overrides: {},
    id: 1n,
    learned: { abilities: {}, tiers: [] },
    context: null,
    maxOutput: null,
    isFree: true,
    fallback: [],
    prices: [],
  },
};

export const callerOf = (style: Style): Caller => ({
  group: groupOf(style),
  key: {
    id: 'key_1',
    spendId: 'key_1',
    userId: 'ana',
    groups: ['group'],
    prefer: 'order',
    name: 'test',
    videoGroups: null,
    allowedModels: null,
    allowedAddresses: null,
    limits: undefined,
    userLimits: undefined,
    videoCreates: null,
    hasEndUsers: false,
    expiresAt: null,
    store: true,
    autoCache: true,
    captureUntil: null,
    userMultiplierPpm: 1_000_000n,
  },
});

/** The services of a failover, with the log in memory. */
export function openFailoverServices(style: Style, accounts: readonly Account[], clock: Clock = systemClock) {
  const lines: (LogFields & { msg: string })[] = [];
  const log = createLog('debug', { write: (line) => void lines.push(JSON.parse(line)) });
  const upstream = new UpstreamClient(systemClock);
  const catalog = new Catalog([groupOf(style)], accounts, new Map());
  const pool = new Pool(clock);
  const accountQueue = new AccountQueue({ clock, pool, waitMs: 0 });
  return {
    lines,
    log,
    upstream,
    clock,
    pool,
    accountQueue,
    retryBudget: new RetryBudget(clock),
    readOn: new ReadOn(clock, 1_000),
    catalog: () => catalog,
  };
}
