/** A native request after it was read, and what reading it needs. */
import type { Account, Model } from '../../catalog/index.ts';
import type { StreamedBody } from '../../http/index.ts';
import type { ChosenTier, Dialect, Feature, InferenceOperation } from '../../rules/index.ts';
import type { Spool } from '../../web/index.ts';
import type { CallFacts } from '../billing/admission.ts';
import type { GatewayServices } from '../services.ts';
import type { RequestedImages } from './images/usage.ts';

export interface NativeServices extends GatewayServices {
  /** Uploads on disk. */
  readonly spool: Spool;
}

/** The most that a request makes a provider read and write. */
export type RequestBounds = Pick<
  CallFacts,
  'bodyBytes' | 'inputImages' | 'moreInput' | 'readsWholeContext' | 'maxSearches' | 'maxOutput' | 'moreOutput'
>;

export interface NativeRequest {
  /** Undefined for requests about a stored response. */
  readonly model?: Model;
  /** Size of the body, for the estimate where the provider reports no usage. */
  readonly bytes: number;
  /** What the request may cost, for admission. */
  readonly bounds: RequestBounds;
  readonly images?: RequestedImages;
  /** Fields that were removed from the body. */
  readonly dropped?: readonly string[];
  readonly tiers?: readonly ChosenTier[];
  readonly isStream: boolean;
  /** The content type of a response that names none: events where the request asks for them. */
  readonly streamType?: string | undefined;
  /** The gateway asks for usage that the client did not ask for. */
  readonly hidesUsage?: boolean;
  /** Only this account holds the stored response that the request refers to. */
  readonly accountId?: string | undefined;
  /** Only accounts with this feature may serve the request. */
  readonly feature?: Feature | undefined;
  pathFor(account: Account): string;
  /** `asksForUsage`: with the option that the gateway adds where the request hides usage. */
  bodyFor(account: Account, asksForUsage: boolean): Buffer | StreamedBody | null;
}

export interface NativeTarget {
  readonly operation: InferenceOperation;
  readonly dialect: Dialect;
}
