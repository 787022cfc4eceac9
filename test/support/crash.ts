/**
 * Preloaded into a gateway under test (`node --import`): kills the process with SIGKILL the nth time it reaches a crash
 * point. `CRASH_AT=flush.begun#2` counts from the start of the process; an IPC message of the parent counts from then
 * on.
 */
import { subscribe } from 'node:diagnostics_channel';
import fs from 'node:fs';
import { flushCompileCache, syncBuiltinESMExports } from 'node:module';
import { CRASH_POINT_CHANNEL, type CrashPoint } from '../../src/ledger/crash-points.ts';

/** `journal.torn`: the process dies after half of a journal write. */
export type CrashStep = CrashPoint | 'journal.torn';

const LINE = /^[0-9a-f]{8} [0-9a-f]{8} \{/;

let [point, left] = parse(process.env.CRASH_AT ?? '');
process.on('message', (at) => {
  [point, left] = parse(String(at));
  // A killed process would not write its compile cache.
  flushCompileCache();
  process.send?.('armed');
});
// The IPC channel must not keep the gateway alive.
process.channel?.unref();

subscribe(CRASH_POINT_CHANNEL, (reached) => void (isDue(reached) && die()));
tearWrites();

function parse(at: string): [point: string, left: number] {
  const [name = '', nth = '1'] = at.split('#');
  return [name, Number(nth)];
}

function isDue(reached: unknown): boolean {
  if (reached !== point) return false;
  left -= 1;
  return left === 0;
}

function die(): void {
  process.kill(process.pid, 'SIGKILL');
}

/** Recognises journal writes by the length and checksum at the start: the log uses the same function. */
function tearWrites(): void {
  const { writeSync } = fs;
  fs.writeSync = ((fd: number, bytes: Uint8Array, ...rest: []) => {
    if (LINE.test(Buffer.from(bytes).toString('latin1', 0, 19)) && isDue('journal.torn')) {
      writeSync(fd, bytes, 0, bytes.length >> 1);
      die();
    }
    return writeSync(fd, bytes, ...rest);
  }) as typeof fs.writeSync;
  syncBuiltinESMExports();
}
