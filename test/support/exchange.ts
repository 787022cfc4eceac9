/**
 * One call through the gateway without sockets or a database: the real path from the body to the usage record, a
 * provider that is a list of chunks, and a client that leaves after any of them.
 */
import { Catalog, type ModelLine } from '../../src/catalog/index.ts';
import { createSealer, silentLog, systemClock } from '../../src/core/index.ts';
import { Billing } from '../../src/gateway/billing/admission.ts';
import type { Caller } from '../../src/gateway/caller.ts';
import { OpaqueCache } from '../../src/gateway/converted/opaque-cache.ts';
import { RejectedOpaques } from '../../src/gateway/converted/rejected-opaque.ts';
import { ReadOn } from '../../src/gateway/read-on.ts';
import { RejectedOptions } from '../../src/gateway/rejected-options/rejected-options.ts';
import { serveCall } from '../../src/gateway/serve-call.ts';
import { ResponseStore } from '../../src/gateway/stored/store.ts';
import type { Metering, Reservation, UsageRecord } from '../../src/ledger/index.ts';
import { ThreadPool } from '../../src/platform/threads/index.ts';
import { Call, ClientStreams } from '../../src/platform/web/index.ts';
import { type Limiter, Pool } from '../../src/providers/pool/index.ts';
import type { UpstreamClient, UpstreamListener } from '../../src/providers/upstream/index.ts';
import {
  type Dialect,
  type InferenceOperation,
  inferenceRow,
  type Style,
  type UpstreamDialect,
} from '../../src/rules/index.ts';
import { FakeClock } from './fake-clock.ts';
import { accountAt, callerOf, groupOf, openFailoverServices, RecordingClient } from './upstream-call.ts';

export interface Exchange {
  readonly client: Dialect;
  readonly upstream: UpstreamDialect;
  readonly body: object;
  readonly isStream: boolean;
  /** What the provider sends, a chunk at a time. */
  readonly chunks: readonly (Buffer | string)[];
  /** The number of chunks after which the client leaves; undefined: it stays. */
  readonly leavesAfter?: number;
  /** Milliseconds that pass before each chunk. */
  readonly waits?: readonly number[];
}

export interface Outcome {
  readonly record: UsageRecord | undefined;
  readonly reserved: bigint;
  /** Chunks that the provider could send before the gateway aborted the request. */
  readonly sent: number;
  readonly received: string;
}

/** Nano-dollars of a token. */
export const RATES = { input: 1_000n, output: 10_000n } as const;
const LINE: ModelLine = {
  pattern: '*',
  upstream: null,
  overrides: {},
  id: 1n,
  learned: { abilities: {}, tiers: [] },
  context: null,
  maxOutput: null,
  isFree: false,
  fallback: [],
  prices: [{ id: 1n, from: 0, rates: { input: '1', output: '10' } }],
};
const STYLES: Readonly<Record<UpstreamDialect, Style>> = {
  converse: 'messages',
  messages: 'messages',
  chat: 'responses',
  responses: 'responses',
  generate: 'generate-content',
};
const PATHS: Readonly<Record<Dialect, string>> = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  generate: '/v1beta/models/m',
};

export async function runExchange(exchange: Exchange): Promise<Outcome> {
  const { client: from, upstream: to, isStream } = exchange;
  const style = STYLES[to];
  const writer = new RecordingClient();
  const accounts = [accountAt('http://provider.test', 'a', to)];
  const ledger = new RecordingLedger();
  // A provider that is read on for a second of real time would be given up when the machine is busy.
  const clock = new FakeClock();
  const provider = new ChunkProvider(exchange, () => writer.destroy(), clock);
  const services = {
    ...servicesFor(style, accounts, ledger, provider),
    clock,
    readOn: new ReadOn(clock, 5_000),
  };
  const operation: InferenceOperation =
    from === 'generate' ? (isStream ? 'generate.stream' : 'generate.create') : `${from}.create`;
  const call = new Call({
    id: 'req_law',
    operation,
    errorFormat: 'openai',
    request: { method: 'POST', headers: { 'content-type': 'application/json' }, rawHeaders: [] } as never,
    response: writer,
    params: { model: 'm' },
    path: from === 'generate' ? `${PATHS.generate}:${isStream ? 'streamG' : 'g'}enerateContent` : PATHS[from],
    query: isStream && from === 'generate' ? 'alt=sse' : '',
    address: '127.0.0.1',
    startedAt: clock.now(),
    clock,
  });
  const streaming = isStream && from !== 'generate' ? { stream: true } : {};
  call.body = Buffer.from(JSON.stringify({ ...exchange.body, ...streaming }));
  // A rejection is what the client would get as an error.
  await serveCall(services, { call, caller: callerFor(operation, style), operation }).catch(() => {});
  return { record: ledger.record, reserved: ledger.reserved, sent: provider.sent, received: writer.text };
}

