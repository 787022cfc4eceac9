/**
 * The folder of a run: everything that tests create in the temporary directory is in it, and removed with it. In memory
 * where the system offers that: creating and dropping a database is creating and removing hundreds of files, which
 * costs a disk several times as much.
 */
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const IN_MEMORY = '/dev/shm';
/** A run uses a quarter of this; containers often offer 64 MB. */
const NEEDED_BYTES = 2 * 1_024 ** 3;

export interface RunFolder {
  readonly path: string;
  remove(): void;
}

/** Also becomes the temporary directory of this process and of those that it starts. */
export function createRunFolder(env: NodeJS.ProcessEnv = process.env): RunFolder {
  const path = realpathSync(mkdtempSync(join(env.TMPDIR || memoryFolder() || tmpdir(), 'dragoman-tests-')));
  // As any temporary directory: PostgreSQL, and tests of it, run as another user when root starts them.
  chmodSync(path, 0o1777);
  env.TMPDIR = path;
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}

function memoryFolder(): string | undefined {
  if (process.platform !== 'linux') return;
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    const [, options = ''] =
      new RegExp(`^\\S+ ${IN_MEMORY} tmpfs (\\S+)`, 'm').exec(readFileSync('/proc/self/mounts', 'utf8')) ?? [];
    // Tests run copies of programs from there.
    const canRun = options.startsWith('rw') && !options.split(',').includes('noexec');
    return canRun && bavail * bsize >= NEEDED_BYTES ? IN_MEMORY : undefined;
  } catch {
    return;
  }
}
