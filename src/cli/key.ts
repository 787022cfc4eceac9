/** `dragoman key create | list | revoke`. A key's value is printed once, alone on stdout. */
import { Command } from 'commander';
import { parseRange } from '../core/index.ts';
import { keyView, revokeKey, saveKey, writeAudit } from '../identity/index.ts';
import { CliError } from '../main.ts';
import { USER_ID } from '../rules/index.ts';
import { BY_CLI, withContext } from './context.ts';
import { info, print } from './output.ts';

interface CreateOptions {
  readonly user: string;
  readonly group: string;
  readonly name: string;
  readonly expires?: string;
  readonly models?: string;
  readonly addresses?: string;
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
    .description('make a key for a user and a provider group; makes the user too if it is new')
    .requiredOption('--user <id>')
    .requiredOption('--group <id>', 'the provider group that decides how the key is routed')
    .option('--name <name>', 'what to call it', 'default')
    .option('--expires <date>', 'ISO date after which it stops working')
    .option('--models <names>', 'comma-separated models it may use')
    .option('--addresses <networks>', 'comma-separated addresses or networks it may be used from')
    .option('--no-store', 'keep no responses of its calls for later reference')
    .action((options: CreateOptions) =>
      withContext(async ({ database: { db }, secrets, clock }) => {
        if (!USER_ID.test(options.user))
          throw new CliError(
            `--user: "${options.user}" is not an id of letters, digits, dot, dash and underscore, at most 64.`,
          );
        const stranger = listOf(options.addresses)?.find((text) => parseRange(text) === undefined);
        if (stranger !== undefined)
          throw new CliError(`--addresses: "${stranger}" is not an IP address or a network such as 10.0.0.0/8.`);
        const groups = await db.selectFrom('groups').select(['id', 'style']).where('style', '<>', 'video').execute();
        if (!groups.some((group) => group.id === options.group)) {
          throw new CliError(
            `There is no provider group "${options.group}". There ${groups.length === 0 ? 'are none yet; apply a configuration first' : `are: ${groups.map((group) => group.id).join(', ')}`}.`,
          );
        }
        const taken = await db
          .selectFrom('keys')
          .select('id')
          .where('user_id', '=', options.user)
          .where('group_id', '=', options.group)
          .where('name', '=', options.name)
          .executeTakeFirst();
        if (taken)
          throw new CliError(
            `${options.user} has a key "${options.name}" for ${options.group} already; choose another --name.`,
          );
        const expiresAt = options.expires === undefined ? undefined : new Date(options.expires);
        if (expiresAt && Number.isNaN(expiresAt.getTime()))
          throw new CliError(`--expires: "${options.expires}" is not a date such as 2030-01-31.`);
        const saved = await db.transaction().execute(async (tx) => {
          const { numInsertedOrUpdatedRows: isNew } = await tx
            .insertInto('users')
            .values({ id: options.user })
            .onConflict((conflict) => conflict.doNothing())
            .executeTakeFirstOrThrow();
          if (isNew) await writeAudit(tx, BY_CLI, { action: 'user.created', subject: `user:${options.user}` });
          const wish = {
            user: options.user,
            group: options.group,
            name: options.name,
            expiresAt,
            allowedModels: listOf(options.models),
            allowedAddresses: listOf(options.addresses),
            store: options.store,
          };
          const saved = await saveKey(tx, wish, secrets);
          const row = await tx.selectFrom('keys').selectAll().where('id', '=', saved.id).executeTakeFirstOrThrow();
          const after = keyView(row, clock.now());
          await writeAudit(tx, BY_CLI, { action: 'key.created', subject: `key:${saved.id}`, after });
          return saved;
        });
        info(`Key ${saved.id} for ${options.user} in ${options.group}. This is its value; it is not shown again:`);
        print(saved.made ?? '');
      }),
    );

const listOf = (text: string | undefined): string[] | undefined => text?.split(',').map((entry) => entry.trim());

const listCommand = (): Command =>
  new Command('list').description('list keys, without their values').action(() =>
    withContext(async ({ database: { db } }) => {
      const rows = await db.selectFrom('keys').selectAll().orderBy('created_at').execute();
      for (const row of rows) {
        const state = row.revoked_at ? 'revoked' : row.expires_at && row.expires_at < new Date() ? 'expired' : 'valid';
        print([row.id, state, row.user_id, row.group_id, row.name, row.hint].join('\t'));
      }
    }),
  );

const revokeCommand = (): Command =>
  new Command('revoke')
    .description('refuse a key from now on, on every replica within seconds')
    .argument('<id>', 'key_...')
    .action((id: string) =>
      withContext(async ({ database: { db } }) => {
        await db.transaction().execute(async (tx) => {
          if (!(await revokeKey(tx, id)))
            throw new CliError(`There is no valid key ${id}; "dragoman key list" shows them.`);
          await writeAudit(tx, BY_CLI, { action: 'key.revoked', subject: `key:${id}` });
        });
        info(`Key ${id} is revoked.`);
      }),
    );
