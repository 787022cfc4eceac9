/**
 * The background responses that this process makes, for groups that do not speak the responses dialect.
 * Reasons: docs/adr/0014-background-responses.md
 */
import { errorFields, fail, failAt, newId, within } from '../../core/index.ts';
import { type Call, type ClientStreams, idHeaders, STREAM_HEADERS, sendJson } from '../../platform/web/index.ts';
import { BACKGROUND } from '../../rules/index.ts';
import type { BackgroundRunner, BackgroundStart } from '../converted/context.ts';
import { previewRequest } from '../converted/round-request.ts';
import { eventsAfter } from '../stored/events.ts';
import { responseNotFound } from '../stored/store.ts';
import { isRunning, type StoredContent, textOfContent } from '../stored/turn-text.ts';
import { copyEvents } from './reader.ts';
import { Run } from './run.ts';
import { findStopped, insertRun, isOpen, renewLeases, requestCancel } from './run-rows.ts';
import type { BackgroundServices } from './settle.ts';

type Snapshot = StoredContent['response'];

export interface Followed {
  readonly id: string;
  readonly userId: string;
  readonly after: number;
}

/** Of the time to stop: what the end of interrupted responses takes. */
const FINISH_MS = 500;
/** The database may be away while the server stops. */
const FINISH_LIMIT_MS = 5_000;

export class BackgroundRuns implements BackgroundRunner {
  readonly #services: BackgroundServices;
  readonly #runs = new Map<string, Run>();
  #starting = 0;
  #isStopped = false;
  #isWatching = false;
  #renewedAt = 0;

  constructor(services: BackgroundServices) {
    this.#services = services;
  }

  async start(start: BackgroundStart): Promise<void> {
    const { context } = start;
    this.#check(context);
    this.#starting += 1;
    try {
      await this.#start(start);
    } finally {
      this.#starting -= 1;
    }
  }

  async #start({ context: given, facts, request }: BackgroundStart): Promise<void> {
    const { call, caller, input, previous, services } = given;
    const id = newId('resp');
    const context = { ...given, replyContext: { ...given.replyContext, responseId: id } };
    const streamed = { ...request, stream: true };
    // Throws what no account of the group could be sent, before anything is held.
    const { headers, omittedTools } = await previewRequest(context, streamed);
    const snapshot = firstSnapshot(context, omittedTools);
    const content = { input, response: snapshot };
    const bytes = textOfContent(content).length + (previous?.bytes ?? 0);
    if (bytes > BACKGROUND.inputBytes)
      throw failAt(
        'request_too_large',
        'input',
        `with earlier turns it is larger than ${BACKGROUND.inputBytes / 2 ** 20} MiB, ` +
          'the limit of background responses.',
      );
    call.addLogFields({ background: true });
    const held = { call, caller, billing: services.billing, facts, inputTokens: context.inputTokens() };
    const memory = call.openReservation();
    try {
      memory.add(bytes);
      const reference = await insertRun(this.#services, held, { id, content, previous });
      this.#add(id, new Run({ services: this.#services, context, request: streamed, reference, snapshot, memory }));
    } catch (error) {
      memory.release();
      throw error;
    }
    if (!context.request.stream) return sendJson(call, 200, { ...snapshot, status: 'queued' }, headers);
    await this.follow(call, services.clientStreams, { id, userId: caller.key.userId, after: -1 }, headers);
  }

  /** Writes the events of a running response to a client. Where this process does not have them, its end. */
  async follow(
    call: Call,
    streams: ClientStreams,
    { id, userId, after }: Followed,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const run = this.#runs.get(id);
    const events = run?.userId === userId ? run.events : undefined;
    call.response.writeHead(200, { ...idHeaders(call), ...headers, ...STREAM_HEADERS });
    const copied = await copyEvents(call, streams, events, after);
    if (copied.isComplete || copied.isClosed()) return;
    await this.#until(async () => copied.isClosed() || (await this.#hasEnded(id, userId)), BACKGROUND.readMs);
    const content = await this.#services.store.content(id, userId);
    copied.stream.end(content && !isRunning(content) ? eventsAfter(content, copied.last) : '');
  }

