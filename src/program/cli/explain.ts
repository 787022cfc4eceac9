/**
 * `dragoman explain`: how a call would be served, without sending it. Reads the data, or asks a running server by its
 * admin API.
 */
import { readFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { readAdminToken } from '../../access/keys/index.ts';
import { keyToExplain } from '../../api/admin/index.ts';
import { loadConfig } from '../../platform/config.ts';
import { DIALECTS, type Dialect } from '../../rules/index.ts';
import type { ShownExplanation } from '../../schemas/index.ts';
import { CliError, loadServices } from '../server/index.ts';
import { withContext } from './context.ts';
import { print } from './output.ts';

interface Options {
  readonly key: string;
  readonly model: string;
  readonly dialect?: Dialect;
  readonly body?: string;
  readonly server?: string;
  readonly json?: boolean;
}

export const explainCommand = (): Command =>
  new Command('explain')
    .description('show how a call would be served, without sending it: ways, accounts, price, maximum cost, error')
    .requiredOption('--key <id>', 'id of the API key that makes the call, key_...')
    .requiredOption('--model <name>', 'as the caller names it')
    .addOption(new Option('--dialect <name>', "of the call; by default that of the key's group").choices(DIALECTS))
    .option('--body <file>', 'body of the call; by default a minimal one')
    .option('--server <url>', 'ask this running server, which also knows full accounts and spend limits')
    .option('--json', 'print the object of the admin API')
    .action(async (options: Options) => {
      const body = options.body === undefined ? undefined : await readFile(options.body);
      const plan = await (options.server === undefined
        ? explainHere(options, body)
        : ask(options.server, options, body));
      print(options.json ? JSON.stringify(plan, null, 2) : linesOf(plan).join('\n'));
      if (plan.way === null) process.exitCode = 1;
    });

const explainHere = ({ key: id, model, dialect }: Options, body: Buffer | undefined): Promise<ShownExplanation> =>
  withContext(async (context) => {
    const key = await keyToExplain(context.database.db, id, context.clock.now());
    const { openExplainServices, explainCall } = await loadServices();
    const services = await openExplainServices(context);
    return explainCall(services, { key, model, dialect, body }).finally(services.close);
  });

async function ask(server: string, { key, model, dialect }: Options, body: Buffer | undefined) {
  const { ADMIN_TOKEN } = loadConfig(process.env);
  const token = ADMIN_TOKEN ?? (await withContext(({ database, sealer }) => readAdminToken(database.db, sealer)));
  const url = new URL('/admin/v1/explain', server);
  url.search = new URLSearchParams({ key, model, ...(dialect && { dialect }) }).toString();
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const sent = { method: 'POST', headers, body: new Uint8Array(body ?? []) };
  const response = await fetch(url, sent).catch(({ message }: Error) => {
    throw new CliError(`No server responds at ${url.origin}: ${message}. Leave --server out to read the data here.`);
  });
  const text = await response.text();
  if (!response.ok) throw new CliError(`The server refused with HTTP ${response.status}: ${text.slice(0, 1_000)}`);
  return JSON.parse(text) as ShownExplanation;
}

function linesOf(plan: ShownExplanation): string[] {
  const { ways, left_out, way, error } = plan;
  const served = way === null ? `Refused: ${error?.status} ${error?.code}. ${error?.message}` : `Served by way ${way}.`;
  const groups = plan.groups.length > 1 ? ` of ${plan.groups.join(', ')}` : '';
  const body = plan.minimal_body ? ', minimal body' : '';
  return [
    `${plan.endpoint} of ${plan.key} (user ${plan.user}, group ${plan.group}${groups})${body}`,
    served,
    ...ways.flatMap((one, n) => ['', ...wayLines(one, n + 1)]),
    ...(left_out.length === 0 ? [] : ['', 'Left out']),
    ...left_out.map(({ group, line, dialect, account, reason, detail }) => {
      const what = [account ?? group, line, dialect].filter((name) => name !== null).join(' ');
      return `  ${what}: ${reason}${detail === null ? '' : ` (${detail})`}`;
    }),
    '',
    `Wallet: $${plan.available} available.`,
  ];
}

function wayLines(way: ShownExplanation['ways'][number], number: number): string[] {
  const { price, rates, dropped, opaque, error } = way;
  const kind = `${way.native ? 'native' : 'converted'}, ${way.fallback ? 'fallback' : 'own group'}`;
  const flat = Object.entries(rates ?? {}).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [
    `${number}. ${way.group}/${way.line} as ${way.upstream_model} by ${way.dialect} (${kind})`,
    ...way.accounts.map(({ account, state, reason, until }) => {
      const why = reason === null ? '' : ` (${reason})`;
      const end = until === null ? '' : ` until ${until}`;
      return `   ${account}: ${state}${why}${end}`;
    }),
    ...(opaque === 'none' ? [] : [`   opaque values: ${opaque === 'kept' ? 'kept' : 'left out'}`]),
    ...(dropped.length === 0 ? [] : [`   dropped: ${dropped.join(', ')}`]),
    price === null
      ? '   price: free'
      : `   price ${price}: ${flat.join(', ')}; group x ${way.group_multiplier}, user x ${way.user_multiplier}`,
    `   max cost $${way.max_cost}, ${way.covered ? 'covered' : 'not covered'} by the wallet`,
    ...(error === null ? [] : [`   cannot serve: ${error.code}. ${error.message}`]),
  ];
}
