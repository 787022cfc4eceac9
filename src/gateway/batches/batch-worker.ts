/**
 * Sends the requests of batches, each as a call of the key that made the batch, a few at a time.
 * A request is marked as sent before it is, so that one whose outcome is unknown after a crash is never sent twice.
 */
import { sql } from 'kysely';
import { errorFields, type Log, type Sealer, toApiError, within } from '../../core/index.ts';
import { crashPoint } from '../../ledger/index.ts';
import type { Job } from '../../platform/db/index.ts';
import type { BodyBudget, Call } from '../../platform/web/index.ts';
import { BATCHES } from '../../rules/index.ts';
import type { GatewayServices } from '../services.ts';
import { type Batch, type BatchServices, findBatch } from './batch-store.ts';
import { type FailedReply, GONE, UNUSABLE } from './failed-reply.ts';
import { LineReply, lineCall } from './line-call.ts';
import { endOverdue, type LineRow, recordLine, renewLines, returnLine, takeLine } from './line-rows.ts';
import { resultLines, sealReply } from './results.ts';

export interface BatchWorkerServices extends BatchServices, Pick<GatewayServices, 'clock'> {
  readonly log: Log;
  readonly sealer: Sealer;
  readonly bodyBudget: BodyBudget;
}

/** Runs a call of the key as if it had come over HTTP. Resolves when its handler has ended. */
export type LineHost = (call: Call, owner: { readonly userId: string; readonly keyId: string }) => Promise<void>;

/** Statuses after which a request may be sent again, because it was not served. */
const REPEATABLE: ReadonlySet<number> = new Set([429, 503, 529]);

export class BatchWorker {
  readonly job: Job = {
    name: 'batches.send',
    everyMs: 1_000,
    needs: { name: 'batches', condition: sql<boolean>`exists (select from batches where state = 'running')` },
    run: () => this.#run(),
  };
  readonly #services: BatchWorkerServices;
  readonly #running = new Map<LineRow, { readonly done: Promise<void>; call?: Call }>();
  #host: LineHost | undefined;
  #taking: Promise<void> = Promise.resolve();
  #renewedAt = Number.NEGATIVE_INFINITY;

  constructor(services: BatchWorkerServices) {
    this.#services = services;
  }

  /** Requests are sent from now on. */
  start(host: LineHost): void {
    this.#host = host;
  }

  /** No further requests. Those that do not end within the time are sent again by another process. */
  async stop(ms: number): Promise<void> {
    this.#host = undefined;
    await this.#taking;
    const ended = Promise.all(this.#running.values().map(({ done }) => done)).then(() => {});
    const interrupt = (): void => {
      for (const { call } of this.#running.values()) call?.interrupt(() => call.response.destroy());
    };
    await within(ended, { clock: this.#services.clock, ms, late: interrupt });
    await ended;
  }

  async #run(): Promise<number> {
    const { db, clock } = this.#services;
    if (this.#running.size > 0 && clock.elapsed() - this.#renewedAt >= BATCHES.renewMs) {
      this.#renewedAt = clock.elapsed();
      await renewLines(db, [...this.#running.keys()]);
    }
    await endOverdue(db);
    await this.#finishAll();
    await this.#takeSoon();
    return 0;
  }

  #takeSoon(): Promise<void> {
    this.#taking = this.#taking.then(() => this.#take());
    return this.#taking;
  }

  async #take(): Promise<void> {
    const { db, log } = this.#services;
    try {
      while (this.#host && this.#running.size < BATCHES.perProcess) {
        const line = await takeLine(db);
        if (!line) return;
        crashPoint('batch.taken');
        this.#running.set(line, { done: this.#sendLine(line, this.#host) });
      }
    } catch (error) {
      log.warn('batch.take_failed', errorFields(error));
    }
  }

  /** Never rejects. What could not be recorded becomes an error when its lease has ended. */
  async #sendLine(line: LineRow, host: LineHost): Promise<void> {
    const { log } = this.#services;
    try {
      await this.#send(line, host);
    } catch (error) {
      log.error('batch.line_failed', { batch: line.batch_id, line: line.n, ...errorFields(error) });
    }
    this.#running.delete(line);
    void this.#takeSoon();
  }

  async #send(line: LineRow, host: LineHost): Promise<void> {
    const { db, files } = this.#services;
    const { user_id: userId, batch_id: id } = line;
    const batch = await findBatch(db, userId, id);
    if (!batch) return;
    const start = Number(line.start);
    const reply = new LineReply();
    const span = { start, end: start + line.bytes };
    const body = await files.readSpan(batch.input_file, userId, span).catch((error: unknown) => toApiError(error).code);
    if (body === 'file_not_found') return this.#record(line, { ...GONE, requestId: '' });
    if (typeof body === 'string') return returnLine(db, line, 1);
    const call = lineCall(this.#services, batch, body, reply);
    Object.assign(this.#running.get(line) ?? {}, { call });
    call.addLogFields({ batch: id, line: line.n });
    await host(call, { userId, keyId: batch.key_id });
    const isWhole = await reply.ended;
    crashPoint('batch.answered');
    const askedPause = isWhole ? pauseAfter(reply, line.attempts) : undefined;
    const pause = call.isInterrupted ? 0 : askedPause;
    if (pause !== undefined) return returnLine(db, line, pause);
    const { statusCode: status, body: content } = reply;
    await this.#record(line, {
      ...(isWhole && !reply.isTooLarge ? { status, content } : UNUSABLE),
      requestId: call.id,
    });
  }

  async #record(
    line: LineRow,
    { status, content, requestId }: FailedReply & { readonly requestId: string },
  ): Promise<void> {
    const { db, sealer } = this.#services;
    const sealed = sealReply(sealer, line, content);
    const state = status < 300 ? 'succeeded' : 'errored';
    await recordLine(db, line, { state, status, requestId, bytes: sealed.length, sealed });
    crashPoint('batch.recorded');
    await this.#finish(line.user_id, line.batch_id);
  }

