/**
 * One turn on a provider's own socket, followed by what passes: when it is over, and what it cost. Steering makes the end of a
 * response less than the end of its turn: the provider may go on with a successor on the same lane, which nobody asked for by name.
 */
import type { ApiError } from '../../core/index.ts';
import { codecOf, type HubUsage } from '../../dialects/index.ts';
import type { FaultKind } from '../../rules/index.ts';
import type { Call } from '../../web/index.ts';
import { type Admission, roughUsage } from '../billing/admission.ts';
import { sumUsage } from '../converted/rounds.ts';
import { usageLogFields } from '../native/response.ts';
import type { Turn } from './turn.ts';

/** The few members of an event that matter here. */
export interface LifecycleEvent {
  readonly type: string;
  readonly stream_id?: string;
  readonly status?: number;
  readonly steer?: { readonly id?: string };
  readonly response?: { readonly id?: string; readonly usage?: unknown; readonly store?: boolean };
}

/** The events that begin or end something. Quotes inside a text are escaped, so that none can look like one of these. */
const LIFECYCLE =
  /"type"\s*:\s*"(?:error|response\.(?:created|completed|incomplete|failed|cancelled|steer\.\w+|inject\.\w+))"/;
const TERMINAL = /^response\.(?:completed|incomplete|failed|cancelled)$/;

export const isTerminal = ({ type }: LifecycleEvent): boolean => TERMINAL.test(type);
export const isGood = ({ type }: LifecycleEvent): boolean =>
  type === 'response.completed' || type === 'response.incomplete';

/** Undefined for everything that only passes. */
export function parseLifecycleEvent(text: string): LifecycleEvent | undefined {
  if (!LIFECYCLE.test(text)) return undefined;
  try {
    const event = JSON.parse(text) as LifecycleEvent | null;
    return typeof event?.type === 'string' ? event : undefined;
  } catch {
    return undefined;
  }
}

export const usageOf = ({ response }: LifecycleEvent): HubUsage | undefined =>
  codecOf('responses').upstream.readUsage(response?.usage);

export interface RelayedTurnTask {
  readonly call: Call;
  readonly turn: Turn;
  readonly ticket: Admission;
  /** The frame for the provider. */
  readonly text: string;
}

export class RelayedTurn {
  readonly #task: RelayedTurnTask;
  readonly #accountId: string;
  readonly #over = Promise.withResolvers<void>();
  #responseId: string | undefined;
  /** Steering that we passed on and that was neither accepted nor refused yet. */
  #asked = 0;
  /** Steering that was accepted and waits for a successor. */
  #queued = 0;
  #hasEnded = false;
  #status = 200;
  #usage: HubUsage | undefined;
  /** Characters that were written in a response that has not said what it cost. */
  #unpaid = 0;

  constructor(task: RelayedTurnTask, accountId: string) {
    this.#task = task;
    this.#accountId = accountId;
  }

  get over(): Promise<void> {
    return this.#over.promise;
  }

  get responseId(): string | undefined {
    return this.#responseId;
  }

  onSteerSent(): void {
    this.#asked += 1;
  }

  count(characters: number): void {
    this.#unpaid += characters;
  }

  /** True when nothing more can come. */
  onEvent(event: LifecycleEvent): boolean {
    if (isTerminal(event)) this.#hearEnd(event);
    else if (event.type === 'response.created') {
      this.#responseId = event.response?.id;
      this.#hasEnded = false;
      this.#queued = 0;
    } else if (event.type === 'error' && this.#asked === 0) {
      this.#status = event.status ?? 500;
      return true;
    } else this.#hearSteering(event);
    return this.#hasEnded && this.#asked === 0 && this.#queued === 0;
  }

  /** The last frame is the end of the answer: it is told, and the lane is free, when what the turn cost is on disk. */
  settle(tell: () => void = () => {}): void {
    this.#charge();
    this.#task.ticket
      .flushed()
      .then(() => {
        tell();
        this.#task.turn.answer.settle(this.#status);
        this.#over.resolve();
      })
      .catch((error: unknown) => this.#over.reject(error));
  }

  fail(kind: FaultKind, error: ApiError): void {
    const { call } = this.#task;
    call.addLogFields({ faults: [kind] });
    // What the client has as a whole does not break any more.
    if (this.#hasEnded) return this.settle();
    this.#charge();
    this.#over.reject(error);
  }

  /** The client left in the middle: it pays for what the provider reported, or for about what it got. */
  abandon(): void {
    const isRunning = this.#responseId !== undefined && !this.#hasEnded;
    if (this.#unpaid > 0 || isRunning) this.#guess();
    this.#charge();
    this.#over.resolve();
  }

  #hearEnd(event: LifecycleEvent): void {
    this.#hasEnded = true;
    const usage = usageOf(event);
    if (usage) this.#usage = sumUsage(this.#usage, usage);
    else if (isGood(event)) this.#guess();
    this.#unpaid = 0;
  }

  #hearSteering({ type, steer }: LifecycleEvent): void {
    if (type === 'response.steer.pending') this.#queued = 0;
    else if (type === 'response.steer.failed' && steer?.id !== undefined && this.#queued > 0) this.#queued -= 1;
    else {
      // An `error` counts as well: not every provider knows this kind of frame.
      this.#asked = Math.max(0, this.#asked - 1);
      if (type === 'response.steer.accepted') this.#queued += 1;
    }
  }

  #guess(): void {
    this.#usage = sumUsage(this.#usage, roughUsage(this.#task.text.length, this.#unpaid));
  }

  #charge(): void {
    const { call, ticket } = this.#task;
    if (!this.#usage) return;
    call.addLogFields({ ...usageLogFields(this.#usage) });
    ticket.settle(this.#usage, { accountId: this.#accountId });
  }
}
