/** `dragoman key create | list | revoke`. The value of a new key is printed once, alone on stdout. */
import { Command } from 'commander';
import { createKey, keyView, revokeKey } from '../../access/keys/index.ts';
import { parseRange } from '../../core/index.ts';
import { readBalance } from '../../ledger/index.ts';
import type { Db } from '../../platform/db/index.ts';
import { USER_ID } from '../../rules/index.ts';
import { CliError } from '../server/index.ts';
import { BY_CLI, withContext } from './context.ts';
import { info, print } from './output.ts';

interface CreateOptions extends Partial<Record<'expires' | 'models' | 'addresses', string>> {
  readonly user: string;
  readonly group: string;
  readonly name: string;
  readonly store: boolean;
}

export const keyCommand = (): Command =>
  new Command('key')
    .description('API keys')
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand());

const createCommand = (): Command =>
  new Command('create')
    .description('create a key for a user and a provider group; creates the user if it does not exist')
    .requiredOption('--user <id>')
    .requiredOption('--group <id>', 'provider group that the requests of the key go to')
    .option('--name <name>', 'name of the key', 'default')
    .option('--expires <date>', 'ISO date on which it stops working')
    .option('--models <names>', 'comma-separated models that it may use')
    .option('--addresses <networks>', 'comma-separated addresses or networks that it may be used from')
    .option('--no-store', 'do not store responses for later reference')
    .action((options: CreateOptions) =>
      withContext(async ({ database: { db }, secrets, clock }) => {
        const context = { by: BY_CLI, now: clock.now(), secrets, createUser: true };
        const { view, value } = await createKey(db, inputFrom(options), context);
        info(`Key ${view.id} for ${view.user} in ${view.group}, shown only once:`);
        print(value);
        if ((await balanceOf(db, view.user)) <= 0n) info(emptyWallet(view.user));
      }),
    );

/** Amounts that running servers have leased belong to the user, too. */
async function balanceOf(db: Db, user: string): Promise<bigint> {
  const { available, held } = await readBalance(db, user);
  return available + held;
}

const emptyWallet = (user: string): string =>
  `The balance of ${user} is empty, so models with a price return 402. Add credit with POST /admin/v1/credits (docs/guides/billing.md), or give the user a "balance" in the configuration file.`;

function inputFrom({ user, group, name, expires, models, addresses, store }: CreateOptions) {
  if (!USER_ID.test(user))
    throw new CliError(`--user: found "${user}", expected letters, digits, dot, dash and underscore, at most 64.`);
  const allowedAddresses = listOf(addresses);
  const invalid = allowedAddresses?.find((text) => parseRange(text) === undefined);
  if (invalid !== undefined)
    throw new CliError(`--addresses: found "${invalid}", expected an IP address or a network such as 10.0.0.0/8.`);
  const expiresAt = expires === undefined ? undefined : new Date(expires);
  if (expiresAt && Number.isNaN(expiresAt.getTime()))
    throw new CliError(`--expires: found "${expires}", expected a date such as 2030-01-31.`);
  const expires_at = expiresAt?.toISOString();
  return { user, group, name, expires_at, models: listOf(models), addresses: allowedAddresses, store };
}

const listOf = (text: string | undefined): string[] | undefined => text?.split(',').map((entry) => entry.trim());

const listCommand = (): Command =>
  new Command('list').description('list keys without their values: id, state, user, group, name, hint').action(() =>
    withContext(async ({ database: { db }, clock }) => {
      const rows = await db.selectFrom('keys').selectAll().orderBy('created_at').execute();
      for (const row of rows) {
        const { id, state, user, group, name, hint } = keyView(row, clock.now());
        print([id, state, user, group, name, hint].join('\t'));
      }
    }),
  );

const revokeCommand = (): Command =>
  new Command('revoke')
    .description('revoke a key, on every replica within seconds')
    .argument('<id>', 'key_...')
    .action((id: string) =>
      withContext(async ({ database: { db }, clock }) => {
        const { isNew } = await revokeKey(db, id, { by: BY_CLI, now: clock.now() });
        if (!isNew) throw new CliError(`Key ${id} was revoked before; "dragoman key list" shows the valid ones.`);
        info(`Key ${id} is revoked.`);
      }),
    );
