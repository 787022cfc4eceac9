/**
 * The rounds of one reply. A provider may stop with a pause in the middle of its own tools' work and expect the same request again
 * with its output so far. The client sees one reply: items numbered through, usage added up.
 */
import type { Account } from '../../catalog/index.ts';
import type { HubEvent, HubItem, HubReply, HubStop, HubUsage } from '../../dialects/index.ts';
import { sumUsage } from '../billing/usage.ts';

/** A pause after this many rounds ends the reply. */
const MAX_ROUNDS = 5;

export class ReplyRounds {
  #items: readonly HubItem[] = [];
  #usage: HubUsage | undefined;
  #account: Account | undefined;
  #completed = 0;

  /** Items of the completed rounds. */
  get items(): readonly HubItem[] {
    return this.#items;
  }

  /** What the completed rounds used, and the account of the last one; undefined in the first round. */
  get spent(): { readonly usage: HubUsage; readonly account: Account } | undefined {
    return this.#usage && this.#account && { usage: this.#usage, account: this.#account };
  }

  /** True when the provider gets another request after this stop. */
  continuesAfter(stop: HubStop): boolean {
    return stop === 'pause' && this.#completed + 1 < MAX_ROUNDS;
  }

  /** Records a round that ended with a pause. */
  complete(items: readonly HubItem[], usage: HubUsage, account: Account): void {
    this.#items = [...this.#items, ...items];
    this.#usage = sumUsage(this.#usage, usage);
    this.#account = account;
    this.#completed += 1;
  }

  /** Adds the usage of the current round to that of the completed ones. */
  usageWith(usage: HubUsage): HubUsage {
    return sumUsage(this.#usage, usage);
  }

  /** Returns an event of the current round as an event of the whole reply; undefined when an earlier round sent it already. */
  renumber(event: HubEvent): HubEvent | undefined {
    if (this.#completed === 0) return event;
    if (event.kind === 'start') return undefined;
    if (event.kind === 'finish') return { ...event, usage: sumUsage(this.#usage, event.usage) };
    return 'index' in event ? { ...event, index: event.index + this.#items.length } : event;
  }

  /** Returns the reply of the last round together with the rounds before it. */
  merge(reply: HubReply): HubReply {
    return this.#completed === 0
      ? reply
      : { ...reply, items: [...this.#items, ...reply.items], usage: sumUsage(this.#usage, reply.usage) };
  }
}
