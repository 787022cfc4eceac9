/**
 * The installation: its whole configuration as one document (YAML or JSON, in the format of `dragoman apply`),
 * settings, alarms, audit log.
 */
import { sql } from 'kysely';
import { z } from 'zod';
import * as setup from '../../catalog/setup/index.ts';
import { ALARMS, readAlarms } from '../../ledger/index.ts';
import type { Row } from '../../platform/db/index.ts';
import { type Call, expectJson, mediaType, readBody } from '../../platform/web/index.ts';
import { BODY_BYTES, CONFIG_JSON_LIMITS } from '../../rules/index.ts';
import { SetupFile } from '../../schemas/index.ts';
import { operation } from './handler.ts';
import { sendRows } from './list.ts';
import { pageParams, rowKey, wholeList } from './pagination.ts';
import { flags, params, period } from './query-params.ts';
import { isUnstorable, rejection, rejectManyValues, UNSTORABLE } from './request-body.ts';

const YAML = new Set(['application/yaml', 'application/x-yaml', 'text/yaml', 'text/x-yaml']);

async function readSetup(call: Call): Promise<SetupFile> {
  if (!YAML.has(mediaType(call))) expectJson(call);
  const bytes = await readBody(call, BODY_BYTES.small);
  rejectManyValues(bytes, CONFIG_JSON_LIMITS);
  const text = bytes.toString('utf8');
  try {
    const file = setup.parseSetup(text);
    if (isUnstorable(file)) throw rejection([UNSTORABLE.slice(0, -1)]);
    return file;
  } catch (error) {
    return rejectSetup(error);
  }
}

function rejectSetup(error: unknown): never {
  if (error instanceof setup.ExistsError)
    throw rejection([`${error.field}: ${error.object} exists; use another name, or change it`], 'conflict');
  if (error instanceof setup.RemovalError)
    throw rejection(
      [`prune: ${error.lines[0]}; repeat the request with confirm=${error.removal.removed} if this is intended`],
      'conflict',
    );
  if (error instanceof setup.RepricingError)
    throw rejection(error.lines.map((line) => `${line}; name it, or repeat the request with accept_repricing=true`));
  throw error instanceof setup.SetupError ? rejection(error.lines) : error;
}

/**
 * What operators see of the installation: alarms as a job stored them at its last check, where an old check means that
 * no jobs run; the settings of this server, where a secret shows only that it is set; and the audit log, newest first.
 */
const AuditQuery = z.strictObject({
  actor: z
    .string()
    .regex(/^(?:token|cli|file|person:[A-Za-z0-9_]{1,64})$/, 'token, cli, file or person:<id>')
    .describe('by `token` (admin API), `cli`, `file` (configuration applied at start) or `person:<id>` (console)')
    .optional(),
  ...params('action', 'subject'),
  ...period,
  ...pageParams(rowKey.id),
});

export const CONFIG_OPERATIONS = {
  'admin.applyConfig': operation({
    query: z.strictObject(flags),
    body: SetupFile,
    bodyTypes: ['application/json', 'application/yaml'],
    readBody: readSetup,
    async handle({ query, by, body }, { db, secrets }) {
      const dryRun = query.dry_run === 'true';
      const prune = query.prune === 'true';
      const refuseRepricing = query.accept_repricing !== 'true';
      const createOnly = query.create_only === 'true';
      const refuseRemoval = { confirmed: query.confirm === undefined ? undefined : Number(query.confirm) };
      const options = { secrets, prune, dryRun, refuseRepricing, refuseRemoval, createOnly, by };
      const { changes, effects, unpriced, rotated, warnings, keys, diff } = await setup
        .applySetup(db, body, options)
        .catch(rejectSetup);
      return {
        object: 'config',
        dry_run: dryRun,
        changes,
        diff: diff.map(({ object, fields }) => ({
          object,
          fields: fields.map(({ field, before = null, after = null }) => ({ field, before, after })),
        })),
        effects,
        unpriced,
        rotated,
        warnings,
        // A dry run is rolled back, so its keys do not exist.
        keys: dryRun ? [] : keys.map(({ token, ...key }) => ({ ...key, value: token })),
      };
    },
  }),
  'admin.settings': operation({ handle: (_, { settings }) => wholeList(settings) }),
  'admin.alarms': operation({
    async handle(_, { db }) {
      const view = ({ name, count, detail, ageSeconds }: Awaited<ReturnType<typeof readAlarms>>[number]) => ({
        name,
        count,
        detail,
        ...ALARMS[name],
        checked_seconds_ago: Math.round(ageSeconds),
      });
      return wholeList((await readAlarms(db)).map(view));
    },
  }),
  'admin.audit': operation({
    query: AuditQuery,
    handle: ({ call, query: { start = null, end = null, ...query } }, { db }) => {
      const from = sql<Row<'audit'>>`
      select audit.*, people.name as actor_name
      from audit left join people on people.id = substr(audit.actor, ${'person:'.length + 1})
      where (${start}::timestamptz is null or at >= ${start}) and (${end}::timestamptz is null or at < ${end})`;
      return sendRows(
        call,
        db,
        { order: 'number', from, isLog: true, view: (row) => ({ ...row, id: String(row.id) }) },
        query,
      );
    },
  }),
};
