/** `dragoman admin create | token`: from the machine itself, so that no default password or token ever exists. */
import { Command } from 'commander';
import { makeAdminToken, rotateAdminToken, saveAdmin, writeAudit } from '../identity/index.ts';
import { CliError } from '../main.ts';
import { BY_CLI, withContext } from './context.ts';
import { info, print } from './output.ts';

const MIN_PASSWORD = 12;
export const adminCommand = (): Command =>
  new Command('admin').description('administrators').addCommand(createCommand()).addCommand(tokenCommand());

const createCommand = (): Command =>
  new Command('create')
    .description('make an administrator, or give one a new password')
    .argument('<email>')
    .option('--password-stdin', 'read the password from standard input instead of making one')
    .action((email: string, options: { passwordStdin?: boolean }) =>
      withContext(async ({ database: { db } }) => {
        if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new CliError(`"${email}" is not an e-mail address.`);
        const password = options.passwordStdin ? await readLine() : undefined;
        if (password !== undefined && password.length < MIN_PASSWORD)
          throw new CliError(`A password needs at least ${MIN_PASSWORD} characters.`);
        const { made } = await db.transaction().execute(async (tx) => {
          await writeAudit(tx, BY_CLI, { action: 'admin.saved', subject: `admin:${email.toLowerCase()}` });
          return saveAdmin(tx, email, password);
        });
        info(
          made
            ? `Administrator ${email}. This is the password; it is not shown again:`
            : `Administrator ${email} has the password you gave.`,
        );
        if (made) print(made);
      }),
    );

const tokenCommand = (): Command =>
  new Command('token')
    .description('make the token of the admin API, or another one in its place')
    .option('--rotate', 'refuse the present token from now on, on every replica')
    .action((options: { rotate?: boolean }) =>
      withContext(async ({ config, database: { db }, sealer }) => {
        if (config.ADMIN_TOKEN !== undefined)
          throw new CliError('The admin token comes from ADMIN_TOKEN; change it there, or unset it.');
        const token = await db.transaction().execute(async (tx) => {
          const made = options.rotate ? await rotateAdminToken(tx, sealer) : await makeAdminToken(tx, sealer);
          if (made) await writeAudit(tx, BY_CLI, { action: 'token.rotated', subject: 'token' });
          return made;
        });
        if (!token) throw new CliError('There is an admin token, and it was shown once; --rotate makes another one.');
        info('This is the admin token; it is not shown again:');
        print(token);
      }),
    );

async function readLine(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin) text += String(chunk);
  return text.split('\n')[0] ?? '';
}
