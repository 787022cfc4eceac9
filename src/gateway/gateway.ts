/** The gateway: its services bound once, and the ways a call can take through it. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Catalog } from '../catalog/index.ts';
import type { Clock, Log, Sealer } from '../core/index.ts';
import { balanceReport, type Metering } from '../ledger/index.ts';
import type { Db } from '../platform/db/index.ts';
import type { Threads } from '../platform/threads/index.ts';
import {
  type BodyBudget,
  type Call,
  type ClientStreamLimits,
  ClientStreams,
  type Spool,
  type WebSocketConnection,
} from '../platform/web/index.ts';
import { AccountQueue, acquireSlot, type Limiter, type Pool, RetryBudget } from '../providers/pool/index.ts';
import type { UpstreamClient } from '../providers/upstream/index.ts';
import type { BodyClass, InferenceOperation } from '../rules/index.ts';
import { testAccount } from './account-test.ts';
import { createBackground } from './background/background.ts';
import { BackgroundRuns, type Followed } from './background/runs.ts';
import { Billing } from './billing/admission.ts';
import type { Caller } from './caller.ts';
import { convertImages, type ImageConversion } from './converted/convert-images.ts';
import { type Count, TokenCounter } from './converted/count-tokens.ts';
import type { MediaFetcher } from './converted/inline-media.ts';
import { OpaqueCache } from './converted/opaque-cache.ts';
import { RejectedOpaques } from './converted/rejected-opaque.ts';
import { readStored, type StoredForm, type StoredReading } from './converted/stored-reading.ts';
import { type ExplainedCall, explainCall } from './explain/explain.ts';
import { ModelListing } from './models/listing.ts';
import { KeptPrompts } from './native/kept-prompts.ts';
import { ReadOn } from './read-on.ts';
import { RejectedOptions } from './rejected-options/rejected-options.ts';
import { serveCall } from './serve-call.ts';
import { ResponseStore } from './stored/store.ts';
import { openSession } from './websocket/open-session.ts';
import { ResponsesSessions, type SessionDrain } from './websocket/session.ts';
import type { OpenedSession, SessionHost } from './websocket/turn.ts';
import { UpgradeRejections } from './websocket/upgrade-rejections.ts';

export interface GatewayOptions {
  readonly db: Db;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly log: Log;
  readonly upstream: UpstreamClient;
  readonly catalog: () => Catalog;
  readonly limiter: Limiter;
  readonly pool: Pool;
  readonly metering: Metering;
  readonly mediaFetcher: MediaFetcher;
  readonly streamLimits: ClientStreamLimits;
  /** Days that stored responses are kept; 0 keeps them in the memory of this replica only. */
  readonly storedDays: number;
  readonly bodyLimit: (limit: BodyClass) => number;
  readonly spool: Spool;
  readonly bodyBudget: BodyBudget;
  /** Of prompts that are kept for the next turns. */
  readonly keptPromptBytes: number;
  readonly threads: Threads;
  readonly accountTag: (accountId: string) => string;
  /** Key of the signatures of opaque values. */
  readonly opaqueKey: Buffer;
  /** The longest wait for a slot while all accounts are full; 0 refuses at once. */
  readonly accountQueueMs: number;
  /** How long a provider has to report the usage of a finished reply whose client is gone. */
  readonly usageWaitMs: number;
  /** Whether traces are exported. */
  readonly samplesReplies?: boolean | undefined;
}

export type Gateway = ReturnType<typeof createGateway>;

