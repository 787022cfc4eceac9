/** Types that the parts of a converted call share. */
import type { Account, Model } from '../../catalog/index.ts';
import type {
  ConvertedRequest,
  HubEvent,
  HubItem,
  HubRequest,
  HubUsage,
  JsonObject,
  Pair,
  ReplyContext,
  SignOpaque,
} from '../../dialects/index.ts';
import type { Call } from '../../platform/web/index.ts';
import type { Capabilities, InferenceOperation } from '../../rules/index.ts';
import type { Admission } from '../billing/admission.ts';
import type { CallFacts } from '../billing/call-facts.ts';
import type { InputEstimate } from '../billing/request-tokens.ts';
import type { Caller } from '../caller.ts';
import type { GatewayServices } from '../services.ts';
import type { StoredHead } from '../stored/response-cache.ts';
import type { Tries } from '../try-ways.ts';
import type { ResponseHandler } from '../upstream-call.ts';
import type { ConvertedImages } from './image-usage.ts';
import type { MediaFetcher } from './inline-media.ts';
import type { OpaqueCache } from './opaque-cache.ts';
import type { RejectedOpaques } from './rejected-opaque.ts';
import type { ReplyRounds } from './rounds.ts';

export interface ConvertedServices extends GatewayServices {
  readonly opaqueCache: OpaqueCache;
  readonly rejectedOpaques: RejectedOpaques;
  readonly mediaFetcher: MediaFetcher;
  /** A short keyed hash of an account. Clients carry it inside opaque values, so it must not reveal the account. */
  readonly accountTag: (accountId: string) => string;
  /** Key of the signatures of opaque values. */
  readonly opaqueKey: Buffer;
  readonly backgroundRuns: BackgroundRunner;
}

/** Makes background responses; see `src/gateway/background/`. */
export interface BackgroundRunner {
  /** Admits the call, responds to its client and continues without it. Rejects with the error for the client. */
  start(start: BackgroundStart): Promise<void>;
}
export interface BackgroundStart {
  readonly context: Omit<CallContext, 'admission' | 'tries'>;
  readonly facts: CallFacts;
  /** As providers get it. */
  readonly request: HubRequest;
}

/** One converted call. The same for all its attempts and rounds. */
export interface CallContext {
  readonly services: ConvertedServices;
  readonly call: Call;
  readonly caller: Caller;
  readonly operation: InferenceOperation;
  readonly pair: Pair;
  /** Those that speak the dialect of the provider's side. */
  readonly accounts: readonly Account[];
  /** Accounts of another dialect can take the call too. */
  readonly tries?: Tries | undefined;
  /** The request as the client sent it; the response repeats its settings. */
  readonly request: HubRequest;
  /** JSON text of the input items that the request adds, kept with a stored response. */
  readonly input: string;
  /** The stored response that it continues. */
  readonly previous?: StoredHead | undefined;
  /** Bytes of the request. A large one is encoded in a thread. */
  readonly size: number;
  readonly model: Model;
  /** Of the request as the provider reads it: stored turns included. */
  readonly inputTokens: InputEstimate;
  readonly admission: Admission;
  readonly replyContext: ReplyContext;
  /** Only where a request of the images API is converted. */
  readonly images?: ConvertedImages;
  /** Signs the opaque values of the reply for this caller. */
  readonly sign: SignOpaque;
}

/** A request as one account gets it. */
export interface EncodedFor {
  readonly encoded: ConvertedRequest;
  /** The account's name for the model. */
  readonly model: string;
  /** Its JSON text; the bytes of it where the request is large. */
  readonly body: string | Buffer;
  /** What the model is taken to accept. */
  readonly capabilities: Capabilities;
}

/** What the response of a round needs of its call. */
export interface RoundHost {
  readonly context: CallContext;
  readonly rounds: ReplyRounds;
  readonly client: ReplySink;
  /** What a round is charged by. */
  usageOf(round: MeteredRound): HubUsage;
  /** The reply is complete: charges all rounds and keeps what later turns refer to. Resolves when the charge is on disk. */
  complete(reply: CompletedReply): Promise<void>;
}

/** A round as far as it has come. */
export interface MeteredRound {
  readonly reported: HubUsage | undefined;
  readonly items: readonly HubItem[];
  /** Tokens of its visible output, estimated when they are needed. */
  readonly output: () => number;
  readonly isFinished: boolean;
}

export interface CompletedReply {
  /** Of all rounds. */
  readonly items: readonly HubItem[];
  readonly usage: HubUsage;
  readonly account: Account;
  /** The response object in the client's dialect. */
  readonly response: unknown;
}

/** The client's side of a reply, as the response of a round sees it; see `ClientReply`. */
export interface ReplySink {
  readonly isStarted: boolean;
  readonly finalResponse: JsonObject | undefined;
  start(encoded: EncodedFor): void;
  heartbeat(): void;
  push(event: HubEvent): void;
  flush(): boolean;
  end(): void;
  sendWhole(events: readonly HubEvent[], encoded: EncodedFor): Promise<void>;
}

/** `open`: the provider is sending. `paused`: it expects another round. `failed`: it sent an error or broke off. */
export type RoundState = 'open' | 'paused' | 'complete' | 'failed';

/** The response of one round while the provider sends it. */
export interface RoundResponse extends ResponseHandler {
  readonly account: Account;
  readonly state: RoundState;
  /** Resumes the upstream when the client reads again. */
  resume(): void;
  /** The model that the reply names. */
  readonly model?: string | undefined;
  /** What the provider has reported of an open round. */
  readonly reported?: HubUsage | undefined;
  /** Estimates the usage so far, for a client that disconnected; undefined when the client has received nothing of this round. */
  estimate(): HubUsage | undefined;
}
