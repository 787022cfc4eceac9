/**
 * Bodies of calls of keys with capture on, encrypted and written in batches. What exceeds memory or the limit of its
 * key is not kept.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Key } from '../../access/keys/index.ts';
import { errorFields, within } from '../../core/index.ts';
import type { StoreServices } from '../../platform/db/index.ts';
import { BodyTap, type Call, type TappedBody } from '../../platform/web/index.ts';
import { CAPTURE, CAPTURED_HEADERS, CAPTURED_PARAMETERS, isInference, type Operation } from '../../rules/index.ts';
import { type CaptureContent, captureLocation } from './captures.ts';

export interface CaptureLogOptions extends StoreServices {
  readonly flushMs: number;
}

const BATCH = 20;
const MAX_BYTES = 2 * CAPTURE.bodyBytes;
/** A key that is full or was switched off is not collected for so long. */
const CLOSED_MS = 5_000;
const STOP_MS = 3_000;

interface Waiting {
  readonly key: Key;
  readonly id: string;
  readonly at: number;
  readonly tap: BodyTap;
  readonly head: Pick<CaptureContent['request'], 'method' | 'path' | 'headers'>;
  readonly status: number;
  readonly bytes: number;
}

export class CaptureLog {
  readonly #options: CaptureLogOptions;
  /** By switch. */
  readonly #closed = new Map<string, number>();
  #waiting: Waiting[] = [];
  /** Of bodies that wait, and the most that those of open calls can take. */
  #bytes = 0;
  #cancel: (() => void) | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: CaptureLogOptions) {
    this.#options = options;
  }

  /** Called with every call of a key for which capture is on, before its body is read. */
  tap(call: Call, key: Key): void {
    const { clock } = this.#options;
    const now = clock.now();
    const isOver = key.captureUntil === null || key.captureUntil <= now;
    if (isOver || call.upgrade || !isInference(call.operation as Operation)) return;
    if ((this.#closed.get(switchOf(key)) ?? 0) > now || this.#bytes + MAX_BYTES > CAPTURE.memoryBytes) return;
    this.#bytes += MAX_BYTES;
    const tap = new BodyTap(call.response, CAPTURE.bodyBytes);
    call.tap = tap;
    call.onClose(() => this.#add(call, key, tap));
  }

  async stop(): Promise<void> {
    this.#cancel?.();
    const flushed = this.#running.then(() => this.#flush());
    await within(flushed, { clock: this.#options.clock, ms: STOP_MS, late: () => {} });
  }

  #add(call: Call, key: Key, tap: BodyTap): void {
    const { clock, flushMs } = this.#options;
    const bytes = Math.min(tap.request.bytes, CAPTURE.bodyBytes) + Math.min(tap.response.bytes, CAPTURE.bodyBytes);
    this.#bytes -= MAX_BYTES - bytes;
    const head = { method: call.request.method, path: pathOf(call), headers: headersOf(call) };
    this.#waiting.push({ key, id: call.id, at: call.startedAt, tap, head, status: call.response.statusCode, bytes });
    this.#cancel ??= clock.after(flushMs, () => {
      this.#cancel = undefined;
      this.#running = this.#running.then(() => this.#flush());
    });
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH);
      try {
        await this.#write(batch);
      } catch (error) {
        // Not kept: a capture is a help for debugging, and memory is worth more.
        this.#options.log.warn('capture.write_failed', { calls: batch.length, ...errorFields(error) });
      }
      for (const { bytes } of batch) this.#bytes -= bytes;
    }
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const { db, sealer, clock } = this.#options;
    const rows: object[] = [];
    for (const one of batch) {
      const { key, id, at, bytes } = one;
      const sealed = sealer.seal(JSON.stringify(contentOf(one)), captureLocation(id));
      rows.push({ user_id: key.userId, request_id: id, key_id: key.id, at: new Date(at), bytes, sealed });
      await nextTurn();
    }
    const { rows: written } = await sql<{ request_id: string }>`
      insert into captures (user_id, request_id, key_id, at, bytes, sealed)
      select c.user_id, c.request_id, c.key_id, c.at, c.bytes, c.sealed from (
        select r.*, sum(bytes) over (partition by user_id, key_id order by at, request_id) as so_far
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
          as r (user_id text, request_id text, key_id text, at timestamptz, bytes integer, sealed text)) c
      join keys k on k.id = c.key_id and k.user_id = c.user_id and k.capture_until > now()
      where c.so_far + (
        select coalesce(sum(o.bytes), 0) from captures o where o.user_id = c.user_id and o.key_id = c.key_id) <= ${CAPTURE.keyBytes}
      on conflict do nothing returning request_id`.execute(db);
    const now = clock.now();
    for (const [id, until] of this.#closed) if (until <= now) this.#closed.delete(id);
    for (const { key, id } of batch)
      if (!written.some(({ request_id }) => request_id === id)) this.#closed.set(switchOf(key), now + CLOSED_MS);
  }
}

/** Another time of the same key is another switch. */
const switchOf = ({ id, captureUntil }: Key): string => `${id} ${captureUntil}`;

/** Clients put credentials into the query, in any spelling. */
function pathOf({ path, query }: Call): string {
  const kept = [...new URLSearchParams(query)].filter(([name]) => CAPTURED_PARAMETERS.includes(name));
  const text = new URLSearchParams(kept).toString();
  return text === '' ? path : `${path}?${text}`;
}

const headersOf = (call: Call): Record<string, string> =>
  Object.fromEntries(
    CAPTURED_HEADERS.flatMap((name) => {
      const value = call.header(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );

const contentOf = ({ tap, head, status }: Waiting): CaptureContent => ({
  request: { ...head, ...bodyOf(tap.request) },
  response: {
    status,
    headers: tap.responseType === undefined ? {} : { 'content-type': tap.responseType },
    ...bodyOf(tap.response),
  },
});

function bodyOf(body: TappedBody) {
  const { bytes, isCut: cut } = body;
  const kept = body.join();
  const text = textOf(kept, cut);
  if (text !== undefined) return { body: text, encoding: 'utf8' as const, bytes, cut };
  return { body: kept.toString('base64'), encoding: 'base64' as const, bytes, cut };
}

/** Undefined for bytes that are no UTF-8. The cut may go through a character. */
function textOf(bytes: Buffer, isCut: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}
