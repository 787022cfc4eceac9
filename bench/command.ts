/** Any other gateway as a target, started by a command of the command line. */
import { DIALECTS, type Dialect } from './bodies.ts';
import { freePort, start } from './child.ts';
import { CORES } from './machine.ts';
import { type Target, whenReady } from './target.ts';

export interface CommandPeer {
  readonly name: string;
  /** The dialect that it receives and forwards. */
  readonly dialect: Dialect;
  /** For the shell, with the placeholders {port} and {upstream}. */
  readonly command: string;
}

const SYNTAX = /^(?<name>[^:=]+)(?::(?<dialect>[a-z]+))?=(?<command>.+)$/s;

/** Reads `name=command` or `name:dialect=command`. */
export function readPeer(text: string): CommandPeer {
  const { name, dialect = 'messages', command } = SYNTAX.exec(text)?.groups ?? {};
  const known = DIALECTS.find((value) => value === dialect);
  if (name === undefined || command === undefined || known === undefined || !command.includes('{port}'))
    throw new Error(
      `--peer ${text}: expected name=command or name:dialect=command with {port} in the command; the dialect is one of ${DIALECTS.join(', ')}.`,
    );
  return { name, dialect: known, command };
}

export async function startCommand({ name, command }: CommandPeer, upstreamPort: number): Promise<Target> {
  const port = await freePort();
  const line = command.replaceAll('{port}', String(port)).replaceAll('{upstream}', `http://127.0.0.1:${upstreamPort}`);
  // `exec` replaces the shell, so that the signal that stops the target reaches the program.
  const process = start('sh', ['-c', `exec ${line}`], CORES?.target, {});
  const headers = () => ({ 'x-api-key': 'mock-credential', authorization: 'Bearer mock-credential' });
  return whenReady({ name, process, port, headers });
}
