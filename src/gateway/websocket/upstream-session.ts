/**
 * The provider's own socket behind a client's socket: frames pass as they are, and beside them every turn is followed to its end.
 * Holds its account's place in the pool for as long as it lives.
 */
import type { Account } from '../../catalog/index.ts';
import { type Clock, fail, type Log } from '../../core/index.ts';
import { codecOf, type Fault } from '../../dialects/index.ts';
import type { OnStep } from '../../ledger/index.ts';
import type { AccountLease } from '../../pool/index.ts';
import { CLOSE, type FaultKind, faultRow, STALLED_CLIENT_MS, TIMEOUTS, WEBSOCKET } from '../../rules/index.ts';
import { openUpstreamSocket, type SocketRequest, type UpstreamSocket } from '../../upstream/index.ts';
import type { WebSocketConnection } from '../../web/index.ts';
import { outputCharsInFrame } from '../billing/output-chars.ts';
import { clientErrorFor } from '../failover.ts';
import { usageLogFields } from '../native/response.ts';
import { redact } from '../redact.ts';
import {
  isGood,
  isTerminal,
  type LifecycleEvent,
  parseLifecycleEvent,
  RelayedTurn,
  type RelayedTurnTask,
  usageOf,
} from './relayed-turn.ts';

export interface UpstreamSessionOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly onStep?: OnStep | undefined;
  /** A response of this account that its provider keeps. */
  onStored(responseId: string): void;
  /** The account answered the upgrade with this status instead. */
  onRefused(status: number): void;
  /** No new turns from here on: lost, or given up. */
  onSpent(): void;
}

/** Silence after which a running turn is given up, as on a stream. */
const SILENCE_MS = TIMEOUTS.stream.idle;
/** Words about our own accounts; callers read them as overload, on every path. */
const PRIVATE: ReadonlySet<FaultKind> = new Set(['credential', 'quota_exhausted']);
const TRUNCATED = 'The upstream closed the stream before completion.';
const TOO_SILENT = 'The provider did not answer in time.';

export class UpstreamSession {
  readonly account: Account;
  readonly #lease: AccountLease<Account>;
  readonly #client: WebSocketConnection;
  readonly #parts: UpstreamSessionOptions;
  readonly #turns = new Map<string, RelayedTurn>();
  readonly #ids = new Set<string>();
  #upstream: UpstreamSocket | undefined;
  #isSpent = false;
  #isHeld = false;
  #lastAt = 0;
  #forgetSilence: (() => void) | undefined;

  constructor(lease: AccountLease<Account>, client: WebSocketConnection, parts: UpstreamSessionOptions) {
    this.account = lease.account;
    this.#lease = lease;
    this.#client = client;
    this.#parts = parts;
  }

