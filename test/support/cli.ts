/**
 * Runs a short command of the CLI inside the test process, which saves the second that a process needs to load the
 * gateway. test/e2e/launcher.test.ts runs commands as processes; a server needs one.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { run } from '../../src/program/cli/program.ts';
import type { CommandResult } from './command.ts';

interface Execution {
  readonly env: Readonly<Record<string, string | undefined>>;
  stdout: string;
  stderr: string;
  /** The code with which it called process.exit(); nothing that happens later counts. */
  endedWith?: number;
}

const executions = new AsyncLocalStorage<Execution>();
let previous: Promise<unknown> = Promise.resolve();

/** One after the other, because they share the exit code of the process. */
export function runHere(
  args: readonly string[],
  { env }: { readonly env: Readonly<Record<string, string | undefined>> },
): Promise<CommandResult> {
  divert();
  const { PATH, HOME, TMPDIR } = process.env;
  const settings = { PATH, HOME, TMPDIR, DEMO: 'off', PORT: '0', ...env };
  const result = previous.then(() => execute(args, { env: settings, stdout: '', stderr: '' }));
  previous = result.catch(() => {});
  return result;
}

async function execute(args: readonly string[], execution: Execution): Promise<CommandResult> {
  const before = process.exitCode;
  process.exitCode = 0;
  try {
    await executions.run(execution, () => run([process.execPath, 'dragoman', ...args]));
    const { stdout, stderr, endedWith = process.exitCode } = execution;
    return { code: endedWith, signal: null, stdout, stderr };
  } finally {
    process.exitCode = before;
    for (const stream of [process.stdout, process.stderr])
      stream.removeListener('error', stream.listeners('error').at(-1) as () => void);
  }
}

let isDiverted = false;

/**
 * Output, environment and end of the code that a command runs. Everything else, such as the report of the tests, is not
 * affected.
 */
function divert(): void {
  if (isDiverted) return;
  isDiverted = true;
  const { env, exit } = process;
  process.exit = (code) => {
    const execution = executions.getStore();
    if (!execution) return exit(code);
    execution.endedWith = Number(code ?? process.exitCode ?? 0);
    throw new Error('process.exit()');
  };
  Object.defineProperty(process, 'env', { get: () => executions.getStore()?.env ?? env });
  for (const name of ['stdout', 'stderr'] as const) {
    const stream = process[name];
    const write = stream.write.bind(stream);
    stream.write = ((chunk: string | Uint8Array, ...rest: []) => {
      const execution = executions.getStore();
      if (!execution) return write(chunk, ...rest);
      if (execution.endedWith !== undefined) return true;
      execution[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      return true;
    }) as typeof stream.write;
  }
}
