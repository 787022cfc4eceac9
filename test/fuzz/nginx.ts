/**
 * nginx as a second judge, where it is installed. In front of our server, it adds to each request what it has read, and the server must
 * read the same. In front of a raw origin, it reads the same responses as our client, and must pass on the same status and body.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, freePort } from '../../bench/child.ts';
import { systemClock } from '../../src/core/index.ts';
import { bindPort, createHttpClient, HttpServer } from '../../src/platform/http/index.ts';
import { until } from '../support/wait.ts';
import { loadCorpus } from './corpus.ts';
import { type RequestHead, toBytes } from './message.ts';
import { type Figures, messageOf, newFigures } from './run.ts';
import { fetchOnce, type Sample } from './sockets.ts';
import { readingHost, readResponse } from './subject.ts';

const MAX_FAILURES = 5;
/** How long nginx may take for the requests of one connection. It closes idle connections after a second. */
const CLOSE_MS = 3_000;

export async function nginxPart(
  { seed, first, count }: Sample,
  onProgress: (figures: Figures) => void,
): Promise<Figures | string> {
  const program = findProgram('nginx');
  if (program === undefined) return 'skipped, because nginx is not installed.';
  const figures = newFigures();
  const corpus = loadCorpus();
  const nginx = await startNginx(program);
  for (let n = first; n < first + count && figures.failures.length < MAX_FAILURES; n += 1) {
    const side = n % 2 === 0 ? 'requests' : 'responses';
    const { text } = messageOf(side, [seed, n], corpus);
    const { isAccepted, failure } =
      side === 'requests' ? await checkForwarded(text, nginx) : await checkPassedOn(text, nginx);
    figures.messages += 1;
    if (isAccepted) figures.accepted += 1;
    if (failure !== undefined) figures.failures.push({ side, of: n, failure, text });
    onProgress(figures);
  }
  await nginx.stop();
  return figures;
}

interface Result {
  /** nginx forwarded a request, or passed a response on. */
  readonly isAccepted: boolean;
  readonly failure: string | undefined;
}

/** A request as our server read it behind nginx. */
interface Forwarded extends RequestHead {
  body: string | undefined;
}

async function checkForwarded(text: string, nginx: Nginx): Promise<Result> {
  nginx.forwarded.length = 0;
  nginx.rejected.count = 0;
  const statuses = await nginx.send(text);
  const { forwarded } = nginx;
  const differ = (what: string): Result => ({ isAccepted: true, failure: `${what}: ${JSON.stringify(forwarded)}` });
  const ids = forwarded.map((request) => fieldOf(request, 'x-nginx-id'));
  if (ids.some((id) => id === undefined) || new Set(ids).size < ids.length)
    return differ('our server reads a request that nginx did not send');
  for (const request of forwarded) {
    if (fieldOf(request, 'x-nginx-method') !== request.method) return differ('two methods');
    // For `http://a?b` nginx forwards `/?b`, and has `?b` in its variable.
    if (fieldOf(request, 'x-nginx-target')?.replace(/^\?/, '/?') !== request.target) return differ('two targets');
    const length = fieldOf(request, 'content-length') ?? '0';
    if (request.body !== undefined && request.body.length !== Number(length)) return differ('two bodies');
  }
  if (nginx.rejected.count + forwarded.length < statuses.filter((status) => status === '200').length)
    return differ('a response without a request');
  return { isAccepted: forwarded.length > 0, failure: undefined };
}

function fieldOf({ fields }: RequestHead, name: string): string | undefined {
  const values = fields.filter((_, n) => n % 2 === 1 && fields[n - 1] === name);
  return values.length === 1 ? values[0] : undefined;
}

async function checkPassedOn(text: string, nginx: Nginx): Promise<Result> {
  const { response } = readResponse([text]);
  const passedOn = await nginx.fetch(text);
  if (passedOn === undefined || passedOn.status === 502) return { isAccepted: false, failure: undefined };
  if (response === undefined) return { isAccepted: true, failure: undefined };
  const isSame = passedOn.status === response.status && passedOn.body === response.body;
  const failure = isSame ? undefined : `nginx reads ${JSON.stringify(passedOn)}, we read ${JSON.stringify(response)}`;
  return { isAccepted: true, failure };
}