  /** Batches whose last request has ended without the process that sent it. */
  async #finishAll(): Promise<void> {
    const { rows } = await sql<Batch>`
      select user_id, id from batches where state = 'running' and ${isDone} limit 20`.execute(this.#services.db);
    for (const { user_id, id } of rows) await this.#finish(user_id, id);
  }

  /** Writes the results, if this was the last request. */
  async #finish(userId: string, id: string): Promise<void> {
    const { db, files, sealer, log } = this.#services;
    await db.transaction().execute(async (tx) => {
      const { rows } = await sql<Batch>`
        select * from batches where user_id = ${userId} and id = ${id} and state = 'running' and ${isDone}
        for update skip locked`.execute(tx);
      const [batch] = rows;
      if (!batch) return;
      const owner = { userId, keyId: batch.key_id };
      const keep = async (name: string, which: Parameters<typeof resultLines>[2]): Promise<string> => {
        const form = {
          name: `${id}_${name}.jsonl`,
          mediaType: 'application/jsonl',
          purpose: 'batch_output',
          isResult: true,
        };
        return (await files.createIn(tx, owner, form, resultLines({ tx, sealer }, batch, which))).id;
      };
      const isMessages = batch.operation === 'messages.create';
      const outcomes = isMessages ? 'all' : 'succeeded';
      const output = isMessages || batch.succeeded > 0 ? await keep('output', outcomes) : null;
      const errors = !isMessages && batch.succeeded < batch.total ? await keep('error', 'others') : null;
      await tx.deleteFrom('batch_lines').where('user_id', '=', userId).where('batch_id', '=', id).execute();
      await sql`update batches set state = 'ended', ended_at = now(), output_file = ${output}, error_file = ${errors}
        where user_id = ${userId} and id = ${id}`.execute(tx);
      log.info('batch.ended', { batch: id, user: userId, total: batch.total, succeeded: batch.succeeded });
    });
    crashPoint('batch.written');
  }
}

const isDone = sql<boolean>`succeeded + errored + canceled + expired = total`;

/** Seconds until the request is sent again; undefined when its reply is the result. */
function pauseAfter({ statusCode, headers }: LineReply, attempts: number): number | undefined {
  if (!REPEATABLE.has(statusCode) || headers['x-should-retry'] === 'false' || attempts >= BATCHES.attempts)
    return undefined;
  const asked = Number(headers['retry-after'] ?? 0) || 0;
  return Math.min(BATCHES.maxPauseSeconds, Math.max(asked, 2 ** Math.min(attempts - 1, 10)));
}
