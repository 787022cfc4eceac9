/**
 * One background response of this process: a streamed call without a client.
 * Its last event waits for the result and the charge.
 */
import { ApiError, errorFields, toApiError } from '../../core/index.ts';
import type { HubError, HubRequest } from '../../dialects/index.ts';
import { type BodyReservation, Call } from '../../platform/web/index.ts';
import { BACKGROUND } from '../../rules/index.ts';
import type { Admission } from '../billing/admission.ts';
import type { CallContext } from '../converted/context.ts';
import { ConvertedCall } from '../converted/converted-call.ts';
import { typeOfEnd } from '../stored/events.ts';
import { type StoredContent, type StoringContent, textOfContent } from '../stored/turn-text.ts';
import { EventLog } from './reader.ts';
import { endRun, type RunEnd } from './run-rows.ts';
import { RunSink } from './run-sink.ts';
import type { AttemptInVain, BackgroundServices } from './settle.ts';

type Snapshot = StoredContent['response'];

export interface RunOptions {
  readonly services: BackgroundServices;
  readonly context: Omit<CallContext, 'admission'>;
  readonly request: HubRequest;
  readonly reference: string;
  readonly snapshot: Snapshot;
  readonly memory: BodyReservation;
}

/** Events of the encoder that this file replaces or holds back. */
const CREATED = /^\{"type":"response\.created"/;
const ITEM_DONE = /^\{"type":"response\.output_item\.done"/;
const TERMINAL = /^\{"type":"response\.(?:completed|incomplete|failed)"/;

export class Run {
  readonly reference: string;
  readonly userId: string;
  readonly events = new EventLog(BACKGROUND.eventBytes);
  /** Resolves when the response has ended; never rejects. */
  readonly ended: Promise<void>;
  readonly #options: RunOptions;
  readonly #sink: RunSink;
  readonly #call: Call;
  readonly #items: unknown[] = [];
  #terminal: { readonly type: string; readonly response: Snapshot } | undefined;
  #settled: RunEnd['charged'];
  readonly #failedAttempts: AttemptInVain[] = [];
  #cut: 'cancelled' | 'shutting_down' | undefined;

  constructor(options: RunOptions) {
    const { context, reference, snapshot } = options;
    this.#options = options;
    this.reference = reference;
    this.userId = context.caller.key.userId;
    this.#sink = new RunSink((json) => this.#onEvent(json));
    this.#call = callWithoutClient(context.call, this.#sink, context.services.clock);
    this.#add('response.created', { ...snapshot, status: 'queued' });
    this.ended = this.#run();
  }

  /** The caller wants no more of it. Pays as a client that disconnects (ADR 13). */
  cancel(): void {
    this.#cut ??= 'cancelled';
    this.#sink.destroy();
  }

  /** The server stops. The response fails and costs nothing. */
  interrupt(): void {
    this.#cut ??= 'shutting_down';
    this.#call.interrupt(() => this.#sink.destroy());
  }

  async #run(): Promise<void> {
    const { context, services, request, memory } = this.#options;
    const failure = await this.#converted({ ...context, call: this.#call, admission: this.#admission() }, request);
    const end = this.#endOf(failure);
    const response = (await this.#store(end)) ? end.content.response : this.#failed(NOT_STORED);
    this.#add(`response.${typeOfEnd(response.status)}`, response);
    this.events.close();
    memory.release();
    services.log.info('background.ended', {
      ...this.#call.logFields,
      status: String(response.status),
      ms: Math.round(this.#call.durationMs),
    });
  }

  async #converted(context: CallContext, request: HubRequest): Promise<unknown> {
    try {
      await new ConvertedCall(context).run(request);
      await this.#sink.closed;
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #onEvent(json: string): void {
    if (TERMINAL.test(json)) this.#terminal = JSON.parse(json);
    else if (!CREATED.test(json)) this.events.add(json);
    if (ITEM_DONE.test(json)) this.#items.push(JSON.parse(json).item);
  }

  #add(type: string, response: Snapshot): void {
    this.events.add(JSON.stringify({ type, sequence_number: this.events.next, response }));
  }

  /** The money is in the database, so that only the end of the response needs what the call would have been charged. */
  #admission(): Admission {
    return {
      settle: (usage, { account, replyModel }) => {
        this.#settled ??= { usage, accountId: account.id, replyModel };
      },
      bookFailed: (usage, { account, fault, replyModel }) => {
        if (!this.#settled) this.#failedAttempts.push({ usage, accountId: account.id, fault, replyModel });
      },
      release: () => {},
      flushed: () => Promise.resolve(),
    };
  }

  #endOf(failure: unknown): RunEnd {
    const { context, services, snapshot } = this.#options;
    const { input } = context;
    const content = (response: Snapshot): StoringContent => ({ input, response, lastEvent: this.events.next });
    const charged = this.#cut === 'shutting_down' ? undefined : this.#settled;
    if (this.#terminal) {
      const { response } = this.#terminal;
      const isCompleted = response.status === 'completed';
      const completed_at = isCompleted ? Math.floor(services.clock.now() / 1000) : null;
      const whole = content({ ...response, completed_at });
      if (textOfContent(whole).length <= BACKGROUND.storedBytes) return { content: whole, charged };
      return { content: content({ ...this.#failed(TOO_LARGE), output: [] }), charged: undefined };
    }
    if (this.#cut === 'cancelled')
      return { content: content({ ...snapshot, status: 'cancelled', output: this.#items }), charged };
    if (failure !== undefined && !(failure instanceof ApiError))
      services.log.error('background.internal_error', { ...this.#call.logFields, ...errorFields(failure) });
    const { code, message } = toApiError(failure);
    return { content: content(this.#failed(this.#cut ? SHUTTING_DOWN : { code, message })), charged };
  }

  /** The response object of a failure, as a stream would end with it. */
  #failed(error: HubError): Snapshot {
    const { pair, replyContext } = this.#options.context;
    const encoder = pair.client.openEncoder(replyContext);
    encoder.pushEvents?.({ kind: 'error', error });
    return { ...encoder.finalResponse, output: this.#items };
  }

  /** False when the result could not be stored, or another process has ended the response meanwhile. */
  async #store(end: RunEnd): Promise<boolean> {
    const { services } = this.#options;
    for (let turn = 1; ; turn += 1) {
      try {
        return await endRun(services, this.reference, { ...end, failedAttempts: this.#failedAttempts });
      } catch (error) {
        services.log.warn('background.store_failed', { ...this.#call.logFields, ...errorFields(error) });
        if (turn === BACKGROUND.storeTurns) return false;
        await new Promise<void>((resolve) => void services.clock.after(BACKGROUND.storeWaitMs, resolve));
      }
    }
  }
}

const SHUTTING_DOWN: HubError = {
  code: 'shutting_down',
  message: 'The server stopped before the response was complete. It cost nothing; create it again.',
};
const NOT_STORED: HubError = { code: 'internal_error', message: 'The response could not be stored; create it again.' };
const TOO_LARGE: HubError = {
  code: 'upstream_error',
  message: `The response and its input are larger than ${BACKGROUND.storedBytes / 2 ** 20} MiB.`,
};

function callWithoutClient(call: Call, response: RunSink, clock: BackgroundServices['clock']): Call {
  const { id, operation, errorFormat, params, path, query, address, bodyBudget } = call;
  const { method, url, version, headers, rawHeaders } = call.request;
  const request = { method, url, version, headers, rawHeaders, address };
  const own = new Call({
    id,
    operation,
    errorFormat,
    params,
    path,
    query,
    address,
    bodyBudget,
    clock,
    response,
    request: { ...request, isComplete: true, completeBody: undefined, read() {}, resume() {} },
    startedAt: clock.now(),
  });
  own.owner = call.owner;
  own.addLogFields(call.logFields);
  return own;
}
