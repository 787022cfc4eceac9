/** A native request after it was read, and what reading it needs. */
import type { Account, Model } from '../../catalog/index.ts';
import type { StreamedBody } from '../../core/index.ts';
import type { ChosenTier, Dialect, Feature, InferenceOperation } from '../../rules/index.ts';
import type { Spool } from '../../web/index.ts';
import type { GatewayServices } from '../services.ts';
import type { RequestedImages } from './images/usage.ts';

export interface NativeServices extends GatewayServices {
  /** Uploads on disk. */
  readonly spool: Spool;
}

export interface NativeRequest {
  /** Undefined for requests about a stored response. */
  readonly model?: Model;
  /** Bytes that the model reads as text. */
  readonly bytes: number;
  /** Tokens that the model may read beside them. */
  readonly mediaTokens?: number;
  readonly maxOutput?: number | undefined;
  readonly images?: RequestedImages;
  /** Fields that were removed from the body. */
  readonly dropped?: readonly string[];
  readonly tiers?: readonly ChosenTier[];
  readonly isStream: boolean;
  /** Only this account holds the stored response that the request refers to. */
  readonly accountId?: string | undefined;
  /** Only accounts with this feature may serve the request. */
  readonly feature?: Feature | undefined;
  pathFor(account: Account): string;
  bodyFor(account: Account): Buffer | StreamedBody | null;
}

export interface NativeTarget {
  readonly operation: InferenceOperation;
  readonly dialect: Dialect;
}
