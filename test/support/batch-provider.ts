/**
 * The batch APIs of OpenAI and of Anthropic in front of a simulated provider, which replies to each request of a batch.
 * Other paths pass.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { sql } from 'kysely';
import type { Db } from '../../src/platform/db/index.ts';

type Json = Record<string, unknown>;

interface ProviderBatch {
  readonly id: string;
  readonly isMessages: boolean;
  readonly inputFile: string;
  readonly requests: readonly { readonly customId: string; readonly url: string; readonly body: Json }[];
  status: string;
  /** Lines of results, and of errors. */
  output: string[];
  errors: string[];
  readonly headers: Record<string, string>;
}

export interface BatchProvider {
  readonly url: string;
  /** Method and path of each request. */
  readonly log: string[];
  readonly batches: ProviderBatch[];
  readonly files: Map<string, string>;
  /**
   * `refuse`: no batch is created. `fail`: its file is found invalid. `hold`: it runs until `finish`. `lose`: it is
   * created, and the connection breaks. `break`: the connection breaks before.
   */
  mode: 'serve' | 'refuse' | 'fail' | 'hold' | 'lose' | 'break';
  /** Requests to which no response comes until `resume`, as method and path. */
  stalls: RegExp | undefined;
  /** Breaks the connections of those. */
  resume(): void;
  /** Changes the lines of results. */
  edit: (line: Json, n: number) => readonly string[];
  finish(batch: ProviderBatch, status: 'completed' | 'cancelled' | 'expired'): Promise<void>;
  close(): Promise<void>;
}

const whole = (line: Json): readonly string[] => [JSON.stringify(line)];

