/** What `dragoman doctor` checks about sign-in to the console: its first operator, and the OpenID provider. */
import { firstRunCheck } from '../../access/people/index.ts';
import { type AppContext, loadServices } from '../server/index.ts';
import { bad, type Finding, firstLineOf, good, note } from './finding.ts';

export const checkSignIn = async (context: AppContext): Promise<Finding[]> => [
  ...(await checkOperator(context)),
  ...(await checkOidc(context)),
];

async function checkOperator({ database: { db } }: AppContext): Promise<Finding[]> {
  if (!(await firstRunCheck(db)())) return [];
  const text =
    'there is no operator yet; "npx dragoman admin link" prints a link for the first one, as every start does';
  return [note('Sign-in', text)];
}

async function checkOidc(context: AppContext): Promise<Finding[]> {
  const { OIDC_ISSUER: issuer } = context.config;
  if (issuer === undefined) return [];
  try {
    await (await loadServices()).tryOidc(context);
    return [good('Sign-in', `OpenID Connect: ${issuer} is reachable and describes itself`)];
  } catch (error) {
    // The library wraps the failure of the request.
    const cause = error instanceof Error && error.cause instanceof Error ? `, ${firstLineOf(error.cause)}` : '';
    const text = `OpenID Connect at ${issuer} does not work: ${firstLineOf(error)}${cause}. Check OIDC_ISSUER and the network`;
    return [bad('Sign-in', text)];
  }
}
