/** `dragoman replica list | remove`: stale replicas, and the removal of one whose disk is lost. */
import { Command } from 'commander';
import { writeAudit } from '../../access/keys/index.ts';
import { formatNanos } from '../../core/index.ts';
import { fenceIfStale, removeReplica, staleReplicas } from '../../ledger/index.ts';
import { type AppContext, CliError } from '../server/index.ts';
import { BY_CLI, withContext } from './context.ts';
import { info, print } from './output.ts';

export const replicaCommand = (): Command =>
  new Command('replica')
    .description('replicas that ended without draining their usage journal')
    .addCommand(listCommand())
    .addCommand(removeCommand('remove'))
    // The former name of the command.
    .addCommand(removeCommand('forget'), { hidden: true });

const listCommand = (): Command =>
  new Command('list').description('list stale replicas: id, host, last seen, leased amount').action(() =>
    withContext(async ({ database: { db } }) => {
      for (const { id, host, seenAt, leased } of await staleReplicas(db))
        print([id, host, seenAt.toISOString(), formatNanos(leased)].join('\t'));
    }),
  );

const removeCommand = (name: string): Command =>
  new Command(name)
    .description('return the leases of a replica; calls that are only in its journal are never charged')
    .argument('<id>', 'rep_...')
    .action((id: string) => withContext((context) => remove(context, id)));

async function remove({ database: { db } }: AppContext, id: string): Promise<void> {
  const isStale = await fenceIfStale(db, id);
  if (isStale === undefined) throw new CliError(`There is no replica ${id}; "dragoman replica list" shows them.`);
  if (!isStale)
    throw new CliError(`${id} was seen within the last minute; a running replica returns its leases when it stops.`);
  await db.transaction().execute(async (tx) => {
    const leased = (await staleReplicas(tx)).find((replica) => replica.id === id)?.leased ?? 0n;
    await removeReplica(tx, id);
    const after = { given_back: formatNanos(leased) };
    await writeAudit(tx, BY_CLI, { action: 'replica.removed', subject: `replica:${id}`, after });
  });
  info(`${id} is removed and its leases are returned.`);
}
