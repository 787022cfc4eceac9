/** The gateway: its services bound once, and the ways a call can take through it. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Key, openKeyGrant, sealKeyGrant } from '../access/keys/index.ts';
import { LineLessons } from '../catalog/index.ts';
import { RecentMap } from '../core/index.ts';
import { balanceReport } from '../ledger/index.ts';
import type { StoreServices } from '../platform/db/index.ts';
import * as web from '../platform/web/index.ts';
import { AccountQueue, acquireSlot, RetryBudget } from '../providers/pool/index.ts';
import { FILES, type InferenceOperation, WEBSOCKET } from '../rules/index.ts';
import { createBackground } from './background/background.ts';
import { BackgroundRuns, type Followed } from './background/runs.ts';
import { BatchStore } from './batches/batch-store.ts';
import { BatchWorker } from './batches/batch-worker.ts';
import { ProviderBatches } from './batches/provider/provider-batches.ts';
import { Billing, type BillingServices } from './billing/admission.ts';
import type { Caller } from './caller.ts';
import { type ChosenGroup, chooseGroup } from './choose-group.ts';
import { ConversationStore, type ItemRange } from './conversations/conversation-store.ts';
import { addItems, createConversation } from './conversations/given.ts';
import { readItems } from './conversations/read-items.ts';
import type { ConvertedServices } from './converted/context.ts';
import { convertImages, type ImageConversion } from './converted/convert-images.ts';
import { type Count, TokenCounter } from './converted/count-tokens.ts';
import { OpaqueCache } from './converted/opaque-cache.ts';
import { RejectedOpaques } from './converted/rejected-opaque.ts';
import { readStored, type StoredForm } from './converted/stored-reading.ts';
import { type ExplainedCall, explainCall } from './explain/explain.ts';
import { FileStore, type StoredFile } from './files/file-store.ts';
import { sendFileContent } from './files/send-content.ts';
import { receiveBytes, receiveForm } from './files/upload.ts';
import { ModelListing } from './models/listing.ts';
import { KeptPrompts } from './native/kept-prompts.ts';
import { deleteAtProvider } from './objects/delete-at-provider.ts';
import { heldByPath } from './objects/held-object.ts';
import { ObjectStore } from './objects/object-store.ts';
import { testAccount } from './probe.ts';
import { ReadOn } from './read-on.ts';
import { RejectedOptions } from './rejected-options/rejected-options.ts';
import { serveCall } from './serve-call.ts';
import { type GatewayServices, readJsonBody } from './services.ts';
import { ResponseStore } from './stored/store.ts';
import { openSession } from './websocket/open-session.ts';
import { ResponsesSessions, type SessionDrain } from './websocket/session.ts';
import type { OpenedSession, SessionHost } from './websocket/turn.ts';

export interface GatewayOptions
  extends Pick<GatewayServices, 'bodyLimit' | 'catalog' | 'samplesReplies' | 'threads' | 'upstream'>,
    Pick<ConvertedServices, 'accountTag' | 'mediaFetcher' | 'opaqueKey'>,
    Omit<BillingServices, 'lessons'>,
    StoreServices {
  readonly streamLimits: web.ClientStreamLimits;
  /** Days that stored responses are kept; 0 keeps them in the memory of this replica only. */
  readonly storedDays: number;
  /** Days that uploaded files are kept; 0 takes none. */
  readonly fileDays: number;
  readonly spool: web.Spool;
  readonly bodyBudget: web.BodyBudget;
  readonly keptPromptBytes: number;
  /** The longest wait for a slot while all accounts are full; 0 refuses at once. */
  readonly accountQueueMs: number;
  /** How long a provider has to report the usage of a finished reply whose client is gone. */
  readonly usageWaitMs: number;
}

const uploadLocation = (fileId: string) => `files.upload:${fileId}` as const;

export type Gateway = ReturnType<typeof createGateway>;

