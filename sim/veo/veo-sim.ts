/**
 * The simulated Veo: `predictLongRunning` at the Gemini API and at Vertex AI, operations that are polled, and results
 * behind the credential. The Gemini API redirects downloads to another host, which refuses a request that carries the
 * credential.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readToken } from '../clouds/tokens.ts';
import { isObject, type JsonObject } from '../json.ts';
import { rangeReply } from '../video/ranges.ts';
import { planIn, type VeoCall, type VeoFault, type VeoPlan } from './faults.ts';
import { Refusal } from './refusal.ts';
import { readVeoRequest, type VeoRequest } from './request.ts';

export const VEO = { apiKey: 'veo-simulated-key', project: 'sim-project-1', bucket: 'gs://sim-bucket/videos' } as const;

interface Operation {
  readonly name: string;
  readonly request: VeoRequest;
  readonly plan: VeoPlan;
  polls: number;
}

export interface VeoEntry {
  readonly call: VeoCall | 'media';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

const GEMINI_CREATE = /^\/v1beta\/models\/([^/:]+):predictLongRunning$/;
const GEMINI_POLL = /^\/v1beta\/(models\/[^/]+\/operations\/[^/]+)$/;
const CLOUD = /^\/v1(?:beta1)?\/projects\/([^/]+)\/locations\/([^/]+)\/publishers\/google\/models\/([^/:]+):(\w+)$/;
const FILE = /^\/v1beta\/files\/([\w-]+):download$/;
const OBJECT = /^\/storage\/v1\/b\/([^/]+)\/o\/([^/]+)$/;
const MEDIA = '/media/';

export class VeoSim {
  readonly journal: VeoEntry[] = [];
  /** Polls until an operation is done. */
  polls = 1;
  readonly #operations = new Map<string, Operation>();
  readonly #faults: VeoFault[] = [];
  readonly #server: Server;
  #port = 0;

  constructor() {
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Operations that exist, whoever knows of them. */
  get created(): number {
    return this.#operations.size;
  }

  calls(call: VeoEntry['call']): readonly VeoEntry[] {
    return this.journal.filter((entry) => entry.call === call);
  }

  next(fault: VeoFault): void {
    this.#faults.push(fault);
  }

  async start(): Promise<this> {
    this.#server.listen(0);
    await once(this.#server, 'listening');
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', this.url);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = parsed(Buffer.concat(chunks));
    const call = callOf(request.method ?? '', pathname);
    this.journal.push({ call, path: pathname, headers, body });
    const at = this.#faults.findIndex(({ on }) => on === call);
    const [fault] = at < 0 ? [] : this.#faults.splice(at, 1);
    try {
      if (fault && fault.kind !== 'lost') return failWith(fault, request, response);
      if (call === 'media') return sendFile(response, headers, headers.authorization ?? headers['x-goog-api-key']);
      this.#authorize(pathname, headers);
      if (call === 'download') return this.#download(pathname, searchParams, headers, response);
      const reply = call === 'create' ? this.#create(pathname, body) : this.#poll(pathname, body);
      // The answer is lost, and the operation is not.
      if (fault) return void request.socket.destroy();
      sendJson(response, 200, reply);
    } catch (error) {
      const refusal = error instanceof Refusal ? error : new Refusal(500, 'INTERNAL', String(error));
      sendJson(response, refusal.status, refusal.body);
    }
  }

  #authorize(path: string, headers: Readonly<Record<string, string>>): void {
    if (!CLOUD.test(path) && !OBJECT.test(path)) {
      if (headers['x-goog-api-key'] !== VEO.apiKey)
        throw new Refusal(
          400,
          'INVALID_ARGUMENT',
          'API key not valid. Please pass a valid API key.',
          'API_KEY_INVALID',
        );
      return;
    }
    const token = readToken((headers.authorization ?? '').replace(/^Bearer /, ''));
    if (!token) throw new Refusal(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.');
    const project = CLOUD.exec(path)?.[1];
    if (project !== undefined && project !== VEO.project)
      throw new Refusal(
        403,
        'PERMISSION_DENIED',
        `Permission denied on resource project ${project}.`,
        'CONSUMER_INVALID',
      );
  }

  #create(path: string, body: JsonObject): object {
    const [, project, location, cloudModel] = CLOUD.exec(path) ?? [];
    const model = cloudModel ?? GEMINI_CREATE.exec(path)?.[1] ?? '';
    if (model.startsWith('missing-')) throw new Refusal(404, 'NOT_FOUND', `Publisher Model ${model} was not found.`);
    const request = readVeoRequest(body, project !== undefined);
    if (project !== undefined && request.storageUri === '')
      throw new Refusal(400, 'INVALID_ARGUMENT', 'storageUri is missing.');
    const plan = planIn(request.prompt);
    if (plan.ending === 'blocked')
      throw new Refusal(
        400,
        'INVALID_ARGUMENT',
        "The prompt violates Vertex AI's usage guidelines. Support codes: 58061214",
      );
    const parent = project === undefined ? '' : `projects/${project}/locations/${location}/publishers/google/`;
    const name = `${parent}models/${model}/operations/op${this.#operations.size + 1}`;
    this.#operations.set(name, { name, request, plan, polls: 0 });
    return { name };
  }

  #poll(path: string, body: JsonObject): object {
    const name = GEMINI_POLL.exec(path)?.[1] ?? String(body.operationName);
    const operation = this.#operations.get(name);
    if (!operation) throw new Refusal(404, 'NOT_FOUND', `Operation ${name} was not found.`);
    operation.polls += 1;
    const { ending } = operation.plan;
    if (operation.polls <= this.polls || ending === 'stuck') return { name, metadata: {} };
    if (typeof ending === 'object')
      return { name, done: true, error: { code: ending.error, message: 'Simulated error.' } };
    const filtered = { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['You have not been charged.'] };
    const id = name.replace(/^.*\//, '');
    if (path.startsWith('/v1beta/')) {
      const uri = `https://generativelanguage.googleapis.com/v1beta/files/${id}:download?alt=media`;
      const made = ending === 'video' ? { generatedSamples: [{ video: { uri } }] } : ending === 'rai' ? filtered : {};
      return { name, done: true, response: { generateVideoResponse: made } };
    }
    const gcsUri = `${operation.request.storageUri}/${id}/sample 0.mp4`;
    const made =
      ending === 'video' ? { videos: [{ gcsUri, mimeType: 'video/mp4' }] } : ending === 'rai' ? filtered : {};
    return { name, done: true, response: made };
  }

  #download(
    path: string,
    query: URLSearchParams,
    headers: Readonly<Record<string, string>>,
    response: ServerResponse,
  ): void {
    if (query.get('alt') !== 'media') throw new Refusal(400, 'INVALID_ARGUMENT', 'alt is not media.');
    const [, bucket, object] = OBJECT.exec(path) ?? [];
    if (bucket === undefined) {
      const location = `http://localhost:${this.#port}${MEDIA}${FILE.exec(path)?.[1]}?signature=1`;
      return void response.writeHead(302, { location, 'content-length': '0' }).end();
    }
    if (!decodeURIComponent(object ?? '').endsWith('/sample 0.mp4'))
      throw new Refusal(404, 'notFound', 'No such object');
    sendFile(response, headers);
  }
}

