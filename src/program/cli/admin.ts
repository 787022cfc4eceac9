/**
 * `dragoman admin token | create | link`: only commands on the machine show tokens and links, so no default password
 * exists.
 */
import { Command } from 'commander';
import { z } from 'zod';
import { createAdminToken, rotateAdminToken, writeAudit } from '../../access/keys/index.ts';
import * as people from '../../access/people/index.ts';
import type { Config } from '../../platform/config.ts';
import { CliError, publicUrlOf } from '../server/index.ts';
import { BY_CLI, withContext } from './context.ts';
import { info, print } from './output.ts';

export const adminCommand = (): Command =>
  new Command('admin')
    .description('operators of the console, and the token of the admin API')
    .addCommand(tokenCommand())
    .addCommand(createCommand())
    .addCommand(linkCommand());

const createCommand = (): Command =>
  new Command('create')
    .description('invite an operator of the console; prints a link that sets the password')
    .requiredOption('--email <address>')
    .option('--name <name>', 'how the operator is shown; the first part of the address by default')
    .action((options: { email: string; name?: string }) =>
      withContext(async ({ config, database: { db }, clock }) => {
        if (!z.email().safeParse(options.email).success)
          throw new CliError(`--email: found "${options.email}", expected an e-mail address.`);
        const name = options.name ?? options.email.split('@')[0] ?? '';
        const invitation = { email: options.email, name, role: 'operator', user: null } as const;
        const { link } = await people.invitePerson(db, invitation, { by: BY_CLI, now: clock.now() });
        printLink(config, link, `Link for ${options.email}`);
      }),
    );

const linkCommand = (): Command =>
  new Command('link')
    .description('create a one-time link: for a person who lost their password, or for the first operator')
    .option('--email <address>', 'the person; without it the first operator')
    .action(({ email }: { email?: string }) =>
      withContext(async ({ config, database: { db }, clock, secrets }) => {
        const context = { by: BY_CLI, now: clock.now() };
        if (email === undefined) {
          const link = await people.createFirstLink(db, { now: context.now, pepper: secrets.pepper });
          if (!link) throw new CliError('The console has an operator; name the person with --email.');
          return printLink(config, link, 'Link for the first operator');
        }
        const person = await people.findPersonByEmail(db, email);
        if (!person)
          throw new CliError(`No person has the address "${email}"; "dragoman admin create" invites an operator.`);
        printLink(config, (await people.resetPerson(db, person.id, context)).link, `Link for ${email}`);
      }),
    );

/** The link alone goes to stdout. */
function printLink(config: Config, link: people.CreatedLink, about: string): void {
  info(`${about}, shown only once; it works once, until ${link.expiresAt.toISOString()}:`);
  print(people.linkUrl(publicUrlOf(config, config.PORT), link));
}

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
