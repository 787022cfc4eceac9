/** Calls in flight by the credential that they carry: an overloaded server refuses nobody for what others send. */
import { hash } from 'node:crypto';
import type { IncomingRequest } from '../http/index.ts';

/** Credentials that were valid lately. */
const MAX_KNOWN = 10_000;
/** In the order in which they are looked for. A wrong choice concerns the fairness of refusals and nothing else. */
const CREDENTIAL_HEADERS = ['authorization', 'x-api-key', 'x-goog-api-key'] as const;

export class CallsByCaller {
  readonly #open = new Map<string, number>();
  readonly #known = new Set<string>();
  #newest: string | undefined;
  #total = 0;

  /** Returns what ends the call. `isKnown`: its key was valid. */
  begin(request: Pick<IncomingRequest, 'headers'>): (isKnown: boolean) => void {
    const caller = callerOf(request);
    if (caller === undefined) return () => {};
    this.#open.set(caller, (this.#open.get(caller) ?? 0) + 1);
    this.#total += 1;
    return (isKnown) => {
      const others = (this.#open.get(caller) ?? 1) - 1;
      if (others > 0) this.#open.set(caller, others);
      else this.#open.delete(caller);
      this.#total -= 1;
      if (isKnown) this.#remember(caller);
    };
  }

  /**
   * With one more, the caller has at most half of the calls of the average caller.
   * Its credential was valid before: made-up ones have few calls each.
   */
  hasFew(request: Pick<IncomingRequest, 'headers'>): boolean {
    const caller = callerOf(request);
    if (caller === undefined || this.#total === 0 || !this.#known.has(caller)) return false;
    return 2 * ((this.#open.get(caller) ?? 0) + 1) * this.#open.size <= this.#total;
  }

  /** Its credential was valid before. */
  knows(request: Pick<IncomingRequest, 'headers'>): boolean {
    const caller = callerOf(request);
    return caller !== undefined && this.#known.has(caller);
  }

  #remember(caller: string): void {
    if (caller === this.#newest) return;
    this.#newest = caller;
    this.#known.delete(caller);
    this.#known.add(caller);
    const [oldest] = this.#known;
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** Never the credential itself, which would stay in memory after the call. */
function callerOf({ headers }: Pick<IncomingRequest, 'headers'>): string | undefined {
  const name = CREDENTIAL_HEADERS.find((one) => headers[one] !== undefined);
  return name && hash('sha256', headers[name] ?? '', 'base64');
}
