/**
 * Preloaded into a gateway under test (`node --import`): ends the process, exactly as `kill -9` does, the nth time that it
 * comes to a step of src/ledger/step.ts. `CRASH_AT=flush.begun#2` counts from the start, a message of the parent from then on.
 */
import { subscribe } from 'node:diagnostics_channel';
import { writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';
import type { Step } from '../../src/ledger/step.ts';

/** `journal.torn`: half of what should be written to the journal is. */
export type CrashStep = Step | 'journal.torn';

type Write = (bytes: Uint8Array, offset: number, length: number) => ReturnType<FileHandle['write']>;

let [step, left] = parse(process.env.CRASH_AT ?? '');
process.on('message', (at) => {
  [step, left] = parse(String(at));
  // A killed process does not keep what it has compiled.
  flushCompileCache();
  process.send?.('armed');
});
// Only a listener: it does not keep the gateway from ending by itself.
process.channel?.unref();

subscribe('dragoman:step', (reached) => void (isTime(reached) && die()));
await tearWrites();

function parse(at: string): [step: string, left: number] {
  const [name = '', nth = '1'] = at.split('#');
  return [name, Number(nth)];
}

function isTime(reached: unknown): boolean {
  if (reached !== step) return false;
  left -= 1;
  return left === 0;
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** The journal is what writes through file handles here. */
async function tearWrites(): Promise<void> {
  const probe = await open('/dev/null', 'w');
  const prototype = Object.getPrototypeOf(probe) as Pick<FileHandle, 'write'>;
  await probe.close();
  const { write } = prototype;
  prototype.write = function (this: FileHandle, bytes: Uint8Array, offset: number, length: number) {
    if (isTime('journal.torn')) {
      writeSync(this.fd, bytes, offset, length >> 1);
      die();
    }
    return (write as Write).call(this, bytes, offset, length);
  } as FileHandle['write'];
}