/** Requests of generate-content keys reach the other styles as a fallback only. */
const callerFor = (operation: InferenceOperation, style: Style): Caller =>
  inferenceRow(operation).groups[style].kind === 'refuse'
    ? { ...callerOf(style), fallback: { line: 'group/m', model: { name: 'm', upstream: 'm', line: LINE } } }
    : callerOf(style);

class RecordingLedger {
  record: UsageRecord | undefined;
  reserved = 0n;

  readonly metering = {
    admit: (_user: string, nanos: bigint): Reservation => {
      this.reserved = nanos;
      return {
        settle: (record) => {
          if (this.record) throw new Error('charged twice');
          this.record = record;
        },
        release: () => {},
      };
    },
    checkSpend: () => {},
    recordFailed: ({ charge }: UsageRecord) => {
      if (charge !== 0n) throw new Error('a failed attempt was charged');
    },
    whenWrittenOrFailed: () => Promise.resolve(),
  } as unknown as Metering;
}

class ChunkProvider {
  sent = 0;
  readonly #exchange: Exchange;
  readonly #leave: () => void;
  readonly #clock: FakeClock;

  constructor(exchange: Exchange, leave: () => void, clock: FakeClock) {
    this.#exchange = exchange;
    this.#clock = clock;
    this.#leave = leave;
  }

  readonly upstream = {
    send: (_request: unknown, listener: UpstreamListener) => {
      const exchange = new AbortController();
      setImmediate(() => this.#feed(listener, exchange.signal));
      return { abort: () => exchange.abort(), resume: () => {} };
    },
  } as unknown as UpstreamClient;

  #feed(listener: UpstreamListener, signal: AbortSignal): void {
    const { chunks, leavesAfter, isStream, waits } = this.#exchange;
    listener.onHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    for (const [n, chunk] of chunks.entries()) {
      if (n === leavesAfter) this.#leave();
      this.#clock.advance(waits?.[n] ?? 0);
      if (signal.aborted) return;
      listener.onData(Buffer.from(chunk as string));
      this.sent += 1;
    }
    if (leavesAfter === chunks.length) this.#leave();
    if (!signal.aborted) listener.onEnd();
  }
}

const THREADS = new ThreadPool({ clock: systemClock });

function servicesFor(
  style: Style,
  accounts: ReturnType<typeof accountAt>[],
  { metering }: RecordingLedger,
  { upstream }: ChunkProvider,
): Parameters<typeof serveCall>[0] {
  const clock = systemClock;
  const catalog = new Catalog([groupOf(style)], accounts, new Map([['group', [LINE]]]));
  const limiter = { count: () => {} } as unknown as Limiter;
  const unused = {} as never;
  const failover = failoverOf(style, accounts);
  return {
    ...failover,
    log: silentLog,
    upstream,
    catalog: () => catalog,
    billing: new Billing({ metering, limiter, pool: failover.pool, clock, lessons: { learn: () => {} } }),
    bodyLimit: () => 2 ** 26,
    clientStreams: new ClientStreams(clock, { heartbeatMs: 15_000, stalledMs: 60_000 }),
    files: unused,
    conversations: unused,
    objects: unused,
    store: new ResponseStore({ db: unused, sealer: SEALER, clock, log: silentLog, days: 0 }),
    opaqueCache: new OpaqueCache(clock),
    rejectedOpaques: new RejectedOpaques(clock),
    rejectedOptions: new RejectedOptions(),
    threads: THREADS,
    mediaFetcher: { fetch: async () => ({ ok: false, message: 'not in this test' }) },
    accountTag: (id) => `tag-${id}`,
    opaqueKey: Buffer.alloc(32),
    background: unused,
    backgroundRuns: unused,
    spool: unused,
  };
}

/** Opened once for each style: a client of the network costs more than all the rest of a call. */
const failovers = new Map<Style, ReturnType<typeof openFailoverServices>>();
function failoverOf(style: Style, accounts: ReturnType<typeof accountAt>[]) {
  const known = failovers.get(style) ?? openFailoverServices(style, accounts);
  failovers.set(style, known);
  return { ...known, pool: new Pool(systemClock) };
}

const SEALER = createSealer([['k1', 'test-master-key-'.repeat(3)]]);
