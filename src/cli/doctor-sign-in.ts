/** What `dragoman doctor` checks about the console: its files, its first operator, and the OpenID provider. */
import { type AppContext, consoleFilesOf, publicUrlOf, tryOidc } from '../main.ts';
import { firstRunCheck } from '../people/index.ts';
import { type Finding, firstLineOf } from './finding.ts';

export const checkSignIn = async (context: AppContext): Promise<Finding[]> => [
  await checkFiles(context),
  ...(await checkOperator(context)),
  ...(await checkOidc(context)),
];

async function checkFiles({ config }: AppContext): Promise<Finding> {
  const about = 'Console';
  if (await consoleFilesOf(config).load())
    return { about, state: 'good', text: `built; ${publicUrlOf(config, config.PORT)}/console/ serves it` };
  return {
    about,
    state: 'note',
    text:
      config.CONSOLE_DIR === undefined
        ? 'not built, so /console/ is 404; "npm run console" builds it'
        : `CONSOLE_DIR ${config.CONSOLE_DIR} has no index.html; build the console there, or unset CONSOLE_DIR`,
  };
}

async function checkOperator({ database: { db } }: AppContext): Promise<Finding[]> {
  if (!(await firstRunCheck(db)())) return [];
  const text =
    'there is no operator yet; "npx dragoman admin link" prints a link for the first one, as every start does';
  return [{ about: 'Sign-in', state: 'note', text }];
}

async function checkOidc(context: AppContext): Promise<Finding[]> {
  const { OIDC_ISSUER: issuer } = context.config;
  if (issuer === undefined) return [];
  try {
    await tryOidc(context);
    return [{ about: 'Sign-in', state: 'good', text: `OpenID Connect: ${issuer} is reachable and describes itself` }];
  } catch (error) {
    // The library wraps the failure of the request.
    const cause = error instanceof Error && error.cause instanceof Error ? `, ${firstLineOf(error.cause)}` : '';
    const text = `OpenID Connect at ${issuer} does not work: ${firstLineOf(error)}${cause}. Check OIDC_ISSUER and the network`;
    return [{ about: 'Sign-in', state: 'bad', text }];
  }
}
