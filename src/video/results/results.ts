/**
 * Delivery of results (V 4.6): from the mirror where there is one, otherwise from the provider with few connections at
 * a time. Callers never see an address, host or header of the provider.
 */
import { type ApiError, fail } from '../../core/index.ts';
import { PublicGuard, type PublicGuardOptions } from '../../platform/outbound/index.ts';
import { type Call, type ClientStreamLimits, ClientStreams } from '../../platform/web/index.ts';
import type { UpstreamClient } from '../../providers/upstream/index.ts';
import type { VideoServices } from '../services.ts';
import { statusOf, type TaskRow } from '../tasks/task.ts';
import { BrokenTransfer, type ByteStream } from './byte-stream.ts';
import { isDiskError, Mirror, type MirrorOptions } from './mirror.ts';
import { MirrorFailure } from './mirror-reading.ts';
import { allowsPart, type RangeRequest, readRange, selectRange } from './range.ts';
import { Renewals } from './renewals.ts';
import {
  entityTag,
  hasLastFrame,
  lastModified,
  type Result,
  type ResultFacts,
  type ResultKind,
  resultOf,
  resultsOf,
  UNKNOWN_TYPE,
} from './result.ts';
import { sendHead, sendResult } from './send.ts';
import { ResultTurns } from './turns.ts';
import { type UpstreamFile, UpstreamSource, unsatisfiable } from './upstream-source.ts';

export interface MirrorSettings extends Pick<MirrorOptions, 'folder' | 'days' | 'maxBytes'> {
  /** Mirrors results as soon as their task has succeeded, not at their first read. */
  readonly atSuccess: boolean;
}

export interface ResultsOptions extends VideoServices {
  readonly upstream: UpstreamClient;
  readonly streamLimits: ClientStreamLimits;
  /** Without it every result is read from the provider. */
  readonly mirror: MirrorSettings | undefined;
  /** For tests: how names are resolved. */
  readonly resolve?: PublicGuardOptions['resolve'];
}

/** Enough to detect the type. */
const FIRST_BYTES: RangeRequest = { first: 0, last: 11 };
/** Known sizes and types: they save a download for HEAD requests and for ranges behind the end. */
const MAX_FACTS = 1_000;

export class Results {
  readonly mirror: Mirror | undefined;
  readonly #options: ResultsOptions;
  readonly #source: UpstreamSource;
  readonly #turns: ResultTurns;
  readonly #streams: ClientStreams;
  readonly #facts = new Map<string, ResultFacts>();

