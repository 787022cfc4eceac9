/**
 * Compares every successful response of the admin API and the console that a test receives with the schema that is
 * shown for it.
 */
import assert from 'node:assert/strict';
import type { z } from 'zod';
import { ADMIN_SUCCESSES, type Successes } from '../../scripts/openapi/admin-responses.ts';
import { CONSOLE_SUCCESSES } from '../../scripts/openapi/people.ts';
import { type AdminOperation, adminRow, type ConsoleOperation, consoleRow } from '../../src/rules/index.ts';

interface Shown {
  readonly name: string;
  readonly method: string;
  readonly path: RegExp;
  readonly successes: Successes;
}

const shownAt = (name: string, { method, path }: { method: string; path: string }, successes: Successes): Shown => ({
  name,
  method,
  path: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  successes,
});

const SHOWN: readonly Shown[] = [
  ...Object.entries(ADMIN_SUCCESSES).map(([name, all]) => shownAt(name, adminRow(name as AdminOperation), all)),
  ...Object.entries<Successes>(CONSOLE_SUCCESSES).map(([name, all]) =>
    shownAt(name, consoleRow(name as ConsoleOperation), all),
  ),
];

interface Received {
  readonly method: string;
  readonly target: string;
  readonly status: number;
  /** Undefined for a body that is not JSON. */
  readonly body: unknown;
}

export function assertShown({ method, target, status, body }: Received): void {
  if (status >= 300 || body === undefined) return;
  const [path = ''] = target.split('?');
  const shown = SHOWN.find((one) => one.method === method && one.path.test(path));
  if (!shown) return;
  const schema: z.ZodType = shown.successes[status]?.body ?? assert.fail(`${shown.name} ${status} is not described`);
  assert.deepEqual(schema.safeParse(body).error?.issues ?? [], [], shown.name);
}