  /** False when the account cannot be talked to this way. */
  open(request: SocketRequest): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    let isOpen = false;
    this.#upstream = openUpstreamSocket(request, {
      onOpen: () => {
        isOpen = true;
        resolve(true);
      },
      onRefused: (status) => {
        this.#parts.onRefused(status);
        this.close();
        resolve(false);
      },
      onText: (text) => this.#onText(text),
      onLost: (code) => {
        this.#fail(isOpen ? 'failed' : 'unreachable', code);
        resolve(false);
      },
    });
    return promise;
  }

  /** It takes no new turns. */
  get isClosing(): boolean {
    return this.#isSpent;
  }

  /** Did this connection make the response? */
  hasResponse(responseId: string | undefined): boolean {
    return responseId !== undefined && this.#ids.has(responseId);
  }

  run(task: RelayedTurnTask): Promise<void> {
    const raw = new RelayedTurn(task, this.account.id);
    this.#turns.set(task.turn.lane, raw);
    this.#lastAt = this.#parts.clock.now();
    this.#upstream?.send(task.text);
    this.#parts.onStep?.('upstream.asked');
    this.#forgetSilence ??= this.#listen(SILENCE_MS);
    return raw.over;
  }

  /** A frame about one of our responses. */
  pass(responseId: string, text: string): void {
    for (const turn of this.#turns.values()) if (turn.responseId === responseId) turn.onSteerSent();
    this.#upstream?.send(text);
  }

  /** Takes no new turns and closes after the last one. The account may have to rest. */
  drain(fault?: Fault): void {
    this.#lease.release(fault);
    this.#close();
    if (this.#turns.size === 0) this.close();
  }

  close(): void {
    this.#forgetSilence?.();
    this.#upstream?.close();
    this.#lease.release();
    this.#close();
    for (const turn of this.#turns.values()) turn.abandon();
    this.#turns.clear();
  }

  #close(): void {
    if (this.#isSpent) return;
    this.#isSpent = true;
    this.#parts.onSpent();
  }

  // ---------------------------------------------------------------- listening

  #onText(text: string): void {
    this.#parts.onStep?.('upstream.told');
    this.#lastAt = this.#parts.clock.now();
    const event = parseLifecycleEvent(text);
    if (event?.type === 'error' && this.#isPrivate(event, text)) return;
    const isError = event?.type === 'error' || event?.type === 'response.failed';
    const tell = (): void => {
      if (!this.#client.send(isError ? redact(text, this.account) : text)) this.#holdBack();
    };
    if (event) return this.#track(event, tell);
    tell();
    this.#count(text);
  }

  /** Whose words these are matters only for a turn that never says what it cost. */
  #count(text: string): void {
    const [only] = this.#turns.size === 1 ? this.#turns.values() : [];
    const turn = only ?? this.#turns.get(/"stream_id"\s*:\s*"([\w.-]+)"/.exec(text)?.[1] ?? '');
    turn?.count(outputCharsInFrame(text));
  }

  #track(event: LifecycleEvent, tell: () => void): void {
    this.#keep(event);
    const [lane, turn] = this.#turnOf(event);
    if (turn?.onEvent(event)) return this.#end(lane, () => turn.settle(tell));
    tell();
    const usage = !turn && isTerminal(event) ? usageOf(event) : undefined;
    if (usage)
      this.#parts.log.warn('upstream_socket.unmatched_usage', { account: this.account.id, ...usageLogFields(usage) });
  }

  #turnOf(event: LifecycleEvent): [lane: string, turn: RelayedTurn | undefined] {
    const lane = event.stream_id ?? '';
    const turn = this.#turns.get(lane);
    if (turn || lane !== '' || event.type !== 'error') return [lane, turn];
    // An error that names no lane: if a single turn waits for its beginning, it must be the answer to that.
    const [first, ...others] = [...this.#turns].filter(([, { responseId }]) => responseId === undefined);
    return first && others.length === 0 ? first : ['', undefined];
  }

  #keep(event: LifecycleEvent): void {
    const id = event.response?.id;
    if (id === undefined) return;
    this.#ids.add(id);
    const [oldest] = this.#ids;
    if (this.#ids.size > WEBSOCKET.ownIds && oldest !== undefined) this.#ids.delete(oldest);
    if (isGood(event) && event.response?.store !== false) this.#parts.onStored(id);
  }

  /** An error about our account is told in our own words, and the account is not used for the next turn. */
  #isPrivate(event: LifecycleEvent, text: string): boolean {
    const fault = codecOf('responses').upstream.decodeError({ status: event.status ?? 500, headers: {}, body: text });
    if (!PRIVATE.has(fault.kind)) return false;
    const [lane, turn] = this.#turnOf(event);
    this.#warn(fault.kind, String(event.status));
    this.drain(fault);
    if (turn) this.#end(lane, () => turn.fail(fault.kind, clientErrorFor(fault)));
    return true;
  }

  /** The turn is taken off first: its end lets the next one of the lane begin. */
  #end(lane: string, end: () => void): void {
    this.#turns.delete(lane);
    end();
    if (this.#isSpent && this.#turns.size === 0) this.close();
  }

  // ---------------------------------------------------------------- trouble

  #holdBack(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#upstream?.pause();
    const forget = this.#parts.clock.after(STALLED_CLIENT_MS, () =>
      this.#client.close(CLOSE.policy, 'client too slow'),
    );
    this.#client.onDrain(() => {
      forget();
      this.#isHeld = false;
      this.#lastAt = this.#parts.clock.now();
      this.#upstream?.resume();
    });
  }

  #listen(ms: number): () => void {
    return this.#parts.clock.after(ms, () => {
      const left = this.#lastAt + SILENCE_MS - this.#parts.clock.now();
      this.#forgetSilence = undefined;
      if (this.#turns.size === 0) return;
      if (left <= 0 && !this.#isHeld) this.#fail('timeout', 'IDLE_TIME');
      else this.#forgetSilence = this.#listen(left > 0 ? left : SILENCE_MS);
    });
  }

  #fail(kind: 'failed' | 'unreachable' | 'timeout', code: string): void {
    const turns = [...this.#turns.values()];
    const isMissed = turns.length > 0 || kind === 'unreachable';
    if (isMissed) this.#warn(kind, code);
    this.#turns.clear();
    this.#lease.release(isMissed ? { kind } : undefined);
    this.close();
    const error = fail(faultRow(kind).code, kind === 'timeout' ? TOO_SILENT : TRUNCATED);
    for (const turn of turns) turn.fail(kind, error);
  }

  #warn(fault: FaultKind, code: string): void {
    this.#parts.log.warn('upstream_socket.failed', { account: this.account.id, fault, code, turns: this.#turns.size });
  }
}