export function createGateway(options: GatewayOptions) {
  const { clock, catalog, limiter, pool } = options;
  const store = new ResponseStore({ ...options, days: options.storedDays });
  const background = createBackground({ ...options, store });
  const backgroundRuns = new BackgroundRuns({ ...options, store });
  const services = {
    ...options,
    store,
    accountQueue: new AccountQueue({ clock, pool, waitMs: options.accountQueueMs }),
    retryBudget: new RetryBudget(clock),
    readOn: new ReadOn(clock, options.usageWaitMs),
    billing: new Billing(options),
    clientStreams: new ClientStreams(clock, options.streamLimits),
    opaqueCache: new OpaqueCache(clock),
    rejectedOpaques: new RejectedOpaques(clock),
    rejectedOptions: new RejectedOptions(),
    rejections: new UpgradeRejections(clock),
    keptPrompts: new KeptPrompts({ ...options, maxBytes: options.keptPromptBytes }),
    background,
    backgroundRuns,
  };
  const counter = new TokenCounter(services);
  const listing = new ModelListing(options.upstream, clock);
  const sessions = new ResponsesSessions();
  const serve = (call: Call, caller: Caller, operation: InferenceOperation): Promise<void> =>
    serveCall(services, call, caller, operation);
  return {
    catalog,
    store,
    /** Jobs of a worker. */
    jobs: background.jobs,
    eraseUser: background.eraseUser,
    /** Counts the call against the limits of its key and user. */
    acquireSlot: (call: Call, caller: Caller) => acquireSlot(limiter, call, caller.key),
    /** Native or converted, as the accounts of the group speak. */
    serve,
    convertImages: (call: Call, caller: Caller, conversion: ImageConversion): Promise<void> =>
      convertImages(services, call, caller, conversion),
    countTokens: (call: Call, caller: Caller, count: Count): Promise<void> => counter.count(call, caller, count),
    /** Counts a request in the group's own dialect. */
    countNative: (call: Call, caller: Caller, count: Count): Promise<void> =>
      counter.countNative(call, caller, count, () => serve(call, caller, count.operation)),
    listModels: (caller: Caller) => listing.list(catalog(), caller),
    /** The model that a call with this name uses, listed or not. */
    findModel: (caller: Caller, name: string) => listing.find(catalog(), caller, name),
    openSession(socket: WebSocketConnection, opened: OpenedSession, host: SessionHost): void {
      const session = openSession({ ...services, ...host }, socket, opened);
      sessions.add(session);
      socket.onClose(() => sessions.delete(session));
    },
    /** Requests that were sent again without an option of the gateway, since the start of the process. */
    rejectedOptions: () => services.rejectedOptions.counts(),
    /** Calls that wait for a slot, and further attempts that were refused since the start of the process. */
    pressure: () => ({ queued: services.accountQueue.lengths(), retriesRefused: services.retryBudget.refused }),
    /** Sends one small request with the account, whatever its state. `model` is a name of its group's catalog. */
    testAccount: (accountId: string, model: string | undefined) => testAccount(services, accountId, model),
    /** The plan of a call that is not sent. */
    explain: (asked: ExplainedCall) =>
      explainCall(
        {
          ...services,
          balance: (userId) => balanceReport(options.db, userId),
          checkSpend: (caller, nanos) => services.billing.checkSpend(caller, nanos),
        },
        asked,
      ),
    /** Streams a background response that the gateway makes itself, after the event of that number. */
    followBackground: (call: Call, followed: Followed): Promise<void> =>
      backgroundRuns.follow(call, services.clientStreams, followed),
    /** The stored response that the path names, where we hold its content, as its reader asks for it. */
    readStored: (call: Call, caller: Caller, form: StoredForm): Promise<StoredReading> =>
      readStored(services, call, caller, form),
    /** Ends such a response, on whichever process it runs, and returns it. */
    cancelBackground: (id: string, userId: string) => backgroundRuns.cancel(id, userId),
    /** Asks the WebSocket sessions to close: those that are open, and those that clients still open. */
    drainSessions: (times: SessionDrain): void => sessions.drainAll(times),
    /** Lets background responses that this process makes end within the time; the others fail. New ones come until `closed`. */
    drainBackground: (withinMs: number, closed: Promise<void>): Promise<void> => backgroundRuns.drain(withinMs, closed),
    /** Waits for no usage reports any more, and writes what waits to be stored. */
    async flush(): Promise<void> {
      services.readOn.endAll();
      // The calls charge what they know.
      await nextTurn();
      await store.flush();
    },
  };
}
