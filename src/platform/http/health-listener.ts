/**
 * The listener of health checks: a thread with a port of its own, so that a probe gets its response however many
 * connections or requests the event loop of this process has before it. A process that is only busy is not restarted.
 */
import { Worker } from 'node:worker_threads';
import { SERVER_BOUNDS } from './bounds.ts';

/** `alive`: the event loop has reached this message. `ready`: it says why no requests should be sent to it, if so. */
export type HealthQuestion = 'alive' | 'ready';

export interface HealthLimits {
  /** An event loop that says nothing for so long will not recover. */
  readonly stalledMs: number;
  /** Probes wait for the readiness so long. */
  readonly readyMs: number;
  readonly connections: number;
}

export interface HealthThreadData {
  readonly host: string;
  readonly port: number;
  readonly paths: Readonly<Record<HealthQuestion, string>>;
  readonly limits: HealthLimits;
  /** Of the program. */
  readonly version: string;
}

export type HealthThreadMessage =
  | { readonly question: HealthQuestion }
  | { readonly port: number }
  | { readonly failure: { readonly code: string | undefined; readonly message: string } };

export interface HealthAnswer {
  readonly question: HealthQuestion;
  readonly reason: string | undefined;
}

export interface HealthListenerOptions extends Omit<HealthThreadData, 'limits'> {
  /** Resolves to undefined when ready, otherwise to the reason. Must not reject. */
  readonly notReady: () => Promise<string | undefined>;
  readonly limits?: Partial<HealthLimits>;
}

const LIMITS: HealthLimits = {
  stalledMs: SERVER_BOUNDS.stalledMs.limit,
  readyMs: SERVER_BOUNDS.readyMs.limit,
  connections: SERVER_BOUNDS.healthConnections.limit,
};
const HEAP_MB = 16;

export interface HealthListener {
  readonly port: number;
  close(): Promise<unknown>;
}

/** Rejects with the error of the system when the port cannot be opened. */
export async function openHealthListener({
  notReady,
  limits,
  ...data
}: HealthListenerOptions): Promise<HealthListener> {
  const thread = new Worker(new URL('./health-thread.ts', import.meta.url), {
    // The options of this process, such as those of a test runner, are not for threads.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    workerData: { ...data, limits: { ...LIMITS, ...limits } } satisfies HealthThreadData,
  });
  // The process ends without regard to its health.
  thread.unref();
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const answer = async (question: HealthQuestion): Promise<void> => {
    const reason = question === 'ready' ? await notReady() : undefined;
    thread.postMessage({ question, reason } satisfies HealthAnswer);
  };
  thread.on('message', (message: HealthThreadMessage) => {
    if ('question' in message) void answer(message.question);
    else if ('port' in message) resolve(message.port);
    else reject(Object.assign(new Error(message.failure.message), { code: message.failure.code }));
  });
  thread.on('error', reject);
  const close = () => thread.terminate();
  try {
    return { port: await promise, close };
  } catch (error) {
    await close();
    throw error;
  }
}
