/** `dragoman replica list | forget`: processes that admit calls, and the end of one whose disk is lost. */
import { Command } from 'commander';
import { formatNanos } from '../core/index.ts';
import { writeAudit } from '../identity/index.ts';
import { fenceIfStale, removeReplica, staleReplicas } from '../ledger/index.ts';
import { CliError } from '../main.ts';
import { BY_CLI, withContext } from './context.ts';
import { info, print } from './output.ts';

export const replicaCommand = (): Command =>
  new Command('replica')
    .description('processes that admit calls')
    .addCommand(
      new Command('list')
        .description('those that ended without their journal having been read: id, host, last seen, held')
        .action(() =>
          withContext(async ({ database: { db } }) => {
            for (const { id, host, seenAt, leased } of await staleReplicas(db))
              print([id, host, seenAt.toISOString(), formatNanos(leased)].join('\t'));
          }),
        ),
    )
    .addCommand(
      new Command('forget')
        .description('give back what it held; calls that only its journal knows are never charged')
        .argument('<id>', 'rep_...')
        .action((id: string) =>
          withContext(async ({ database: { db } }) => {
            const isSilent = await fenceIfStale(db, id);
            if (isSilent === undefined)
              throw new CliError(`There is no replica ${id}; "dragoman replica list" shows them.`);
            if (!isSilent)
              throw new CliError(`${id} was seen within the last minute; it gives back by itself what it holds.`);
            await db.transaction().execute(async (tx) => {
              const held = (await staleReplicas(tx)).find((replica) => replica.id === id)?.leased ?? 0n;
              await removeReplica(tx, id);
              const after = { given_back: formatNanos(held) };
              await writeAudit(tx, BY_CLI, { action: 'replica.removed', subject: `replica:${id}`, after });
            });
            info(`${id} is forgotten, and what it held is given back.`);
          }),
        ),
    );
