/** `dragoman admin create`: an administrator, from the machine itself, so that no default password ever exists. */
import { Command } from 'commander';
import { saveAdmin } from '../identity/index.ts';
import { Refusal } from '../main.ts';
import { withGround } from './ground.ts';
import { print, say } from './say.ts';

const MIN_PASSWORD = 12;

export const adminCommand = (): Command =>
  new Command('admin').description('administrators').addCommand(
    new Command('create')
      .description('make an administrator, or give one a new password')
      .argument('<email>')
      .option('--password-stdin', 'read the password from standard input instead of making one')
      .action((email: string, options: { passwordStdin?: boolean }) =>
        withGround(async ({ database: { db } }) => {
          if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new Refusal(`"${email}" is not an e-mail address.`);
          const password = options.passwordStdin ? await readLine() : undefined;
          if (password !== undefined && password.length < MIN_PASSWORD)
            throw new Refusal(`A password needs at least ${MIN_PASSWORD} characters.`);
          const { made } = await saveAdmin(db, email, password);
          say(
            made
              ? `Administrator ${email}. This is the password; it is not shown again:`
              : `Administrator ${email} has the password you gave.`,
          );
          if (made) print(made);
        }),
      ),
  );

async function readLine(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin) text += String(chunk);
  return text.split('\n')[0] ?? '';
}
