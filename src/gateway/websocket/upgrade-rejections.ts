/** Accounts that rejected a WebSocket upgrade recently. One list per replica. */
import type { Clock } from '../../core/index.ts';
import { WEBSOCKET } from '../../rules/index.ts';

export class UpgradeRejections {
  readonly #clock: Clock;
  readonly #until = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  has(accountId: string): boolean {
    return (this.#until.get(accountId) ?? 0) > this.#clock.elapsed();
  }

  add(accountId: string): void {
    this.#until.set(accountId, this.#clock.elapsed() + WEBSOCKET.upgradeRetryMs);
  }
}
