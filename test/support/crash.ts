/**
 * Preloaded into a gateway under test (`node --import`): ends the process, exactly as `kill -9` does, the nth time that it
 * comes to a step of src/ledger/crash-points.ts. `CRASH_AT=flush.begun#2` counts from the start, a message of the parent from then on.
 */
import { subscribe } from 'node:diagnostics_channel';
import fs from 'node:fs';
import { flushCompileCache, syncBuiltinESMExports } from 'node:module';
import type { CrashPoint } from '../../src/ledger/crash-points.ts';

/** `journal.torn`: half of what should be written to the journal is. */
export type CrashStep = CrashPoint | 'journal.torn';

const LINE = /^[0-9a-f]{8} [0-9a-f]{8} \{/;

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
tearWrites();

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

/** Lines of a journal begin with length and checksum; the log writes in the same way. */
function tearWrites(): void {
  const { writeSync } = fs;
  fs.writeSync = ((fd: number, bytes: Uint8Array, ...rest: []) => {
    if (LINE.test(Buffer.from(bytes).toString('latin1', 0, 19)) && isTime('journal.torn')) {
      writeSync(fd, bytes, 0, bytes.length >> 1);
      die();
    }
    return writeSync(fd, bytes, ...rest);
  }) as typeof fs.writeSync;
  syncBuiltinESMExports();
}
