/**
 * The provider's WebSocket behind a client's: frames pass as they are, turns are tracked.
 * Holds a slot of its account until it closes.
 */
import { type Account, redact } from '../../catalog/index.ts';
import { type Clock, fail, type Log, RecentMap } from '../../core/index.ts';
import { codecOf } from '../../dialects/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import type { WebSocketConnection } from '../../platform/web/index.ts';
import type { AccountLease, AttemptFault } from '../../providers/pool/index.ts';
import { openUpstreamSocket, type SocketRequest, type UpstreamSocket } from '../../providers/upstream/index.ts';
import { CLOSE, type FaultKind, faultRow, STALLED_CLIENT_MS, TIMEOUTS, WEBSOCKET } from '../../rules/index.ts';
import { usageLogFields } from '../billing/usage.ts';
import { clientErrorFor } from '../client-error.ts';
import { failureMessage } from '../failure-reason.ts';
import type { ReadOn } from '../read-on.ts';
import { isSuccessEvent, isTerminalEvent, type LifecycleEvent, parseLifecycleEvent, usageOf } from './lifecycle.ts';
import { RelayedTurn, type RelayedTurnTask } from './relayed-turn.ts';

export interface UpstreamSessionOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly readOn: ReadOn;
  onStored(responseId: string, output: unknown, tokens: number | undefined): void;
  onRejected(status: number): void;
  onClosing(): void;
}

/** Silence after which a running turn fails, as on a stream. */
const IDLE_MS = TIMEOUTS.stream.idle;
/** Faults of our own accounts; callers see them as overload, on every path. */
const ACCOUNT_FAULTS: ReadonlySet<FaultKind> = new Set(['credential', 'quota_exhausted']);
const TRUNCATED = 'The upstream closed the stream before completion.';
const TIMED_OUT = 'The provider did not respond in time.';

