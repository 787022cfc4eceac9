/**
 * The link between the primary process and one of its workers,
 * the same on both sides: questions with a reply, and notices without one.
 * What one turn of the event loop sends goes into one message, because a message costs more than what it carries.
 */
import { type Clock, errorText, type MaybePromise, Unavailable } from '../../core/index.ts';

/** Responds to questions and takes notices of one name. Inputs come from the same program on the other side. */
export type LinkService = (input: unknown) => MaybePromise<unknown>;

export interface LinkOptions {
  /** Hands one message to the other process. */
  readonly send: (message: unknown) => void;
  readonly services: Readonly<Record<string, LinkService>>;
  readonly clock: Clock;
}

/** The form of messages and the names of services. Raise it with every change that the other side must know. */
export const LINK_PROTOCOL = 2;

/** The other process is gone, or does not respond. */
export class LinkDown extends Unavailable {
  override readonly name = 'LinkDown';
}

/** The other process responded with an error; the message is for the operator. */
export class LinkError extends Error {
  override readonly name = 'LinkError';
}

/** The primary replies in well under a millisecond; only a stopped process needs longer than this. */
const REPLY_MS = 1_000;
/** Questions without a reply. Further ones fail at once. */
const MAX_OPEN = 10_000;

interface OpenQuestion {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly cancel: () => void;
}

type Item =
  | readonly ['ask', id: number, name: string, input: unknown]
  | readonly ['post', name: string, input: unknown]
  | readonly ['reply', id: number, value: unknown]
  | readonly ['error', id: number, message: string];

export class Link {
  readonly #options: LinkOptions;
  readonly #services: Map<string, LinkService>;
  readonly #open = new Map<number, OpenQuestion>();
  #items: Item[] = [];
  #nextId = 1;
  #isClosed = false;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#services = new Map(Object.entries(options.services));
  }

  /** Adds a service that exists only later. */
  provide(name: string, service: LinkService): void {
    this.#services.set(name, service);
  }

  /** Rejects with `LinkDown` without a reply in time, and with `LinkError` when the other side reports one. */
  ask(name: string, input: unknown, timeoutMs = REPLY_MS): Promise<unknown> {
    if (this.#isClosed || this.#open.size >= MAX_OPEN) return Promise.reject(new LinkDown(`${name}: no link`));
    const id = this.#nextId;
    this.#nextId += 1;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const cancel = this.#options.clock.after(timeoutMs, () => {
      this.#open.delete(id);
      reject(new LinkDown(`${name}: no reply within ${timeoutMs} ms`));
    });
    this.#open.set(id, { resolve, reject, cancel });
    this.#queue(['ask', id, name, input]);
    return promise;
  }

  /** Sends a notice. The other side sees notices and questions in the order in which they were sent. */
  post(name: string, input: unknown): void {
    if (!this.#isClosed) this.#queue(['post', name, input]);
  }

  /** Asks for a sign of life again and again, and calls back once when none came in time. Any reply is one. */
  watch(name: string, times: { readonly everyMs: number; readonly silentMs: number }, onSilent: () => void): void {
    const again = (): void => this.watch(name, times, onSilent);
    this.#options.clock.after(times.everyMs, () => {
      if (this.#isClosed) return;
      this.ask(name, null, times.silentMs).then(again, (error: unknown) => {
        if (error instanceof LinkError) again();
        else if (!this.#isClosed) onSilent();
      });
    });
  }

  /** Takes a message of the other process. Other messages are ignored. */
  receive(message: unknown): void {
    const items = (message as { readonly items?: readonly Item[] } | null)?.items;
    if (!Array.isArray(items)) return;
    for (const item of items as readonly Item[]) this.#take(item);
  }

  /** The other process has ended. */
  close(): void {
    this.#isClosed = true;
    for (const { reject, cancel } of this.#open.values()) {
      cancel();
      reject(new LinkDown('the other process has ended'));
    }
    this.#open.clear();
  }

  #take(item: Item): void {
    switch (item[0]) {
      case 'ask':
        return this.#respond(item[1], item[2], item[3]);
      case 'post':
        // A notice has no reply, so its failure has no reader.
        return void this.#run(item[1], item[2]).catch(() => {});
      case 'reply':
        return this.#settle(item[1], ({ resolve }) => resolve(item[2]));
      case 'error':
        return this.#settle(item[1], ({ reject }) => reject(new LinkError(item[2])));
    }
  }

  #respond(id: number, name: string, input: unknown): void {
    this.#run(name, input).then(
      (value) => this.#queue(['reply', id, value ?? null]),
      (error: unknown) => this.#queue(['error', id, errorText(error)]),
    );
  }

  async #run(name: string, input: unknown): Promise<unknown> {
    const service = this.#services.get(name);
    if (!service) throw new LinkError(`unknown service ${name}`);
    return service(input);
  }

  #settle(id: number, how: (question: OpenQuestion) => void): void {
    const question = this.#open.get(id);
    if (!question) return;
    this.#open.delete(id);
    question.cancel();
    how(question);
  }

  #queue(item: Item): void {
    if (this.#isClosed) return;
    this.#items.push(item);
    if (this.#items.length === 1) setImmediate(() => this.#flush());
  }

  #flush(): void {
    const items = this.#items;
    this.#items = [];
    if (!this.#isClosed) this.#options.send({ items });
  }
}
