/** Any other server as a target: a gateway that a command of the command line starts, or a script of this folder. */
import { fileURLToPath } from 'node:url';
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

/** A script of this folder, which gets its port and that of the upstream. */
export function startNode(script: string, upstreamPort: number): Promise<Target> {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const command = `'${process.execPath}' '${path}' {port} ${upstreamPort}`;
  return startCommand({ name: 'node', dialect: 'messages', command }, upstreamPort);
}
