/** A reply as it arrives: parts in their order, and the items of the dialect. Each dialect reads its own events. */
import type { PlayDialect, ReplyPart, ReplyTurn, ToolCall } from './conversation.ts';

type OpenPart =
  | { readonly kind: 'thinking' | 'text'; text: string }
  | { readonly kind: 'image'; readonly source: string }
  | { readonly kind: 'call'; call: ToolCall };

export abstract class ReplyReader {
  readonly #dialect: PlayDialect;
  readonly #parts: OpenPart[] = [];
  protected stop: string | undefined;

  constructor(dialect: PlayDialect) {
    this.#dialect = dialect;
  }

  /** Throws what the stream reports as an error. */
  abstract add(event: object): void;
  protected abstract items(): readonly object[];

  turn(): ReplyTurn {
    return {
      role: 'reply',
      dialect: this.#dialect,
      parts: this.#parts.map((part): ReplyPart => ({ ...part })),
      items: this.items(),
      stop: this.stop,
    };
  }

  protected write(kind: 'thinking' | 'text', text: string | null | undefined): void {
    if (!text) return;
    const last = this.#parts.at(-1);
    if (last?.kind === kind && 'text' in last) last.text += text;
    else this.#parts.push({ kind, text });
  }

  protected draw(source: string): void {
    this.#parts.push({ kind: 'image', source });
  }

  /** A call whose arguments follow. */
  protected open(call: ToolCall): OpenCall {
    const part = { kind: 'call' as const, call };
    this.#parts.push(part);
    return {
      get: () => part.call,
      set: (more) => {
        part.call = { ...part.call, ...more };
      },
    };
  }
}

export interface OpenCall {
  readonly get: () => ToolCall;
  readonly set: (more: Partial<ToolCall>) => void;
}

/** What a stream says when it fails in the middle. */
export interface StreamFault {
  readonly message?: string;
}

export const streamError = (fault: StreamFault | null | undefined): Error =>
  new Error(fault?.message ?? JSON.stringify(fault ?? {}));

/** Whether a reason to stop is none of the usual ones. */
export const isUnusual = (reason: string | null | undefined, usual: readonly string[]): reason is string =>
  typeof reason === 'string' && !usual.includes(reason);
