/**
 * The rounds of one reply. A provider may pause and expect the same request with its output so far;
 * the client sees one reply, with usage added up.
 */
import type { Account } from '../../catalog/index.ts';
import type { HubEvent, HubItem, HubReply, HubRequest, HubStop, HubUsage } from '../../dialects/index.ts';
import { sumUsage } from '../billing/usage.ts';

/** How often the provider may stop before its reply is complete; one more stop ends the reply. */
const MAX_STOPS: Partial<Record<HubStop, number>> = { pause: 4, continuation: 3 };

export interface RoundEnd {
  readonly stop: HubStop;
  readonly continuationToken?: string;
  readonly items: readonly HubItem[];
  readonly omitted?: readonly string[];
  readonly usage: HubUsage;
  readonly account: Account;
}

export class ReplyRounds {
  #items: readonly HubItem[] = [];
  #omitted: readonly string[] = [];
  #usage: HubUsage | undefined;
  #account: Account | undefined;
  #completed = 0;
  #continuationToken: string | undefined;
  #isRepeated = false;
  #isStarted = false;

  /** Rounds that the provider has completed. */
  get completed(): number {
    return this.#completed;
  }

  get items(): readonly HubItem[] {
    return this.#items;
  }

  /** What the completed rounds used, and the account of the last one; undefined in the first round. */
  get spent(): { readonly usage: HubUsage; readonly account: Account } | undefined {
    return this.#usage && this.#account && { usage: this.#usage, account: this.#account };
  }

  requestFor(request: HubRequest): HubRequest {
    if (this.#continuationToken !== undefined) return { ...request, continuationToken: this.#continuationToken };
    return this.#items.length === 0 ? request : { ...request, items: [...request.items, ...this.#items] };
  }

  /** Records the round and returns true when the provider gets another request after it. */
  continueAfter({ stop, continuationToken, items, omitted, usage, account }: RoundEnd): boolean {
    if (this.#completed >= (MAX_STOPS[stop] ?? 0)) return false;
    if (stop === 'continuation' && continuationToken === undefined) return false;
    this.#items = [...this.#items, ...items];
    this.#omitted = [...this.#omitted, ...(omitted ?? [])];
    this.#usage = sumUsage(this.#usage, usage);
    this.#account = account;
    this.#completed += 1;
    this.#continuationToken = continuationToken;
    return true;
  }

  /** Returns true when a round of which the client has received nothing is run again. It is not charged: it failed. */
  repeatAfter(stop: HubStop): boolean {
    if (stop !== 'malformed_call' || this.#isRepeated) return false;
    this.#isRepeated = true;
    return true;
  }

  usageWith(usage: HubUsage): HubUsage {
    return sumUsage(this.#usage, usage);
  }

  /**
   * Returns an event of the current round as an event of the whole reply;
   * undefined when an earlier round sent it already.
   */
  renumber(event: HubEvent): HubEvent | undefined {
    if (event.kind === 'start') {
      if (this.#isStarted) return undefined;
      this.#isStarted = true;
    }
    if (this.#completed === 0) return event;
    if (event.kind === 'finish') return { ...event, ...this.#sumWith(event) };
    return 'index' in event ? { ...event, index: event.index + this.#items.length } : event;
  }

  merge(reply: HubReply): HubReply {
    return this.#completed === 0
      ? reply
      : { ...reply, items: [...this.#items, ...reply.items], ...this.#sumWith(reply) };
  }

  #sumWith({ usage, omitted = [] }: Pick<HubReply, 'usage' | 'omitted'>): Pick<HubReply, 'usage' | 'omitted'> {
    return { usage: sumUsage(this.#usage, usage), omitted: [...this.#omitted, ...omitted] };
  }
}
