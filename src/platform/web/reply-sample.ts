/**
 * The beginning and the end of a provider's response, kept while traces are exported: there every dialect names the
 * response, the model and why it ended. Reads names only; a name that is not in the sample is left out.
 */
import type { UpstreamDialect } from '../../rules/index.ts';

export interface ReplyNames {
  readonly id: string | undefined;
  readonly model: string | undefined;
  readonly finishReasons: readonly string[];
}

const SAMPLE_BYTES = 8 * 1024;
const MAX_REASONS = 16;

export class ReplySample {
  #head = '';
  #tail = '';

  push(chunk: Buffer): void {
    if (this.#head.length < SAMPLE_BYTES) this.#head += chunk.toString('latin1', 0, SAMPLE_BYTES - this.#head.length);
    const end = chunk.toString('latin1', Math.max(0, chunk.length - SAMPLE_BYTES));
    this.#tail = (this.#tail + end).slice(-SAMPLE_BYTES);
  }

  read(dialect: UpstreamDialect): ReplyNames {
    const { id, model, finish } = NAMES[dialect];
    return {
      id: id.exec(this.#head)?.[1] ?? id.exec(this.#tail)?.[1],
      model: model.exec(this.#head)?.[1] ?? model.exec(this.#tail)?.[1],
      finishReasons: finish(this.#head, this.#tail).slice(0, MAX_REASONS),
    };
  }
}

/** A quote after a backslash is inside a text. */
const member = (name: string, flags = ''): RegExp =>
  new RegExp(`(?<!\\\\)"${name}"\\s*:\\s*"([^"\\\\]{1,200})"`, flags);

const lastReasons = (name: string) => {
  const pattern = member(name, 'g');
  return (_head: string, tail: string): string[] => [...tail.matchAll(pattern)].map(([, reason = '']) => reason);
};

const [ID, MODEL] = [member('id'), member('model')];
/** Converse names neither the response nor the model. */
const NOWHERE = /(?!)/;
const INCOMPLETE = /(?<!\\)"incomplete_details"\s*:\s*\{\s*"reason"\s*:\s*"([^"\\]{1,200})"/;
const COMPLETED = /(?<!\\)"status"\s*:\s*"completed"/;

/** A response of the responses dialect is completed, or says why not. */
function statusOf(head: string, tail: string): string[] {
  const reason = INCOMPLETE.exec(tail) ?? INCOMPLETE.exec(head);
  if (reason?.[1] !== undefined) return [reason[1]];
  return COMPLETED.test(tail) || COMPLETED.test(head) ? ['completed'] : [];
}

const NAMES: Readonly<
  Record<UpstreamDialect, { readonly id: RegExp; readonly model: RegExp; finish(head: string, tail: string): string[] }>
> = {
  messages: { id: ID, model: MODEL, finish: lastReasons('stop_reason') },
  chat: { id: ID, model: MODEL, finish: lastReasons('finish_reason') },
  responses: { id: ID, model: MODEL, finish: statusOf },
  generate: { id: member('responseId'), model: member('modelVersion'), finish: lastReasons('finishReason') },
  converse: { id: NOWHERE, model: NOWHERE, finish: lastReasons('stopReason') },
};
