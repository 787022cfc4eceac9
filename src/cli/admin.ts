/** `dragoman admin token`: the token of the admin API. Only a command on the machine shows it, so no default token exists. */
import { Command } from 'commander';
import { createAdminToken, rotateAdminToken, writeAudit } from '../identity/index.ts';
import { CliError } from '../main.ts';
import { BY_CLI, withContext } from './context.ts';
import { info, print } from './output.ts';

export const adminCommand = (): Command =>
  new Command('admin').description('the token of the admin API').addCommand(tokenCommand());

const tokenCommand = (): Command =>
  new Command('token')
    .description('create the token of the admin API, or replace it')
    .option('--rotate', 'replace the token; every replica rejects the old one at once')
    .action((options: { rotate?: boolean }) =>
      withContext(async ({ config, database: { db }, sealer }) => {
        if (config.ADMIN_TOKEN !== undefined)
          throw new CliError('The admin token is set by ADMIN_TOKEN; change it there, or unset it.');
        const token = await db.transaction().execute(async (tx) => {
          const created = options.rotate ? await rotateAdminToken(tx, sealer) : await createAdminToken(tx, sealer);
          if (created) await writeAudit(tx, BY_CLI, { action: 'token.rotated', subject: 'token' });
          return created;
        });
        if (!token) throw new CliError('An admin token exists and cannot be shown again; use --rotate to replace it.');
        info('Admin token, shown only once:');
        print(token);
      }),
    );
