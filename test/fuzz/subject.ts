/** The code under test, without a network: the server connection and the client connection of `src/platform/http/wire/` on sockets in memory. */

import {
  type HttpRequest,
  type IncomingRequest,
  type OutgoingResponse,
  rejectionFor,
  type ServerHost,
} from '../../src/platform/http/index.ts';
import { ClientConnection } from '../../src/platform/http/wire/client-connection.ts';
import { WireServerConnection } from '../../src/platform/http/wire/server-connection.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeSocket } from './fake-socket.ts';
import type { RequestHead, RequestReading, ResponseReading } from './message.ts';

const MINUTE_MS = 60_000;
const REQUEST: HttpRequest = {
  method: 'GET',
  origin: 'http://origin.test',
  path: '/',
  headers: [],
  body: null,
  timeouts: { connect: MINUTE_MS, firstByte: MINUTE_MS, idle: MINUTE_MS, total: MINUTE_MS },
};
const VIOLATION = 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n';

/** An application that reads every body and responds. `onBody` gets the body, or undefined when the application rejects the head. */
export function readingHost(
  onHead: (head: RequestHead) => void,
  onBody: (body: string | undefined) => void,
  onViolation: () => void,
): Pick<ServerHost, 'onRequest' | 'onViolation' | 'onInternalError'> {
  return {
    onRequest(request, response) {
      if (rejectionFor(request) !== undefined) {
        onBody(undefined);
        response.writeHead(400, { connection: 'close' });
        return response.end();
      }
      onHead({ method: request.method, target: request.url, fields: request.rawHeaders });
      readBody(request, response, onBody);
    },
    onViolation() {
      onViolation();
      return VIOLATION;
    },
    onInternalError(error) {
      throw error;
    },
  };
}

function readBody(request: IncomingRequest, response: OutgoingResponse, onBody: (body: string) => void): void {
  const complete = request.completeBody;
  const finish = (body: string): void => {
    onBody(body);
    response.end('ok');
  };
  if (complete) return finish(complete.toString('latin1'));
  let body = '';
  request.read({
    onData(chunk) {
      body += chunk.toString('latin1');
      return true;
    },
    onEnd: () => finish(body),
    onAborted() {},
  });
}

/** Reads the parts, each as one read of the socket, and then the end of the connection. */
export function readRequests(parts: readonly string[]): RequestReading {
  const heads: RequestHead[] = [];
  const bodies: string[] = [];
  let isRejected = false;
  const socket = new FakeSocket();
  const host: ServerHost = {
    clock: new FakeClock(),
    isDraining: false,
    onRefused() {},
    ...readingHost(
      (head) => void heads.push(head),
      (body) => {
        if (body === undefined) isRejected = true;
        else bodies.push(body);
      },
      () => {
        isRejected = true;
      },
    ),
  };
  new WireServerConnection(socket.asSocket, host, () => {});
  for (const part of parts) socket.receive(part);
  const isClosed = socket.isDestroyed;
  socket.receiveEnd();
  socket.destroy();
  return { heads, bodies, isRejected, isClosed };
}

/** The same for a response. `end` is exact when every part is one byte. */
export function readResponse(parts: readonly string[]): ResponseReading {
  const socket = new FakeSocket();
  const body: string[] = [];
  let head: { status: number; fields: string[] } | undefined;
  let isComplete = false;
  let error: Error | undefined;
  const user = {
    onOpen() {},
    onHead(status: number, headers: Readonly<Record<string, string | undefined>>) {
      head = {
        status,
        fields: Object.keys(headers)
          .sort()
          .map((name) => `${name}: ${headers[name]}`),
      };
    },
    onData(chunk: Buffer) {
      body.push(chunk.toString('latin1'));
      return true;
    },
    onEnd() {
      isComplete = true;
    },
    onError(cause: Error) {
      error = cause;
    },
  };
  const owner = { onIdle() {}, onClosed() {} };
  const connection = new ClientConnection(
    {
      target: { host: 'origin.test', port: 80, isTls: false },
      openSocket: () => socket.asSocket,
      openProxySocket: () => socket.asSocket,
      accepts: () => true,
      owner,
    },
    { head: 'GET / HTTP/1.1\r\n\r\n', request: REQUEST },
    user,
  );
  socket.emit('connect');
  let end = 0;
  for (const part of parts) {
    if (isComplete || error) break;
    end += part.length;
    socket.receive(part);
  }
  if (!isComplete) socket.receiveEnd();
  connection.close();
  if (error && !('code' in error)) throw error;
  return { response: isComplete && head ? { ...head, body: body.join('') } : undefined, end };
}
