/** The command line program: thin commands that call modules. Expected errors are printed as a sentence, without a stack trace. */
import { Command } from 'commander';
import { version } from '../version.ts';
import { adminCommand } from './admin.ts';
import { applyCommand } from './apply.ts';
import { doctorCommand } from './doctor.ts';
import { messageFor } from './error-message.ts';
import { exportCommand } from './export.ts';
import { importCommand } from './import.ts';
import { keyCommand } from './key.ts';
import { ledgerCommand } from './ledger.ts';
import { migrateCommand } from './migrate.ts';
import { pricesCommand } from './prices.ts';
import { reloadCommand } from './reload.ts';
import { replicaCommand } from './replica.ts';
import { serveCommand } from './serve.ts';
import { taskCommand } from './task.ts';
import { workCommand } from './work.ts';

export async function run(argv: readonly string[]): Promise<void> {
  // A closed terminal or pipe must not end the process by an exception, because it has a database to stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const program = new Command('dragoman')
    .description(
      'One gateway that lets any client dialect talk to any provider group.\nSettings are environment variables; docs/config.md lists them.',
    )
    .version(version)
    .showHelpAfterError('Run "dragoman --help" for the list of commands.')
    .addCommand(serveCommand())
    .addCommand(workCommand())
    .addCommand(reloadCommand())
    .addCommand(migrateCommand())
    .addCommand(applyCommand())
    .addCommand(keyCommand())
    .addCommand(pricesCommand())
    .addCommand(replicaCommand())
    .addCommand(ledgerCommand())
    .addCommand(taskCommand())
    .addCommand(exportCommand())
    .addCommand(importCommand())
    .addCommand(adminCommand())
    .addCommand(doctorCommand())
    .addHelpText('after', EXAMPLES);
  try {
    await program.parseAsync(argv);
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`${messageFor(error)}\n`);
  }
}

const EXAMPLES = `
Examples:
  dragoman serve                          embedded database, demo providers, API on http://127.0.0.1:8080
  dragoman serve --config dragoman.yaml   embedded database, your groups, accounts and models
  dragoman key create --user ana --group claude
  dragoman prices import --multiplier 1.2 prices of the configured models, from a public list
  DATABASE_URL=postgres://... dragoman serve`;
