/**
 * One turn on a provider's own WebSocket: when it ends and what it used.
 * With steering, another response may continue it.
 */
import type { Secrets } from '../../catalog/index.ts';
import { type ApiError, estimateTokens, valueOfJson } from '../../core/index.ts';
import type { HubUsage } from '../../dialects/index.ts';
import { type AttemptEnd, type AttemptTrace, type Call, endAttempt } from '../../platform/web/index.ts';
import { type FaultKind, READ_ON_BYTES } from '../../rules/index.ts';
import type { Admission } from '../billing/admission.ts';
import { hasTokens } from '../billing/failed-usage.ts';
import type { ServingAccount } from '../billing/other-models.ts';
import { OutputMeter, timesOf } from '../billing/output-meter.ts';
import { replyPhase } from '../billing/reply-phase.ts';
import type { InputEstimate } from '../billing/request-tokens.ts';
import { chargedUsage, sumUsage, usageLogFields } from '../billing/usage.ts';
import { wholeText } from '../billing/visible-text.ts';
import { WayUnavailable } from '../client-error.ts';
import { usageOfResponse } from '../native/searches.ts';
import { isSuccessEvent, isTerminalEvent, type LifecycleEvent, usageOf } from './lifecycle.ts';
import type { Turn } from './turn.ts';

export interface RelayedTurnTask {
  readonly call: Call;
  readonly turn: Turn;
  readonly admission: Admission;
  readonly model?: Secrets['model'];
  readonly inputTokens: InputEstimate;
  readonly text: string | Buffer;
}

export class RelayedTurn {
  readonly #task: RelayedTurnTask;
  readonly #account: ServingAccount;
  readonly #ended = Promise.withResolvers<void>();
  readonly #trace: AttemptTrace;
  responseId: string | undefined;
  /** Steering frames sent that the provider has neither accepted nor rejected yet. */
  #steersSent = 0;
  #steersAccepted = 0;
  #hasEnded = false;
  #status = 200;
  #usage: HubUsage | undefined;
  #replyModel: unknown;
  /** Visible output of a response that has not reported usage. */
  #unreported: OutputMeter | undefined;
  /** The newest frame, for a client that disconnects. */
  #lastText = '';
  /** The client is gone: how the provider ends the turn changes nothing of its charge (ADR 13). */
  #isLeft = false;
  /** Content since then. */
  #unread = 0;

  constructor(task: RelayedTurnTask, account: ServingAccount) {
    this.#task = task;
    this.#account = account;
    this.#trace = task.call.trace.beginAttempt(account.id, task.call.elapsedMs());
  }

  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  get model(): Secrets['model'] {
    return this.#task.model;
  }

  onSteerSent(): void {
    this.#steersSent += 1;
  }

  onClientLeft(): void {
    this.#isLeft = true;
  }

