/**
 * A thread: runs jobs one after the other. Loads the module of a job with the first one. A bug in a job fails this job.
 */
import { parentPort } from 'node:worker_threads';
import { ApiError, StepBudget } from '../../core/index.ts';
import type { JobMessage, JobReport, JobResult, ThreadJob } from './job.ts';

parentPort?.on('message', async (message: JobMessage) => {
  const [result, moved] = await resultOf(message);
  parentPort?.postMessage(result, moved);
});

async function resultOf({ module, name, input, steps: limits }: JobMessage): Promise<[JobResult, ArrayBuffer[]]> {
  const { max, taken } = limits;
  const steps = new StepBudget(max, taken);
  try {
    const job = ((await import(module)) as Readonly<Record<string, ThreadJob<unknown, unknown>>>)[name];
    if (!job) throw new TypeError(`${module} exports no job ${name}`);
    const { user, system } = process.threadCpuUsage();
    parentPort?.postMessage({ begunAtMs: (user + system) / 1_000 } satisfies JobReport);
    const received = withBuffer(input);
    const output = job.run(job.fromMessage ? job.fromMessage(received) : received, steps);
    const reply = job.toReply ? job.toReply(output) : output;
    return [{ output: reply, steps: steps.taken - taken }, job.memoryOf?.(reply) ?? []];
  } catch (error) {
    if (!(error instanceof ApiError))
      return [{ bug: error instanceof Error ? error : new TypeError(String(error)), steps: 0 }, []];
    const { cause: _, ...details } = error.details;
    return [{ error: { code: error.code, message: error.message, details }, steps: steps.taken - taken }, []];
  }
}

/** Messages carry a buffer as a plain array of bytes. */
function withBuffer(input: unknown): unknown {
  const { bytes } = input as { bytes?: unknown };
  return bytes instanceof Uint8Array
    ? { ...(input as object), bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) }
    : input;
}
