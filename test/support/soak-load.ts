/**
 * The load of a soak run: clients of all kinds, one call after the other, of which a part meets a fault of the
 * provider.
 */
import assert from 'node:assert/strict';
import type { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { FAULT_CASES } from '../../sim/index.ts';
import { CONVERTED_LANES, type Lane, laneName, NATIVE_LANES, PROMPT, runLane, SOCKET_LANES } from './fault-lanes.ts';
import type { Outage } from './soak-servers.ts';
import { callVideo, TASKS, taskBody } from './video.ts';

export interface LoadOptions {
  readonly urls: () => readonly string[];
  readonly keyOf: (group: string) => string;
  readonly random: (below: number) => number;
  readonly agent: Agent;
  readonly clients: number;
  /** Wait of a client between two calls. */
  readonly thinkMs: number;
}

export interface LoadReport {
  readonly calls: Record<string, number>;
  readonly faults: number;
  /** Calls that failed for no reason of the script. */
  readonly failures: readonly string[];
  /** Calls that a killed process took with it. */
  readonly killed: number;
  /** Request ids of complete replies. */
  readonly completed: readonly string[];
}

/** In percent of all calls. */
const FAULTY = 5;
const IMAGES = 6;
const VIDEOS = 3;
const LISTS = 6;
const LANES: readonly Lane[] = [
  ...[...NATIVE_LANES, ...CONVERTED_LANES.flat()].flatMap((lane): Lane[] => [lane, { ...lane, mode: 'stream' }]),
  ...SOCKET_LANES,
];
/** Without those that wait for a time limit, or put a whole account into cooldown. */
const FAULTS = FAULT_CASES.filter(
  ({ words, isSlow, needsTool }) => !isSlow && !needsTool && !/40[12]|bad_key/.test(words),
);
/** A user may create 60 tasks a minute. */
const VIDEO_EVERY_MS = 1_500;
const VIDEO_POLL_MS = 1_000;
const VIDEO_LIMIT_MS = 120_000;

interface Failed {
  readonly what: string;
  readonly url: string;
  readonly from: number;
  readonly to: number;
}

export class SoakLoad {
  readonly #options: LoadOptions;
  readonly #calls = new Map<string, number>();
  readonly #failed: Failed[] = [];
  readonly #completed: string[] = [];
  readonly #clients: Promise<void>[];
  readonly #videos = new Set<Promise<void>>();
  #faults = 0;
  #count = 0;
  #lastVideoAt = Number.NEGATIVE_INFINITY;
  #isStopping = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#clients = Array.from({ length: options.clients }, () => this.#runClient());
  }

  /** Ends when all clients have their last response. */
  async stop(outages: readonly Outage[]): Promise<LoadReport> {
    this.#isStopping = true;
    await Promise.all(this.#clients);
    await Promise.all(this.#videos);
    const isKilled = ({ url, from, to }: Failed): boolean =>
      outages.some((outage) => outage.url === url && from <= outage.to && to >= outage.from);
    return {
      calls: Object.fromEntries(this.#calls),
      faults: this.#faults,
      failures: this.#failed.filter((failed) => !isKilled(failed)).map(({ what }) => what),
      killed: this.#failed.filter(isKilled).length,
      completed: this.#completed,
    };
  }

  async #runClient(): Promise<void> {
    while (!this.#isStopping) {
      await this.#runCall();
      await pause(this.#options.random(2 * this.#options.thinkMs));
    }
  }

  async #runCall(): Promise<void> {
    const { random } = this.#options;
    const draw = random(100);
    if (draw < IMAGES) return this.#attempt('image', (url) => this.#image(url));
    if (draw < IMAGES + LISTS) return this.#attempt('list', (url) => this.#list(url));
    if (draw < IMAGES + LISTS + VIDEOS && performance.now() - this.#lastVideoAt > VIDEO_EVERY_MS) {
      this.#lastVideoAt = performance.now();
      // Polled beside the other calls of the client, because a task takes seconds.
      const video = this.#attempt('video', (url) => this.#video(url)).finally(() => this.#videos.delete(video));
      this.#videos.add(video);
      return;
    }
    const lane = LANES[random(LANES.length)] as Lane;
    return this.#attempt(lane.mode, (url) => this.#text(url, lane, random(100) < FAULTY));
  }

  async #attempt(kind: string, run: (url: string) => Promise<void>): Promise<void> {
    const { urls, random } = this.#options;
    const url = urls()[random(urls().length)] ?? '';
    this.#calls.set(kind, (this.#calls.get(kind) ?? 0) + 1);
    const from = performance.now();
    try {
      await run(url);
    } catch (error) {
      const what = `${kind}: ${error instanceof Error ? `${error.message} ${String(error.cause ?? '')}` : String(error)}`;
      this.#failed.push({ what, url, from, to: performance.now() });
    }
  }

  async #text(url: string, lane: Lane, isFaulty: boolean): Promise<void> {
    const { keyOf, agent, random } = this.#options;
    this.#count += 1;
    const mode = lane.mode === 'websocket' ? (lane.group === 'relayed' ? 'socket' : 'stream') : lane.mode;
    const possible = FAULTS.filter(({ damage }) => damage[mode]);
    const fault = isFaulty ? possible[random(possible.length)] : undefined;
    if (fault) this.#faults += 1;
    const model = fault ? `demo-${this.#count}@${fault.words}` : `demo-${this.#count % 10}`;
    const outcome = await runLane(lane, { url, key: keyOf(lane.group), model, hasTool: false, agent });
    if (fault) return;
    assert.equal(outcome.end, 'complete', `${laneName(lane)}: ${outcome.status} ${outcome.code}`);
    assert.ok(outcome.text.endsWith(`You said: "${PROMPT}".`), `${laneName(lane)}: ${outcome.text}`);
    if (outcome.requestId !== undefined) this.#completed.push(outcome.requestId);
  }

  async #image(url: string): Promise<void> {
    const response = await this.#fetch(url, '/v1/images/generations', { model: 'demo-image', prompt: 'a kite' });
    const { data } = (await response.json()) as { data?: readonly { b64_json?: string }[] };
    assert.ok((data?.[0]?.b64_json?.length ?? 0) > 100, `image ${response.status}`);
  }

  async #list(url: string): Promise<void> {
    const response = await this.#fetch(url, '/v1/models');
    assert.equal(response.status, 200, await response.text());
  }

  /** From the creation of a task to its end, as a client that polls. */
  async #video(url: string): Promise<void> {
    const key = this.#options.keyOf('openai');
    const created = await callVideo(url, TASKS, { key, body: taskBody('EP') });
    assert.equal(created.status, 200, JSON.stringify(created.body));
    for (const begun = performance.now(); performance.now() - begun < VIDEO_LIMIT_MS; await pause(VIDEO_POLL_MS)) {
      // Another server may take the poll, as behind a load balancer.
      const polled = await callVideo(this.#options.urls()[0] ?? url, `${TASKS}/${String(created.body.id)}`, { key });
      assert.equal(polled.status, 200, JSON.stringify(polled.body));
      if (polled.body.status === 'succeeded') return;
      assert.match(String(polled.body.status), /^(?:queued|running)$/, JSON.stringify(polled.body));
    }
    assert.fail('a video task without an end');
  }

  #fetch(url: string, path: string, body?: object): Promise<Response> {
    return fetch(url + path, {
      headers: { authorization: `Bearer ${this.#options.keyOf('openai')}`, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
  }
}
