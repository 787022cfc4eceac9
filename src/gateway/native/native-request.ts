/** A native request after it was read, and what reading it needs. */
import type { MaybePromise, SpanChange } from '../../core/index.ts';
import type { HubUsage } from '../../dialects/index.ts';
import type { Tx } from '../../platform/db/index.ts';
import type { StreamedBody } from '../../platform/http/index.ts';
import type { Call, Spool } from '../../platform/web/index.ts';
import type { ChosenTier, Dialect, InferenceOperation } from '../../rules/index.ts';
import type { Billing } from '../billing/admission.ts';
import type { BodyFacts, CallFacts } from '../billing/call-facts.ts';
import type { InputEstimate } from '../billing/request-tokens.ts';
import type { Caller } from '../caller.ts';
import type { Keeping } from '../objects/cached-content.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { PlannedRequest } from '../plan.ts';
import type { CallSource, GatewayServices } from '../services.ts';
import type { HeldResponse } from '../stored/held-response.ts';
import type { RequestedImages } from './images/usage.ts';
import type { KeptPrompts } from './kept-prompts.ts';
import type { PlacedModel } from './named-models.ts';

export interface BackgroundStarter {
  /** Sets the maximum cost aside. Throws when the balance or a spend limit does not cover it. */
  begin(input: BackgroundInput): Promise<BackgroundCall>;
  /** Charges a response that has ended before its provider forgets it; throws when it is still running. */
  endBeforeDelete(responseId: string, userId: string): Promise<void>;
  checkSoon(responseId: string, userId: string): Promise<void>;
}
export interface BackgroundInput {
  readonly call: Call;
  readonly caller: Caller;
  readonly billing: Billing;
  readonly facts: CallFacts;
  readonly inputTokens: number;
}
export interface BackgroundCall {
  readonly isAccepted: boolean;
  /** Resolves when what was accepted is in the database. */
  readonly recorded: Promise<void>;
  /** The provider works on the response; from here on it is followed. */
  accepted(responseId: string, accountId: string): void;
  /** Charged and recorded in one transaction, before the client has the reply. */
  keep(object: MadeObject, accountId: string): void;
  /**
   * The call is over. What was not accepted costs nothing,
   * or what is `lost`: sent, but its client did not wait for the id.
   */
  end(lost: LostCall | undefined): Promise<void>;
}
export interface LostCall {
  readonly usage: HubUsage;
  readonly accountId: string;
  readonly operation?: InferenceOperation;
}

/** What a call leaves at the provider. */
export interface MadeObject {
  readonly operation: InferenceOperation;
  readonly usage: HubUsage;
  record(tx: Tx): Promise<void>;
}

export interface NativeServices extends GatewayServices {
  readonly background: BackgroundStarter;
  readonly objects: ObjectStore;
  readonly spool: Spool;
  /** Without it, every request is scanned from its beginning. */
  readonly keptPrompts?: KeptPrompts;
}

export type NativeReadServices = Pick<
  NativeServices,
  'bodyLimit' | 'catalog' | 'clock' | 'keptPrompts' | 'objects' | 'spool' | 'store' | 'threads'
>;

/** A native request as it was read. Nothing of it depends on a group. */
export interface NativeRequest {
  /** As the request names it; undefined for requests about a stored response. */
  readonly model: unknown;
  /** For the charge where the provider reports no usage. */
  readonly inputTokens: InputEstimate;
  /** The same, counted in a thread where the request is large: for the row of a background response. */
  readonly heldTokens?: () => Promise<number>;
  readonly bounds: BodyFacts;
  readonly images?: RequestedImages;
  /** The response has the form of another dialect than the request. */
  readonly repliesAs?: Dialect;
  /** Of a request that is charged by its searches alone. */
  readonly searches?: number;
  readonly dropped?: readonly string[];
  readonly tiers?: readonly ChosenTier[];
  readonly named?: readonly PlacedModel[];
  readonly isStream: boolean;
  /** The provider responds at once and works on. */
  readonly isBackground?: boolean;
  /** The content type of a response that names none: events where the request asks for them. */
  readonly streamType?: string | undefined;
  /** The gateway asks for usage that the client did not ask for. */
  readonly hidesUsage?: boolean;
  readonly session?: string | undefined;
  readonly held?: HeldResponse | undefined;
  readonly objectsOf?: PlannedRequest['objectsOf'];
  /** Once, on one account, because the provider keeps and bills what it makes of it. */
  readonly keeps?: Keeping | undefined;
  /** After the provider has deleted what the path names, before the client knows it. */
  forget?(): Promise<void>;
  /** The same request without opaque values, after a provider rejected one. Undefined when it has none. */
  withoutOpaque?(): MaybePromise<NativeRequest> | undefined;
  pathFor(model: string): string;
  /**
   * `asksForUsage`: with our option where the request hides usage.
   * `renames`: names of other models, by their spans in `named`.
   */
  bodyFor(model: string, asksForUsage: boolean, renames?: readonly SpanChange[]): Buffer | StreamedBody | null;
}

export interface NativeSource extends CallSource {
  readonly dialect: Dialect;
  /** The JSON of the request. Without a promise when it has arrived already. */
  body(): MaybePromise<Buffer>;
}