  constructor(options: ResultsOptions) {
    const { clock, log, resolve } = options;
    this.#options = options;
    this.mirror = options.mirror && new Mirror({ ...options.mirror, clock, log });
    this.#source = new UpstreamSource({
      ...options,
      guard: new PublicGuard({ clock, ...(resolve && { resolve }) }),
      renewals: new Renewals(options),
    });
    this.#turns = new ResultTurns(clock);
    this.#streams = new ClientStreams(clock, options.streamLimits);
  }

  async deliver(call: Call, task: TaskRow, kind: ResultKind): Promise<void> {
    if (statusOf(task) !== 'succeeded') throw notReady(task);
    if (kind === 'last_frame' && !hasLastFrame(task)) throw fail('last_frame_not_found');
    const result = resultOf(task, kind);
    if (call.request.method === 'HEAD') return this.#describe(call, result);
    const asked = readRange(call.header('range'));
    const isPart = asked && allowsPart(call.header('if-range'), entityTag(result), lastModified(result));
    const delivery = await this.#open(call, result, isPart ? asked : undefined);
    await sendResult({ streams: this.#streams, log: this.#options.log }, call, result, delivery);
  }

  /**
   * Downloads the results of a task into the mirror. False when it does not take them;
   * throws when one cannot be fetched now.
   */
  async mirrorAll(task: TaskRow): Promise<boolean> {
    for (const result of resultsOf(task)) {
      const mirrored = await this.mirror?.open(result, () => this.#source.open(result));
      if (!mirrored) return false;
      await mirrored.finished().finally(() => mirrored.close());
    }
    return true;
  }

  /** Removes what is mirrored of a deleted task. */
  async forget(task: TaskRow): Promise<void> {
    for (const result of resultsOf(task)) await this.mirror?.remove(result);
  }

  async close(): Promise<void> {
    await this.mirror?.close();
  }

  async #describe(call: Call, result: Result): Promise<void> {
    const { type, size } = this.#facts.get(result.name) ?? (await this.#readFacts(call, result));
    sendHead(call, result, { type, size, range: undefined }, size);
    call.response.end();
  }

  async #readFacts(call: Call, result: Result): Promise<Pick<UpstreamFile, 'type' | 'size'>> {
    const delivery = await this.#open(call, result, FIRST_BYTES);
    delivery.body.close();
    return delivery;
  }

  async #open(call: Call, result: Result, request: RangeRequest | undefined): Promise<UpstreamFile> {
    const known = this.#facts.get(result.name);
    if (request && known && !selectRange(request, known.size)) throw unsatisfiable(known.size);
    const opened =
      (await this.#openMirrored(call, result, request)) ?? (await this.#openUpstream(call, result, request));
    // A part from the middle does not show its type.
    const type = opened.type === UNKNOWN_TYPE && known ? known.type : opened.type;
    if (opened.size !== undefined) this.#remember(result, { size: opened.size, type });
    return { ...opened, type };
  }

  async #openMirrored(call: Call, result: Result, request: RangeRequest | undefined) {
    const mirrored = await this.mirror?.open(result, () => this.#source.open(result));
    if (!mirrored) return undefined;
    const { size, type } = mirrored.facts;
    const range = request && selectRange(request, size);
    if (request && !range) {
      mirrored.close();
      throw unsatisfiable(size);
    }
    const selected = range ?? { start: 0, end: size - 1 };
    const goOn = async (first: number): Promise<ByteStream> => {
      const rest = await this.#openUpstream(call, result, { first, last: selected.end });
      if (rest.size === size && rest.range?.start === first) return rest.body;
      rest.body.close();
      throw new BrokenTransfer('OTHER_FILE');
    };
    return { type, size, range, body: withFallback(mirrored.read(selected), selected.start, goOn) };
  }

  /** Waits for one of the few connections, and holds it until the transfer is over. */
  async #openUpstream(call: Call, result: Result, request: RangeRequest | undefined): Promise<UpstreamFile> {
    const endTurn = await this.#turns.take(result.name, (leave) => call.onClientGone(leave));
    const cancel = new AbortController();
    call.onClientGone(() => cancel.abort());
    try {
      const file = await this.#source.open(result, { range: request, signal: cancel.signal });
      return { ...file, body: finallyCall(file.body, endTurn) };
    } catch (error) {
      endTurn();
      throw error;
    }
  }

  #remember({ name }: Result, facts: ResultFacts): void {
    if (this.#facts.size >= MAX_FACTS) this.#facts.clear();
    this.#facts.set(name, facts);
  }
}

function notReady(task: TaskRow): ApiError {
  const isOver = task.finished_at !== null;
  return fail('video_not_ready', isOver ? `The task has no video: it is ${statusOf(task)}.` : undefined);
}

/** Calls `done` once, when the stream has ended, broken or been closed. */
function finallyCall(body: ByteStream, done: () => void): ByteStream {
  return {
    async next() {
      try {
        const chunk = await body.next();
        if (!chunk) done();
        return chunk;
      } catch (error) {
        done();
        throw error;
      }
    },
    close() {
      body.close();
      done();
    },
  };
}

/** Reads from the mirror, and from the provider from where the mirror fails: a full disk must not break a transfer. */
function withFallback(first: ByteStream, start: number, goOn: (position: number) => Promise<ByteStream>): ByteStream {
  let body = first;
  let position = start;
  let isClosed = false;
  return {
    async next() {
      let chunk: Buffer | undefined;
      try {
        chunk = await body.next();
      } catch (error) {
        if (body !== first || isClosed || !(error instanceof MirrorFailure || isDiskError(error))) throw error;
        first.close();
        body = await goOn(position);
        if (isClosed) body.close();
        chunk = await body.next();
      }
      position += chunk?.length ?? 0;
      return chunk;
    },
    close() {
      isClosed = true;
      body.close();
    },
  };
}