export class UpstreamSession {
  readonly account: Account;
  readonly #lease: AccountLease<Account>;
  readonly #client: WebSocketConnection;
  readonly #options: UpstreamSessionOptions;
  readonly #turns = new Map<string, RelayedTurn>();
  /** With the tokens that a following turn reads, once they are known. */
  readonly #responses = new RecentMap<string, { readonly tokens: number | undefined; readonly hasEnded: boolean }>({
    entries: WEBSOCKET.ownIds,
  });
  #upstream: UpstreamSocket | undefined;
  isClosing = false;
  #isLeft = false;
  #isPaused = false;
  #lastAt = 0;
  #cancelIdleTimer: (() => void) | undefined;
  #endWait = (): void => {};

  constructor(lease: AccountLease<Account>, client: WebSocketConnection, options: UpstreamSessionOptions) {
    this.account = lease.account;
    this.#lease = lease;
    this.#client = client;
    this.#options = options;
  }

  open(request: SocketRequest): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    let isOpen = false;
    this.#upstream = openUpstreamSocket(request, {
      onOpen: () => {
        isOpen = true;
        this.#lease.answered();
        resolve(true);
      },
      onRejected: (status) => {
        this.#options.onRejected(status);
        this.close();
        resolve(false);
      },
      onText: (text) => this.#onText(text),
      onClosed: (code) => {
        this.#fail(isOpen ? 'failed' : 'unreachable', code);
        resolve(false);
      },
    });
    return promise;
  }

  /** Undefined when it is not one of this connection. */
  responseOf(id: string) {
    return this.#responses.get(id);
  }

  run(task: RelayedTurnTask): Promise<void> {
    const turn = new RelayedTurn(task, this.account);
    this.#turns.set(task.turn.lane, turn);
    this.#lastAt = this.#options.clock.elapsed();
    this.#upstream?.send(task.text);
    crashPoint('upstream.sent');
    this.#cancelIdleTimer ??= this.#startIdleTimer(IDLE_MS);
    return turn.ended;
  }

  pass(responseId: string, text: string): void {
    for (const turn of this.#turns.values()) if (turn.responseId === responseId) turn.onSteerSent();
    this.#upstream?.send(text);
  }

  /** Takes no new turns and closes after the last one. A fault puts the account into cooldown. */
  drain(fault?: AttemptFault): void {
    this.#lease.release(fault);
    this.#stopTakingTurns();
    if (this.#turns.size === 0) this.close();
  }

  /** The client disconnected. Turns whose content has begun get a short time for their usage report. */
  leave(): void {
    this.#isLeft = true;
    for (const [lane, turn] of this.#turns) {
      turn.onClientLeft();
      if (turn.readsOn) continue;
      this.#turns.delete(lane);
      turn.abandon();
    }
    const { readOn } = this.#options;
    if (this.#turns.size === 0 || readOn.isOff) return this.close();
    this.#stopTakingTurns();
    this.#endWait = readOn.begin(() => this.close());
    if (this.#isPaused) this.#upstream?.resume();
  }

  close(): void {
    this.#endWait();
    this.#cancelIdleTimer?.();
    this.#upstream?.close();
    this.#lease.release();
    this.#stopTakingTurns();
    for (const turn of this.#turns.values()) turn.abandon();
    this.#turns.clear();
  }

  #stopTakingTurns(): void {
    if (this.isClosing) return;
    this.isClosing = true;
    this.#options.onClosing();
  }

  #onText(text: string): void {
    crashPoint('upstream.data_received');
    this.#lastAt = this.#options.clock.elapsed();
    const event = parseLifecycleEvent(text);
    if (event?.type === 'error' && this.#isAccountError(event, text)) return;
    const isError = event?.type === 'error' || event?.type === 'response.failed';
    const model = isError ? this.#turnOf(event)[1]?.model : undefined;
    const shown = isError ? redact(text, { account: this.account, model }) : text;
    const sendToClient = (): void => {
      if (this.#isLeft) return;
      if (!this.#client.send(shown)) this.#pauseUpstream();
    };
    if (event) return this.#track(event, sendToClient);
    sendToClient();
    this.#countOutput(text);
  }

  /** Attributes output to a turn, only so that a turn without reported usage can be estimated. */
  #countOutput(text: string): void {
    const [only] = this.#turns.size === 1 ? this.#turns.keys() : [];
    const lane = only ?? /"stream_id"\s*:\s*"([\w.-]+)"/.exec(text)?.[1] ?? '';
    const turn = this.#turns.get(lane);
    turn?.onOutput(text);
    // Much content that follows is not for this client.
    if (turn && this.#isLeft && !turn.readsOn) this.#end(lane, () => turn.abandon());
  }

  #track(event: LifecycleEvent, sendToClient: () => void): void {
    // A relay may repeat the end of a response. It would end the next turn, or be charged again.
    if (isTerminalEvent(event) && this.#responses.get(event.response?.id ?? '')?.hasEnded) return;
    this.#recordResponse(event);
    const [lane, turn] = this.#turnOf(event);
    if (turn?.onEvent(event)) return this.#end(lane, () => turn.settle(sendToClient));
    sendToClient();
    const usage = !turn && isTerminalEvent(event) ? usageOf(event) : undefined;
    if (usage)
      this.#options.log.warn('upstream_socket.unmatched_usage', { account: this.account.id, ...usageLogFields(usage) });
  }

  #turnOf(event: LifecycleEvent): [lane: string, turn: RelayedTurn | undefined] {
    const lane = event.stream_id ?? '';
    const turn = this.#turns.get(lane);
    if (turn || lane !== '' || event.type !== 'error') return [lane, turn];
    // An error without a lane belongs to the only turn that has not begun, if there is exactly one.
    const [first, ...others] = [...this.#turns].filter(([, { responseId }]) => responseId === undefined);
    return first && others.length === 0 ? first : ['', undefined];
  }

  #recordResponse(event: LifecycleEvent): void {
    const id = event.response?.id;
    if (id === undefined) return;
    const hasEnded = isTerminalEvent(event);
    const usage = hasEnded ? usageOf(event) : undefined;
    const tokens = usage && usage.input + usage.output;
    this.#responses.set(id, { tokens, hasEnded });
    if (isSuccessEvent(event) && event.response?.store !== false)
      this.#options.onStored(id, event.response?.output, tokens);
  }

  /** An account error reaches the client in our own wording, and the account is not used for the next turn. */
  #isAccountError(event: LifecycleEvent, text: string): boolean {
    const fault = codecOf('responses').upstream.decodeError({ status: event.status ?? 500, headers: {}, body: text });
    if (!ACCOUNT_FAULTS.has(fault.kind)) return false;
    const [lane, turn] = this.#turnOf(event);
    this.#warn(fault.kind, String(event.status));
    this.drain({ ...fault, message: failureMessage(text, this.account) });
    if (turn) this.#end(lane, () => turn.fail(fault.kind, clientErrorFor(fault)));
    return true;
  }

  /** Removes the turn first, because its end lets the next turn of the lane begin. */
  #end(lane: string, end: () => void): void {
    this.#turns.delete(lane);
    end();
    if (this.isClosing && this.#turns.size === 0) this.close();
  }

  #pauseUpstream(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#upstream?.pause();
    const forget = this.#options.clock.after(STALLED_CLIENT_MS, () =>
      this.#client.close(CLOSE.policy, 'client too slow'),
    );
    this.#client.onDrain(() => {
      forget();
      this.#isPaused = false;
      this.#lastAt = this.#options.clock.elapsed();
      this.#upstream?.resume();
    });
  }

  #startIdleTimer(ms: number): () => void {
    return this.#options.clock.after(ms, () => {
      const left = this.#lastAt + IDLE_MS - this.#options.clock.elapsed();
      this.#cancelIdleTimer = undefined;
      if (this.#turns.size === 0) return;
      if (left <= 0 && !this.#isPaused) this.#fail('timeout', 'IDLE_TIME');
      else this.#cancelIdleTimer = this.#startIdleTimer(left > 0 ? left : IDLE_MS);
    });
  }

  #fail(kind: 'failed' | 'unreachable' | 'timeout', code: string): void {
    const turns = [...this.#turns.values()];
    const isUnexpected = turns.length > 0 || kind === 'unreachable';
    if (isUnexpected) this.#warn(kind, code);
    this.#turns.clear();
    this.#lease.release(isUnexpected ? { kind, providerCode: code } : undefined);
    this.close();
    const error = fail(faultRow(kind).code, kind === 'timeout' ? TIMED_OUT : TRUNCATED);
    for (const turn of turns) turn.fail(kind, error);
  }

  #warn(fault: FaultKind, code: string): void {
    const { id: account } = this.account;
    this.#options.log.warn('upstream_socket.failed', { account, fault, code, turns: this.#turns.size });
  }
}
