/**
 * Ends a test file that does not end, preloaded into each test file by scripts/test.ts. The time limit of a test does
 * not end a file whose tests are over while a socket or a server is still open.
 */
const ms = Number(process.env.TEST_FILE_MS);
let timer: NodeJS.Timeout | undefined;

/** The time begins anew, for the next file of a group. */
export function beginFileLimit(): void {
  if (!(ms > 0)) return;
  clearTimeout(timer);
  timer = setTimeout(() => {
    const open = [...new Set(process.getActiveResourcesInfo())].join(', ');
    process.stderr.write(`The test file still runs after ${ms} ms, so it is ended. Open resources: ${open}\n`);
    process.exit(1);
  }, ms).unref();
}

beginFileLimit();