const callOf = (method: string, path: string): VeoEntry['call'] => {
  if (path.startsWith(MEDIA)) return 'media';
  if (FILE.test(path) || OBJECT.test(path)) return 'download';
  return method === 'POST' && path.endsWith(':predictLongRunning') ? 'create' : 'poll';
};

function parsed(bytes: Buffer): JsonObject {
  const value: unknown = bytes.length === 0 ? {} : JSON.parse(bytes.toString());
  return isObject(value) ? value : {};
}

/** A file that is recognised as a video, with a pattern in it. */
export const VEO_FILE = Buffer.concat([
  Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom', 'latin1'),
  Buffer.from(Uint8Array.from({ length: 4_096 }, (_, n) => n % 251)),
]);

/** `leaked`: a credential that this host must not see. */
function sendFile(response: ServerResponse, headers: Readonly<Record<string, string>>, leaked?: string): void {
  if (leaked !== undefined) return sendJson(response, 500, { error: 'a credential was sent to another host' });
  const reply = rangeReply(VEO_FILE, headers, { 'content-type': 'video/mp4' });
  response.writeHead(reply.status, { ...reply.headers, 'content-length': String(reply.body.length) }).end(reply.body);
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) });
  response.end(text);
}

function failWith(fault: VeoFault, request: IncomingMessage, response: ServerResponse): void {
  const { kind, status = 503, code = 'UNAVAILABLE', message = 'Simulated error.' } = fault;
  if (kind === 'reset') return void request.socket.resetAndDestroy();
  if (kind === 'html') return void response.writeHead(status, { 'content-type': 'text/html' }).end('<html></html>');
  if (kind === 'no_name') return sendJson(response, 200, { metadata: {} });
  sendJson(response, kind === 'error_in_success' ? 200 : status, new Refusal(status, code, message).body);
}
