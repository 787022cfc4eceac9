/** A client of the responses WebSocket that keeps every received frame, parsed and as text. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { WebSocket } from 'ws';

export interface Frame {
  readonly type: string;
  readonly stream_id?: string;
  readonly status?: number;
  readonly error?: { readonly code: string; readonly type?: string; readonly message?: string };
  readonly response?: {
    readonly id: string;
    readonly model: string;
    readonly output: readonly { readonly content?: readonly { readonly text?: string }[] }[];
    readonly usage: { readonly input_tokens: number; readonly output_tokens: number };
  };
  readonly [key: string]: unknown;
}

export const isTerminal = ({ type }: Frame): boolean =>
  /^(?:response\.(?:completed|incomplete|failed)|error)$/.test(type);

export class ResponsesSocketClient {
  readonly socket: WebSocket;
  readonly frames: Frame[] = [];
  readonly texts: string[] = [];
  #wake = () => {};

  constructor(url: string, key: string, path = '/v1/responses', headers: Record<string, string> = {}) {
    this.socket = new WebSocket(url.replace('http', 'ws') + path, {
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    this.socket.on('message', (data) => {
      this.texts.push(String(data));
      this.frames.push(JSON.parse(String(data)));
      this.#wake();
    });
    this.socket.once('close', () => this.#wake());
  }

  /** The connection below. */
  get tcp(): Socket {
    return (this.socket as unknown as { _socket: Socket })._socket;
  }

  async open(): Promise<this> {
    await once(this.socket, 'open');
    return this;
  }

  send(frame: object | string): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  create(frame: object): void {
    this.send({ type: 'response.create', ...frame });
  }

  /** Rejects when the connection closes before. */
  async until(test: (frame: Frame) => boolean): Promise<Frame> {
    for (let seen = 0; ; ) {
      for (; seen < this.frames.length; seen++) {
        const frame = this.frames[seen];
        if (frame && test(frame)) return frame;
      }
      if (this.socket.readyState === WebSocket.CLOSED) throw new Error('the WebSocket is closed');
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  clear(): void {
    this.frames.length = 0;
    this.texts.length = 0;
  }

  /** Clears the received frames, sends `response.create` and waits for the end of the turn. */
  async turn(frame: object): Promise<Frame> {
    this.clear();
    this.create(frame);
    return this.until(isTerminal);
  }
}

export const frameText = (frame: Frame): string =>
  frame.response?.output
    .flatMap((item) => item.content ?? [])
    .map((part) => part.text ?? '')
    .join('') ?? '';

/** The same setup with responses accounts that have no WebSocket: every turn goes over HTTP. */
export function withoutWebSocket(setup: object): object {
  const { accounts } = setup as { accounts: { group: string }[] };
  const features = ['responses', 'chat', 'images', 'embeddings'];
  return { ...setup, accounts: accounts.map((one) => (one.group === 'openai' ? { ...one, features } : one)) };
}