  onOutput(text: string): void {
    this.#lastText = text;
    this.#unreported ??= new OutputMeter('responses', timesOf(this.#task.call));
    this.#unreported.push(text);
    this.#onBytes();
    if (this.#isLeft && !this.#isFinishing) this.#unread += text.length;
  }

  get #isFinishing(): boolean {
    return replyPhase('responses', valueOfJson(this.#lastText)) === 'finished';
  }

  /** The content has begun, and its usage report is about to come. */
  get readsOn(): boolean {
    if (this.#hasEnded || this.#unread > READ_ON_BYTES) return false;
    return this.#isFinishing || (this.#unreported?.tokensWith() ?? 0) > 0;
  }

  onEvent(event: LifecycleEvent): boolean {
    this.#onBytes();
    this.#replyModel = event.response?.model ?? this.#replyModel;
    if (isTerminalEvent(event)) this.#onTerminal(event);
    else if (event.type === 'response.created') {
      this.responseId = event.response?.id;
      this.#hasEnded = false;
      this.#steersAccepted = 0;
    } else if (event.type === 'error' && this.#steersSent === 0) {
      this.#status = event.status ?? 500;
      if (!this.#isLeft) this.#bookFailed('failed');
      return true;
    } else this.#onSteering(event);
    return this.#hasEnded && this.#steersSent === 0 && this.#steersAccepted === 0;
  }

  /** Sends the last frame, which ends the turn and frees the lane, once the charge is on disk. */
  settle(sendLastFrame: () => void = () => {}): void {
    this.#endAttempt(this.#status < 400 ? 'ok' : 'request');
    if (this.#isLeft && !this.#usage) return this.abandon();
    this.#charge();
    this.#task.admission
      .flushed()
      .then(() => {
        sendLastFrame();
        this.#task.turn.response.settle(this.#status);
        this.#ended.resolve();
      })
      .catch((error: unknown) => this.#ended.reject(error));
  }

  fail(kind: FaultKind, error: ApiError): void {
    const { call } = this.#task;
    call.addLogFields({ faults: [kind] });
    this.#endAttempt(kind);
    if (this.#isLeft) return this.abandon();
    if (this.#hasEnded) return this.settle();
    this.#charge();
    this.#bookFailed(kind);
    // Nothing of the turn has reached the client, so that others may take it.
    this.#ended.reject(this.#trace.firstByteMs === undefined ? new WayUnavailable(error, 'out') : error);
  }

  /**
   * The client disconnected: charges what the provider reported,
   * or an estimate of what was sent. The provider has the frame.
   */
  abandon(): void {
    this.#endAttempt('client_closed');
    const isRunning = !this.#hasEnded && (this.responseId !== undefined || !this.#task.call.isInterrupted);
    if (this.#unreported || isRunning) this.#estimate();
    this.#charge();
    this.#ended.resolve();
  }

  #onBytes(): void {
    const now = this.#task.call.elapsedMs();
    this.#trace.firstByteMs ??= now;
    this.#trace.lastByteMs = now;
  }

  #endAttempt(outcome: AttemptEnd): void {
    endAttempt(this.#trace, this.#task.call.elapsedMs(), outcome);
  }

  #onTerminal(event: LifecycleEvent): void {
    this.#hasEnded = true;
    const usage = usageOf(event);
    if (usage && !usage.estimated) this.#estimate(event, usage);
    else if (isSuccessEvent(event) || this.#isLeft) this.#estimate(event);
    else this.#bookFailed('failed', usageOfResponse(event.response));
    this.#unreported = undefined;
  }

  #onSteering({ type, steer }: LifecycleEvent): void {
    if (type === 'response.steer.pending') this.#steersAccepted = 0;
    else if (type === 'response.steer.failed' && steer?.id !== undefined && this.#steersAccepted > 0)
      this.#steersAccepted -= 1;
    else {
      // An `error` counts as a rejection too: not every provider knows steering frames.
      this.#steersSent = Math.max(0, this.#steersSent - 1);
      if (type === 'response.steer.accepted') this.#steersAccepted += 1;
    }
  }

  /** Adds what was reported, or an estimate. `last` repeats what the server may have sent without deltas. */
  #estimate(last?: LifecycleEvent, reported?: HubUsage): void {
    const output = (): number =>
      Math.max(this.#unreported?.tokensWith() ?? 0, estimateTokens(last ? wholeText('responses', last) : ''));
    const usage = chargedUsage(reported, { input: this.#task.inputTokens, output }, false);
    this.#usage = sumUsage(this.#usage, usage);
  }

  /** A response that has failed costs its caller nothing, and the operator what the provider reported or made. */
  #bookFailed(fault: FaultKind, reported?: HubUsage): void {
    const { admission, inputTokens } = this.#task;
    const output = (): number => this.#unreported?.tokensWith() ?? 0;
    if (!hasTokens(reported) && output() === 0) return;
    const usage = chargedUsage(reported, { input: inputTokens, output }, false);
    admission.bookFailed(usage, { account: this.#account, fault, replyModel: this.#replyModel });
  }

  #charge(): void {
    const { call, admission: ticket } = this.#task;
    if (!this.#usage) return;
    call.addLogFields({ ...usageLogFields(this.#usage) });
    ticket.settle(this.#usage, { account: this.#account, replyModel: this.#replyModel });
  }
}
