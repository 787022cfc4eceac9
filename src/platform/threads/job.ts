import type { StepBudget } from '../../core/index.ts';

/**
 * Larger bodies go to a thread, unless they are light:
 * the worst of this size takes 30 ms, a usual one of 64 kB 1 ms, the way to a thread half of that.
 */
export const LARGE_BODY_BYTES = 128 * 1024;

/**
 * Work on one body that can be done in another thread:
 * a pure function of plain data, in a module that the thread can load.
 */
export interface ThreadJob<Input, Output, Message = Input, Reply = Output> {
  /** `import.meta.url` of the module that exports the job. */
  readonly module: string;
  /** The name under which it does. */
  readonly name: string;
  /** Input up to this size takes less than 10 ms to 30 ms, and is worked on at once. By default that of a body. */
  readonly inlineBytes?: number;
  /** Throws `ApiError` for what the client did wrong. Anything else is a bug. `steps`: of the whole request. */
  run(input: Input, steps: StepBudget): Output;
  /**
   * The same at once for larger input that has little in it, such as long texts; undefined when a thread has to do it.
   */
  runLight?(input: Input, steps: StepBudget): Output | undefined;
  /**
   * The memory of `bytes` in the input moves to the thread, and is empty here afterwards.
   * By default the thread gets a copy.
   */
  readonly movesBytes?: boolean;
  /** The input as a message and back, where its values cannot be copied as they are. */
  toMessage?(input: Input): Message;
  fromMessage?(message: Message): Input;
  /** The same of the output. */
  toReply?(output: Output): Reply;
  fromReply?(reply: Reply): Output;
  /** Memory of the reply that moves to the main thread; the rest is copied. */
  memoryOf?(reply: Reply): ArrayBuffer[];
}

/** Bytes that a thread made move back, where they have a memory of their own. */
export const movable = ({ buffer, byteLength }: Uint8Array): ArrayBuffer[] =>
  buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];

/** The message to a thread. */
export interface JobMessage {
  readonly module: string;
  readonly name: string;
  readonly input: unknown;
  /** What the request may take in all, and what it has taken before. */
  readonly steps: { readonly max: number; readonly taken: number };
}

/** The messages back: the CPU time of the thread when it had loaded the module and began, then the result. */
export type JobReport = { readonly begunAtMs: number } | JobResult;
export type JobResult = JobOutcome & {
  /** Taken by this job. */
  readonly steps: number;
};
type JobOutcome = { readonly output: unknown } | { readonly error: JobError } | { readonly bug: Error };

/** An `ApiError` as plain data. */
export interface JobError {
  readonly code: string;
  readonly message: string;
  readonly details: object;
}