interface Nginx {
  /** Requests that our server has read since the list was emptied. */
  readonly forwarded: Forwarded[];
  readonly rejected: { count: number };
  /** Sends the bytes to nginx and returns the statuses of its responses. */
  send(text: string): Promise<string[]>;
  /** The response that nginx passes on when the origin sends these bytes. Undefined when it is truncated. */
  fetch(text: string): Promise<{ status: number; body: string } | undefined>;
  stop(): Promise<void>;
}

async function startNginx(program: string): Promise<Nginx> {
  const forwarded: Forwarded[] = [];
  const rejected = { count: 0 };
  const server = new HttpServer({
    host: {
      clock: systemClock,
      isDraining: false,
      onRefused() {},
      ...readingHost(
        (head) => void forwarded.push({ ...head, body: undefined }),
        (body) => {
          const last = forwarded.at(-1);
          if (body === undefined) rejected.count += 1;
          else if (last) last.body = body;
        },
        () => {
          rejected.count += 1;
        },
      ),
    },
    limits: { total: 1_000, perAddress: 1_000, isExempt: () => true },
  });
  const serverPort = await server.listen((await bindPort('127.0.0.1', 0)).sockets);
  let response = '';
  const origin = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(toBytes(response)));
  });
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  const ports = { front: await freePort(), back: await freePort() };
  const stopProcess = await runNginx(program, {
    ...ports,
    server: serverPort,
    origin: (origin.address() as AddressInfo).port,
  });
  const client = createHttpClient({ clock: systemClock });
  return {
    forwarded,
    rejected,
    send: (text) => sendTo(ports.front, text),
    fetch(text) {
      response = text;
      return fetchOnce(client, ports.back);
    },
    async stop() {
      await stopProcess();
      await Promise.all([server.close(0), client.close(), new Promise((resolve) => origin.close(resolve))]);
    },
  };
}

/** Ports of nginx in front of our server and of the origin, and theirs. */
interface Ports {
  readonly front: number;
  readonly back: number;
  readonly server: number;
  readonly origin: number;
}

/** One worker, so that requests of one connection come in order; one connection to our server, so that they could be mixed up. */
async function runNginx(program: string, { front, back, server, origin }: Ports): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-fuzz-'));
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${folder}/${name};`)
    .join(' ');
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${folder}/error.log crit;
events { worker_connections 512; }
http {
  access_log off; ${temporary}
  client_header_timeout 1s; client_body_timeout 1s; keepalive_timeout 1s; lingering_close off;
  upstream server { server 127.0.0.1:${server} max_fails=0; keepalive 1; }
  server {
    listen 127.0.0.1:${front};
    location / {
      proxy_pass http://server; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host fuzz;
      proxy_set_header x-nginx-id $request_id; proxy_set_header x-nginx-method $request_method;
      proxy_set_header x-nginx-target $request_uri; proxy_next_upstream off; proxy_ignore_client_abort on;
    }
  }
  server {
    listen 127.0.0.1:${back};
    location / { proxy_pass http://127.0.0.1:${origin}; proxy_http_version 1.1; proxy_next_upstream off; }
  }
}
`,
  );
  const child = spawn(program, ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' });
  const exited = once(child, 'exit');
  await until('nginx to listen', () => canConnect(front));
  return async () => {
    child.kill();
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
}

function canConnect(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1');
  socket.once('connect', () => {
    socket.destroy();
    resolve(true);
  });
  socket.once('error', () => resolve(false));
  return promise;
}

/** nginx serves pipelined requests before it notices the end of the connection. */
async function sendTo(port: number, text: string): Promise<string[]> {
  const socket = connect({ port, host: '127.0.0.1' });
  let received = '';
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const timer = setTimeout(() => socket.destroy(), CLOSE_MS);
  // Ends the last connection without waiting for the idle time.
  socket.end(toBytes(text));
  await closed;
  clearTimeout(timer);
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = '']) => status);
}