export async function startBatchProvider(sim: () => string): Promise<BatchProvider> {
  let ids = 0;
  const stalled: ServerResponse[] = [];
  const newId = (prefix: string): string => {
    ids += 1;
    return `${prefix}_${ids}`;
  };
  const provider: BatchProvider = {
    url: '',
    log: [],
    batches: [],
    files: new Map(),
    mode: 'serve',
    edit: whole,
    stalls: undefined,
    resume() {
      provider.stalls = undefined;
      for (const response of stalled.splice(0)) response.destroy();
    },
    async finish(batch, status) {
      for (const [n, { customId, url, body }] of batch.requests.entries()) {
        const isDone = status === 'completed' || n === 0;
        const sent = { method: 'POST', headers: batch.headers, body: JSON.stringify(body) };
        const reply = isDone ? await fetch(`${sim()}${url}`, sent) : undefined;
        const content = (await reply?.json()) as Json | undefined;
        if (batch.isMessages) {
          const ended = reply?.ok ? { type: 'succeeded', message: content } : { type: 'errored', error: content };
          const result = reply ? ended : { type: status === 'cancelled' ? 'canceled' : 'expired' };
          batch.output.push(...provider.edit({ custom_id: customId, result }, n));
          continue;
        }
        const response = reply && { status_code: reply.status, request_id: newId('req'), body: content };
        const error = reply ? null : { code: `batch_${status}`, message: 'This request could not be executed.' };
        const line = { id: newId('batch_req'), custom_id: customId, response: response ?? null, error };
        (reply?.ok ? batch.output : batch.errors).push(...provider.edit(line, n));
      }
      batch.status = status;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  server.keepAliveTimeout = 75_000;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const method = request.method ?? '';
    const { pathname: path } = new URL(request.url ?? '', 'http://provider');
    provider.log.push(`${method} ${path}`);
    if (provider.stalls?.test(`${method} ${path}`)) return void stalled.push(response);
    const headers = Object.fromEntries(
      Object.entries(request.headers).flatMap(([name, value]) =>
        /^(?:authorization|x-api-key|anthropic-|content-type)/.test(name) ? [[name, String(value)]] : [],
      ),
    );
    const send = (content: unknown, status = 200): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(content));
    const [, kind, id = '', verb = ''] =
      /^\/v1\/(files|batches|messages\/batches)(?:\/([^/]+))?(?:\/(\w+))?$/.exec(path) ?? [];
    if (kind === 'files' && method === 'POST') {
      const form = await new Response(body, { headers }).formData();
      const [file, name] = [form.get('file'), newId('file')];
      provider.files.set(name, file instanceof Blob ? await file.text() : '');
      return send({ id: name, object: 'file', purpose: form.get('purpose'), status: 'processed' });
    }
    if (kind === 'files' && method === 'DELETE')
      return send({ id, object: 'file', deleted: provider.files.delete(id) });
    if (kind === 'files') return void response.writeHead(200).end(resultsOf(id));
    if (kind !== undefined && method === 'POST' && id === '') return create(kind, body, { headers, response, send });
    if (kind !== undefined && id === '')
      return send({
        data: provider.batches
          .filter((one) => one.isMessages === (kind !== 'batches'))
          .map(view)
          .reverse(),
      });
    if (kind !== undefined) {
      const batch = provider.batches.find((one) => one.id === id);
      if (!batch) return send({ error: { type: 'not_found_error', message: 'No such batch.' } }, 404);
      if (verb === 'results') return void response.writeHead(200).end(batch.output.join('\n'));
      if (verb === 'cancel') await provider.finish(batch, 'cancelled');
      if (method === 'DELETE') provider.batches.splice(provider.batches.indexOf(batch), 1);
      return send(view(batch));
    }
    const sent = await fetch(`${sim()}${request.url}`, { method, headers, ...(body.length > 0 && { body }) });
    response.writeHead(sent.status, { 'content-type': sent.headers.get('content-type') ?? '' });
    response.end(Buffer.from(await sent.arrayBuffer()));
  }

  /** Files of results have the name of their batch. */
  function resultsOf(file: string): string {
    const batch = provider.batches.find(({ id }) => file.endsWith(id));
    const lines = file.startsWith('out') ? batch?.output : batch?.errors;
    return (lines ?? []).map((line) => `${line}\n`).join('');
  }

  interface Creation {
    readonly headers: Record<string, string>;
    readonly response: ServerResponse;
    readonly send: (content: unknown, status?: number) => void;
  }

  async function create(kind: string, body: Buffer, { headers, response, send }: Creation): Promise<void> {
    if (provider.mode === 'refuse')
      return send({ error: { type: 'invalid_request_error', message: 'Batches are not possible.' } }, 400);
    if (provider.mode === 'break') return void response.destroy();
    const asked = JSON.parse(body.toString()) as {
      readonly input_file_id?: string;
      readonly requests?: readonly { readonly custom_id: string; readonly params: Json }[];
    };
    const lines = (provider.files.get(asked.input_file_id ?? '') ?? '').trimEnd().split('\n').filter(Boolean);
    const requests =
      asked.requests?.map(({ custom_id: customId, params }) => ({ customId, url: '/v1/messages', body: params })) ??
      lines.map((line) => JSON.parse(line)).map(({ custom_id: customId, ...rest }) => ({ customId, ...rest }));
    const batch: ProviderBatch = {
      id: newId('msgbatch'),
      isMessages: kind !== 'batches',
      inputFile: asked.input_file_id ?? '',
      requests,
      status: provider.mode === 'fail' ? 'failed' : 'in_progress',
      output: [],
      errors: [],
      headers: { ...headers, 'content-type': 'application/json' },
    };
    provider.batches.push(batch);
    if (provider.mode === 'lose') return void response.destroy();
    if (provider.mode === 'serve') await provider.finish(batch, 'completed');
    send(view(batch));
  }

  function view({ id, isMessages, inputFile, requests, status, output, errors }: ProviderBatch): object {
    const created = new Date();
    const isRunning = status === 'in_progress';
    if (isMessages) {
      const ended = isRunning ? 0 : requests.length;
      const counts = { processing: requests.length - ended, succeeded: ended, errored: 0, canceled: 0, expired: 0 };
      return {
        ...{
          id,
          type: 'message_batch',
          processing_status: isRunning ? 'in_progress' : 'ended',
          request_counts: counts,
        },
        ...{
          created_at: created.toISOString(),
          results_url: isRunning ? null : `${provider.url}/v1/messages/batches/${id}/results`,
        },
      };
    }
    return {
      id,
      object: 'batch',
      status,
      input_file_id: inputFile,
      created_at: Math.floor(created.getTime() / 1_000),
      ...{
        output_file_id: output.length > 0 ? `out_${id}` : undefined,
        error_file_id: errors.length > 0 ? `err_${id}` : undefined,
      },
      request_counts: { total: requests.length, completed: output.length, failed: errors.length },
    };
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return Object.assign(provider, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

/** Running batches are due after a tenth of a second rather than two. */
export async function checkSoon(db: Db): Promise<void> {
  await sql`
    create function due_soon() returns trigger language plpgsql as $$
    begin
      new.next_check_at := least(new.next_check_at, now() + interval '100 milliseconds');
      return new;
    end $$`.execute(db);
  await sql`
    create trigger due_soon before insert or update on provider_batches for each row
    when (new.state = 'running') execute function due_soon()`.execute(db);
}
