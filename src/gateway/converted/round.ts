/** One round of a converted reply: what its response reports, and to whom. */
import type { Account } from '../../catalog/index.ts';
import type { HubItem, HubUsage } from '../../dialects/index.ts';
import type { ResponseHandler } from '../upstream-call.ts';
import type { ClientReply } from './client-reply.ts';
import type { CallContext } from './context.ts';
import type { ReplyRounds } from './rounds.ts';

export interface RoundHost {
  readonly context: CallContext;
  readonly rounds: ReplyRounds;
  readonly client: ClientReply;
  usageOf(round: MeteredRound): HubUsage;
  /**
   * The reply is complete: charges all rounds and keeps what later turns refer to. Resolves when the charge is on disk.
   */
  complete(reply: CompletedReply): Promise<void>;
}

export interface MeteredRound {
  readonly reported: HubUsage | undefined;
  readonly items: readonly HubItem[];
  readonly output: () => number;
  readonly isFinished: boolean;
}

export interface CompletedReply {
  readonly items: readonly HubItem[];
  readonly usage: HubUsage;
  readonly account: Account;
  readonly response: unknown;
}

/** `open`: the provider is sending. `paused`: it expects another round. `failed`: it sent an error or broke off. */
export type RoundState = 'open' | 'paused' | 'complete' | 'failed';

export interface RoundResponse extends ResponseHandler {
  readonly account: Account;
  readonly state: RoundState;
  resume(): void;
  readonly model?: string | undefined;
  readonly reported?: HubUsage | undefined;
  /**
   * Estimates the usage so far, for a client that disconnected;
   * undefined when the client has received nothing of this round.
   */
  estimate(): HubUsage | undefined;
  /** Of a round that failed: what the provider reported or made. Undefined for nothing. */
  readonly failedUsage: HubUsage | undefined;
}
