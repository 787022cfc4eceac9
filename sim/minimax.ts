/**
 * The simulated Hailuo: tasks, files, and numbers of errors inside of successes. A prompt with `[[1027]]` fails with
 * that number.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isObject, type JsonObject } from './json.ts';

const MEMBERS = ['model', 'prompt', 'duration', 'resolution', 'aigc_watermark', 'prompt_optimizer'];
const IMAGES = ['first_frame_image', 'last_frame_image'];
const STATES = ['Queueing', 'Processing', 'Success'];

export const MINIMAX_KEY = 'minimax-simulated-key';
export const MINIMAX_FILE = Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isomHailuo', 'latin1');

interface MinimaxTask {
  readonly failure: number | undefined;
  polls: number;
}

export class MinimaxSim {
  /** Bodies of create requests. */
  readonly creates: JsonObject[] = [];
  /** The number of the next create; `lost`: the task exists, and its answer never comes. */
  next: number | 'lost' | undefined;
  /** The next request for a file finds none. */
  hidesFile = false;
  limitsReads = false;
  reads = 0;
  readonly #tasks: MinimaxTask[] = [];
  readonly #server: Server;

  constructor() {
    this.#server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://sim');
      if (pathname.startsWith('/obj/')) {
        const headers = { 'content-type': 'video/mp4', 'content-length': String(MINIMAX_FILE.length) };
        return void response.writeHead(request.headers.authorization ? 403 : 200, headers).end(MINIMAX_FILE);
      }
      const isKnown = request.headers.authorization === `Bearer ${MINIMAX_KEY}`;
      const reply = isKnown ? this.#reply(pathname, searchParams, Buffer.concat(chunks)) : failed(1004);
      if (reply === undefined) return void request.socket.destroy();
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #reply(path: string, query: URLSearchParams, body: Buffer): object | undefined {
    if (path === '/v1/video_generation') return this.#create(JSON.parse(body.toString()));
    if (path === '/v1/query/video_generation') return this.#query(query.get('task_id') ?? '');
    if (path !== '/v1/files/retrieve' || this.hidesFile) return failed(2013);
    const file_id = query.get('file_id');
    return { file: { file_id, download_url: `${this.url}/obj/${file_id}.mp4` }, base_resp: OK };
  }

  #create(body: unknown): object | undefined {
    const request = isObject(body) ? body : {};
    this.creates.push(request);
    const next = this.next;
    this.next = undefined;
    const isUnknown = Object.keys(request).some((name) => ![...MEMBERS, ...IMAGES].includes(name));
    const isImage = IMAGES.every((name) => /^(?:https?:|data:image\/|undefined)/.test(String(request[name])));
    if (isUnknown || !isImage || ![6, 10].includes(Number(request.duration))) return failed(2013);
    if (typeof next === 'number') return failed(next);
    const failure = /\[\[(\d+)\]\]/.exec(String(request.prompt))?.[1];
    this.#tasks.push({ failure: failure === undefined ? undefined : Number(failure), polls: 0 });
    return next === 'lost' ? undefined : { task_id: String(this.#tasks.length), base_resp: OK };
  }

  #query(task_id: string): object {
    this.reads += 1;
    if (this.limitsReads) return failed(1002);
    const task = this.#tasks[Number(task_id) - 1];
    if (!task) return failed(2013);
    const status = STATES[Math.min(task.polls, STATES.length - 1)];
    task.polls += 1;
    if (status !== 'Success') return { task_id, status, base_resp: OK };
    if (task.failure !== undefined) return { task_id, status: 'Fail', ...failed(task.failure) };
    return { task_id, status, file_id: `77${task_id}`, video_width: 1366, video_height: 768, base_resp: OK };
  }
}

const OK = { status_code: 0, status_msg: 'success' };
const failed = (status_code: number): object => ({ base_resp: { status_code, status_msg: 'Simulated error.' } });
