/** A thread: runs jobs one after the other. Loads the module of a job with the first one. A bug in a job ends the thread. */
import { parentPort } from 'node:worker_threads';
import { ApiError } from '../../core/index.ts';
import type { JobMessage, JobResult, ThreadJob } from './job.ts';

parentPort?.on('message', async ({ module, name, input }: JobMessage) => {
  const job = ((await import(module)) as Readonly<Record<string, ThreadJob<unknown, unknown>>>)[name];
  if (!job) throw new TypeError(`${module} exports no job ${name}`);
  const received = withBuffer(input);
  const result = resultOf(job, job.fromMessage ? job.fromMessage(received) : received);
  parentPort?.postMessage(result, 'output' in result ? (job.memoryOf?.(result.output) ?? []) : []);
});

function resultOf(job: ThreadJob<unknown, unknown>, input: unknown): JobResult {
  try {
    const output = job.run(input);
    return { output: job.toReply ? job.toReply(output) : output };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { cause: _, ...details } = error.details;
    return { error: { code: error.code, message: error.message, details } };
  }
}

/** Messages carry a buffer as a plain array of bytes. */
function withBuffer(input: unknown): unknown {
  const { bytes } = input as { bytes?: unknown };
  return bytes instanceof Uint8Array
    ? { ...(input as object), bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) }
    : input;
}