export function createGateway(options: GatewayOptions) {
  const { clock, catalog, limiter, pool } = options;
  const store = new ResponseStore({ ...options, days: options.storedDays });
  const files = new FileStore({ ...options, days: options.fileDays });
  const objects = new ObjectStore(options);
  const conversations = new ConversationStore({ ...options, days: options.storedDays });
  const billing = new Billing({ ...options, lessons: new LineLessons(options) });
  const balance = (userId: string) => balanceReport(options.db, userId);
  const background = createBackground({ ...options, store });
  const backgroundRuns = new BackgroundRuns({ ...options, store });
  const services = {
    ...options,
    store,
    files,
    objects,
    conversations,
    accountQueue: new AccountQueue({ clock, pool, waitMs: options.accountQueueMs }),
    retryBudget: new RetryBudget(clock),
    readOn: new ReadOn(clock, options.usageWaitMs),
    billing,
    clientStreams: new web.ClientStreams(clock, options.streamLimits),
    opaqueCache: new OpaqueCache(clock),
    rejectedOpaques: new RejectedOpaques(clock),
    rejectedOptions: new RejectedOptions(),
    refusedSockets: new RecentMap<string, true>({ entries: 1_000, lifetime: { clock, ms: WEBSOCKET.upgradeRetryMs } }),
    keptPrompts: new KeptPrompts({ ...options, maxBytes: options.keptPromptBytes }),
    background,
    backgroundRuns,
  };
  const batches = new BatchStore(services);
  const batchWorker = new BatchWorker(services);
  const uploads = { spool: options.spool, maxBytes: options.bodyLimit('image') };
  const counter = new TokenCounter(services);
  const listing = new ModelListing(options.upstream, clock);
  const sessions = new ResponsesSessions();
  const serve = (call: web.Call, { caller, parts }: ChosenGroup, operation: InferenceOperation) =>
    serveCall(services, { call, caller, operation }, parts);
  return {
    catalog,
    store,
    files,
    objects,
    conversations,
    /** Where the object is held that the path of a request names. */
    heldByPath: (call: web.Call, { key }: Caller) => heldByPath(services, call, key.userId),
    createConversation: (call: web.Call, caller: Caller) => createConversation(services, call, caller),
    addItems: (call: web.Call, caller: Caller) => addItems(services, call, caller),
    readItems: (call: web.Call, caller: Caller, range: ItemRange) => readItems(services, call, caller, range),
    batches,
    /** Of every process that serves calls. */
    batchWorker,
    batchJobs: [batchWorker.job, ...new ProviderBatches(services).jobs],
    /** The JSON body of an operation that the gateway responds to itself. */
    readJson: (call: web.Call, operation: InferenceOperation) => readJsonBody(options.bodyLimit, { call, operation }),
    jobs: background.jobs,
    eraseUser: background.eraseUser,
    deleteAtProvider: (object: { readonly userId: string; readonly id: string }) => deleteAtProvider(services, object),
    acquireSlot: (call: web.Call, caller: Caller) => acquireSlot(limiter, call, caller.key),
    chooseGroup: (call: web.Call, caller: Caller, operation: InferenceOperation) =>
      chooseGroup(services, { call, caller, operation }),
    serve,
    receiveFileForm: (call: web.Call) => receiveForm(uploads, call),
    /** The rest of an upload needs its link alone: clients send the pieces without their key. */
    uploadLink: (id: string, { key }: Caller) =>
      `/public/uploads/${id}?link=${sealKeyGrant(options, uploadLocation(id), key, FILES.uploadHours * 3_600)}`,
    uploadKey: (id: string, link: string) => openKeyGrant(options, uploadLocation(id), link),
    receiveFileBytes: (call: web.Call) => receiveBytes(uploads, call),
    sendFileContent: (call: web.Call, file: StoredFile) => sendFileContent(services, call, file),
    convertImages: (call: web.Call, caller: Caller, conversion: ImageConversion) =>
      convertImages(services, call, caller, conversion),
    countTokens: (call: web.Call, caller: Caller, count: Count) => counter.count(call, caller, count),
    countNative: (call: web.Call, chosen: ChosenGroup, count: Count) =>
      counter.countNative(call, chosen.caller, count, () => serve(call, chosen, count.operation)),
    listModels: (key: Key) => listing.list(catalog(), key),
    /** The model that a call with this name uses, listed or not. */
    findModel: (key: Key, name: string) => listing.find(catalog(), key, name),
    openSession(socket: web.WebSocketConnection, opened: OpenedSession, host: SessionHost): void {
      const session = openSession({ ...services, ...host }, socket, opened);
      sessions.add(session);
      socket.onClose(() => sessions.delete(session));
    },
    rejectedOptions: () => services.rejectedOptions.counts(),
    /** Calls that wait for a slot, and further attempts that were refused since the start of the process. */
    pressure: () => ({ queued: services.accountQueue.lengths(), retriesRefused: services.retryBudget.refused }),
    testAccount: (accountId: string, model: string | undefined) => testAccount(services, accountId, model),
    explain: (asked: ExplainedCall) =>
      explainCall({ ...services, balance, checkSpend: (caller, nanos) => billing.checkSpend(caller, nanos) }, asked),
    /** Streams a background response that the gateway makes itself, after the event of that number. */
    followBackground: (call: web.Call, followed: Followed) =>
      backgroundRuns.follow(call, services.clientStreams, followed),
    readStored: (call: web.Call, caller: Caller, form: StoredForm) => readStored(services, call, caller, form),
    /** Ends such a response, on whichever process it runs, and returns it. */
    cancelBackground: (id: string, userId: string) => backgroundRuns.cancel(id, userId),
    /** Asks the WebSocket sessions to close: those that are open, and those that clients still open. */
    drainSessions: (times: SessionDrain) => sessions.drainAll(times),
    /**
     * Lets background responses that this process makes end within the time; the others fail.
     * New ones come until `closed`.
     */
    drainBackground: (withinMs: number, closed: Promise<void>) => backgroundRuns.drain(withinMs, closed),
    /** Waits for no usage reports any more, and writes what waits to be stored. */
    async flush(): Promise<void> {
      services.readOn.endAll();
      // The calls charge what they know.
      await nextTurn();
      await store.flush();
    },
  };
}