  /** Asks the process that makes the response to end it, and waits for that. Returns the response as it is then. */
  async cancel(id: string, userId: string): Promise<Snapshot> {
    const { db, store } = this.#services;
    const find = async (): Promise<StoredContent> => {
      const content = await store.content(id, userId);
      if (!content) throw responseNotFound(id);
      return content;
    };
    const content = await find();
    if (content.response.background !== true)
      throw fail('invalid_request', 'Only background responses can be cancelled; this response is complete.', {
        param: 'response_id',
      });
    if (!isRunning(content)) return content.response;
    await requestCancel(db, id, userId);
    const run = this.#runs.get(id);
    if (run?.userId === userId) run.cancel();
    await this.#until(() => this.#hasEnded(id, userId), BACKGROUND.cancelWaitMs);
    return (await find()).response;
  }

  /** Lets responses end within the time, also those that clients ask for until `closed`; then the others fail. */
  async drain(ms: number, closed: Promise<void>): Promise<void> {
    const { clock } = this.#services;
    const deadline = clock.elapsed() + Math.max(ms - FINISH_MS, ms / 2);
    await within(closed, { clock, ms: deadline - clock.elapsed(), late: () => {} });
    await this.#until(() => this.#runs.size + this.#starting === 0, deadline - clock.elapsed());
    this.#isStopped = true;
    for (const run of this.#runs.values()) run.interrupt();
    await this.#until(() => this.#runs.size === 0, FINISH_LIMIT_MS);
  }

  async #hasEnded(id: string, userId: string): Promise<boolean> {
    return !(await isOpen(this.#services.db, id, userId, 'converting'));
  }

  #check({ operation, request, caller }: BackgroundStart['context']): void {
    if (operation !== 'responses.create')
      throw notPossible('only POST /v1/responses makes background responses; leave the field out.');
    if (!caller.key.store)
      throw notPossible('this API key stores no responses, so that the result could not be read; leave the field out.');
    if (request.state.store === false)
      throw notPossible('the result of a background response is stored; leave out `store`, or `background`.');
    if (!this.#services.store.isShared)
      throw notPossible('this server stores no responses, so that the result could not be read; leave the field out.');
    if (this.#isStopped) throw fail('shutting_down');
    if (this.#runs.size + this.#starting >= BACKGROUND.perProcess)
      throw fail(
        'rate_limit_exceeded',
        'background: this server runs as many background responses as it can; try again shortly.',
        { param: 'background', retryAfter: 5 },
      );
  }

  #add(id: string, run: Run): void {
    this.#runs.set(id, run);
    void run.ended.then(() => this.#runs.delete(id));
    if (this.#isWatching) return;
    this.#isWatching = true;
    this.#renewedAt = this.#services.clock.elapsed();
    this.#watchSoon();
  }

  #watchSoon(): void {
    this.#services.clock.after(BACKGROUND.watchMs, () => void this.#watch());
  }

  async #watch(): Promise<void> {
    const { db, clock, log } = this.#services;
    const runs = new Map([...this.#runs.values()].map((run) => [run.reference, run]));
    this.#isWatching = runs.size > 0;
    if (!this.#isWatching) return;
    try {
      for (const reference of await findStopped(db, [...runs.keys()])) runs.get(reference)?.cancel();
      if (clock.elapsed() - this.#renewedAt >= BACKGROUND.renewMs) {
        await renewLeases(db, [...runs.keys()]);
        this.#renewedAt = clock.elapsed();
      }
    } catch (error) {
      log.warn('background.watch_failed', { running: runs.size, ...errorFields(error) });
    }
    this.#watchSoon();
  }

  async #until(isTrue: () => boolean | Promise<boolean>, withinMs: number): Promise<void> {
    const { clock } = this.#services;
    const begunAt = clock.elapsed();
    while (!(await isTrue())) {
      const left = withinMs - (clock.elapsed() - begunAt);
      if (left <= 0) return;
      const waitMs = Math.min(left, pollMs(clock.elapsed() - begunAt));
      await new Promise<void>((resolve) => void clock.after(waitMs, resolve));
    }
  }
}

/** Short at first: most waits end within a second. */
const pollMs = (waitedMs: number): number => Math.min(BACKGROUND.pollMs, 20 + waitedMs / 4);

function firstSnapshot({ pair, replyContext }: BackgroundStart['context'], omittedTools: readonly number[]): Snapshot {
  const { requestId: id, model } = replyContext;
  const encoder = pair.client.openEncoder({ ...replyContext, omittedTools });
  const [created = '{}'] = encoder.pushEvents?.({ kind: 'start', id, model }) ?? [];
  return (JSON.parse(created) as { response: Snapshot }).response;
}

const notPossible = (why: string) => failAt('unsupported_parameter', 'background', why);
