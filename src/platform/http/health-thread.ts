/**
 * The thread of a health listener: responds to probes while the event loop of the process is busy.
 * Asks that event loop for a sign of life and for its readiness, and never waits for the first.
 * Loads nothing of the program, so that it stays small.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { HealthAnswer, HealthQuestion, HealthThreadData, HealthThreadMessage } from './health-listener.ts';

const { host, port, paths, limits, version } = workerData as HealthThreadData;
const post = (message: HealthThreadMessage): void => parentPort?.postMessage(message);

/** A question to the event loop. All probes wait for the one that is under way. */
class Question {
  readonly #name: HealthQuestion;
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;
  /** It has been open for longer than its time limit. */
  isLate = false;
  #waiting: ((reason: string | undefined) => void)[] = [];

  constructor(name: HealthQuestion, ms: number) {
    this.#name = name;
    this.#ms = ms;
  }

  ask(onAnswer: (reason: string | undefined) => void = () => {}): void {
    this.#waiting.push(onAnswer);
    if (this.#timer) {
      if (this.isLate) this.#settle(SILENT);
      return;
    }
    this.#timer = setTimeout(() => {
      this.isLate = true;
      this.#settle(SILENT);
    }, this.#ms);
    post({ question: this.#name });
  }

  answer(reason: string | undefined): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.isLate = false;
    this.#settle(reason);
  }

  #settle(reason: string | undefined): void {
    for (const onAnswer of this.#waiting.splice(0)) onAnswer(reason);
  }
}

const SILENT = 'the event loop does not respond';
const questions = { alive: new Question('alive', limits.stalledMs), ready: new Question('ready', limits.readyMs) };

function send(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, { ...headers, 'cache-control': 'no-store' }).end(text);
}

/** A probe needs one request on one connection; slow and idle clients are closed soon. */
const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000, keepAliveTimeout: 5_000 });
server.maxConnections = limits.connections;
server.on('request', ({ method, url }, response) => {
  const isRead = method === 'GET' || method === 'HEAD';
  if (isRead && url === paths.alive) {
    questions.alive.ask();
    const reason = questions.alive.isLate ? SILENT : undefined;
    send(response, reason ? 503 : 200, reason ? { status: 'stalled', reason } : { status: 'alive', version });
  } else if (isRead && url === paths.ready)
    questions.ready.ask((reason) =>
      send(response, reason ? 503 : 200, reason ? { status: 'not ready', reason } : { status: 'ready' }),
    );
  else send(response, 404, { error: { message: `This port serves GET ${paths.alive} and ${paths.ready} only.` } });
});
server.on('error', ({ code, message }: NodeJS.ErrnoException) => post({ failure: { code, message } }));
server.listen(port, host, () => post({ port: (server.address() as AddressInfo).port }));

parentPort?.on('message', ({ question, reason }: HealthAnswer) => questions[question].answer(reason));
