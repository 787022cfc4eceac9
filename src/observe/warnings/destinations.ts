/** Destinations of an owner: where notices go. Their URLs and secrets are sealed, and never shown again. */
import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { writeAudit } from '../../access/keys/index.ts';
import { failAt, newId, notFound, type Sealer, type SealLocation } from '../../core/index.ts';
import type { Db, Row, Tx } from '../../platform/db/index.ts';
import { type DestinationChange, type NewDestination, ShownDestination, shownRow } from '../../schemas/index.ts';
import { expectFree, lockOwner, OPERATORS, type WarningActor } from './rules.ts';

export type DestinationRow = Row<'warning_destinations'>;

export const destinationUrl = (id: string): SealLocation => `warning_destinations.url:${id}`;
export const destinationSecret = (id: string): SealLocation => `warning_destinations.secret:${id}`;

/** The prefix by which Standard Webhooks knows a secret. */
const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export interface DestinationOptions extends WarningActor {
  readonly sealer: Sealer;
  readonly hasMail: boolean;
}

const destinationsOf = (db: Db, owner: string) =>
  db.selectFrom('warning_destinations').selectAll().where('user_id', '=', owner);

/** All of them: an owner has few. */
export const listDestinations = (db: Db, owner: string): Promise<DestinationRow[]> =>
  destinationsOf(db, owner).orderBy('created_at').orderBy('id').execute();

export async function readDestination(db: Db, owner: string, id: string): Promise<DestinationRow> {
  const row = await destinationsOf(db, owner).where('id', '=', id).executeTakeFirst();
  if (!row) throw notFound('destination', id);
  return row;
}

export const createDestination = (db: Db, destination: NewDestination, options: DestinationOptions) =>
  db.transaction().execute(async (tx): Promise<ShownDestination> => {
    const { kind, name, url, addresses, quiet } = destination;
    const { owner, by, sealer, hasMail } = options;
    if (kind === 'mail' && !hasMail)
      throw failAt('invalid_request', 'kind', 'this server sends no mail; the operator sets SMTP_URL first.');
    await lockOwner(tx, owner);
    await expectFree(tx, 'destinations', owner);
    await checkAddresses(tx, owner, addresses);
    const id = newId('destination');
    const secret = kind === 'webhook' ? randomBytes(SECRET_BYTES).toString('base64') : undefined;
    const host = url === undefined ? null : new URL(url).host;
    await tx
      .insertInto('warning_destinations')
      .values({
        user_id: owner,
        id,
        name: name ?? host ?? addresses?.[0] ?? kind,
        kind,
        url_sealed: url === undefined ? null : sealer.seal(url, destinationUrl(id)),
        host,
        secret_sealed: secret === undefined ? null : sealer.seal(secret, destinationSecret(id)),
        addresses: addresses ?? null,
        quiet: quiet ? JSON.stringify(quiet) : null,
      })
      .execute();
    const view = destinationView(await readDestination(tx, owner, id));
    await writeAudit(tx, by, { action: 'destination.created', subject: `destination:${id}`, after: view });
    return secret === undefined ? view : { ...view, secret: SECRET_PREFIX + secret };
  });

/** The URL stays: another one is another destination, with a secret of its own. */
export const changeDestination = (db: Db, id: string, change: DestinationChange, { owner, by }: WarningActor) =>
  db.transaction().execute(async (tx) => {
    const { quiet, addresses, name } = change;
    await lockOwner(tx, owner);
    const before = destinationView(await readDestination(tx, owner, id));
    if (addresses !== undefined && before.kind !== 'mail')
      throw failAt('invalid_request', 'addresses', 'only of a destination of the kind "mail".');
    await checkAddresses(tx, owner, addresses);
    await tx
      .updateTable('warning_destinations')
      .set({ name, addresses, ...(quiet !== undefined && { quiet: quiet && JSON.stringify(quiet) }) })
      .where('user_id', '=', owner)
      .where('id', '=', id)
      .execute();
    const after = destinationView(await readDestination(tx, owner, id));
    await writeAudit(tx, by, { action: 'destination.changed', subject: `destination:${id}`, before, after });
    return after;
  });

/** Notices that wait for it are not sent. Rules that name it alone then have none. */
export const deleteDestination = (db: Db, id: string, { owner, by }: WarningActor): Promise<void> =>
  db.transaction().execute(async (tx) => {
    await lockOwner(tx, owner);
    const before = destinationView(await readDestination(tx, owner, id));
    await tx.deleteFrom('warning_destinations').where('user_id', '=', owner).where('id', '=', id).execute();
    await sql`
      delete from notice_deliveries where user_id = ${owner} and destination_id = ${id} and finished_at is null`.execute(
      tx,
    );
    await writeAudit(tx, by, { action: 'destination.deleted', subject: `destination:${id}`, before });
  });

/**
 * Mail of a user goes to people of the user, who have shown that the address is theirs or were invited to it by an
 * operator.
 */
async function checkAddresses(tx: Tx, owner: string, addresses: readonly string[] | undefined): Promise<void> {
  if (!addresses || owner === OPERATORS) return;
  const allowed = await allowedAddresses(tx, owner, addresses);
  const foreign = addresses.find((address) => !allowed.includes(address));
  if (foreign !== undefined)
    throw failAt(
      'not_permitted',
      'addresses',
      'mail goes only to people of your user; ask your operator to invite them.',
    );
}

export async function allowedAddresses(db: Db, owner: string, addresses: readonly string[]): Promise<string[]> {
  if (owner === OPERATORS) return [...addresses];
  const { rows: people } = await sql<{ email: string }>`
    select email from people where user_id = ${owner} and disabled_at is null`.execute(db);
  const known = new Set(people.map(({ email }) => email.toLowerCase()));
  return addresses.filter((address) => known.has(address.toLowerCase()));
}

export const destinationView = (row: DestinationRow): ShownDestination => shownRow(ShownDestination, row);
