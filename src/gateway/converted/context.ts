/** Types that the parts of a converted call share. */
import type { Account, Model } from '../../catalog/index.ts';
import type * as dialects from '../../dialects/index.ts';
import type { Capabilities } from '../../rules/index.ts';
import type { Admission } from '../billing/admission.ts';
import type { CallFacts } from '../billing/call-facts.ts';
import type { InputEstimate } from '../billing/request-tokens.ts';
import type { CallSource, GatewayServices } from '../services.ts';
import type { StoredHead } from '../stored/response-cache.ts';
import type { Tries } from '../try-ways.ts';
import type { ConvertedImages } from './image-usage.ts';
import type { MediaFetcher } from './inline-media.ts';
import type { OpaqueCache } from './opaque-cache.ts';
import type { RejectedOpaques } from './rejected-opaque.ts';

export interface ConvertedServices extends GatewayServices {
  readonly opaqueCache: OpaqueCache;
  readonly rejectedOpaques: RejectedOpaques;
  readonly mediaFetcher: MediaFetcher;
  /** A short keyed hash of an account. Clients carry it inside opaque values, so it must not reveal the account. */
  readonly accountTag: (accountId: string) => string;
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
  readonly request: dialects.HubRequest;
}

/** One converted call. The same for all its attempts and rounds. */
export interface CallContext extends CallSource {
  readonly services: ConvertedServices;
  readonly pair: dialects.Pair;
  readonly accounts: readonly Account[];
  readonly tries?: Tries | undefined;
  /** The request as the client sent it; the response repeats its settings. */
  readonly request: dialects.HubRequest;
  /** JSON text of the input items that the request adds, kept with a stored response. */
  readonly input: string;
  readonly previous?: StoredHead | undefined;
  readonly size: number;
  readonly model: Model;
  /** Of the request as the provider reads it: stored turns included. */
  readonly inputTokens: InputEstimate;
  readonly admission: Admission;
  readonly replyContext: dialects.ReplyContext;
  readonly images?: ConvertedImages;
  readonly sign: dialects.SignOpaque;
}

export interface EncodedFor {
  readonly encoded: dialects.ConvertedRequest;
  readonly model: string;
  /** Its JSON text; the bytes of it where the request is large. */
  readonly body: string | Buffer;
  readonly capabilities: Capabilities;
}
