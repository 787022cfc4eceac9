/**
 * Loaded into a gateway before its own code, by `--import`: writes to `ALLOCATIONS_FILE`, whenever it gets SIGUSR2, how
 * many bytes its main thread has allocated so far. Unlike CPU time, that is the same on every machine and beside any load.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { getHeapStatistics } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

const file = process.env.ALLOCATIONS_FILE;
if (isMainThread && file !== undefined)
  process.on('SIGUSR2', () => {
    const { total_allocated_bytes: bytes } = getHeapStatistics();
    writeFileSync(`${file}.new`, String(bytes));
    renameSync(`${file}.new`, file);
  });
