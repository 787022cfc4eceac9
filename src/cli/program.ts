/** The command line program: thin commands that call modules. Expected errors are printed as a sentence, without a stack trace. */
import { Command } from 'commander';
import { ConfigError } from '../config.ts';
import { ApiError, WrongMasterKey } from '../core/index.ts';
import { DataDirError } from '../data-dir.ts';
import { MigrationError } from '../db/index.ts';
import { CliError } from '../main.ts';
import { MasterKeyError } from '../master-key.ts';
import { ImportError, SetupError } from '../setup/index.ts';
import { version } from '../version.ts';
import { adminCommand } from './admin.ts';
import { applyCommand } from './apply.ts';
import { doctorCommand } from './doctor.ts';
import { keyCommand } from './key.ts';
import { ledgerCommand } from './ledger.ts';
import { migrateCommand } from './migrate.ts';
import { pricesCommand } from './prices.ts';
import { replicaCommand } from './replica.ts';
import { serveCommand } from './serve.ts';
import { workCommand } from './work.ts';

const EXPECTED = [
  ApiError,
  CliError,
  ConfigError,
  DataDirError,
  SetupError,
  ImportError,
  MasterKeyError,
  MigrationError,
  WrongMasterKey,
];

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
    .addCommand(migrateCommand())
    .addCommand(applyCommand())
    .addCommand(keyCommand())
    .addCommand(pricesCommand())
    .addCommand(replicaCommand())
    .addCommand(ledgerCommand())
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

function messageFor(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (EXPECTED.some((kind) => error instanceof kind)) return error.message;
  const isPostgres = 'code' in error && typeof error.code === 'string';
  if (isPostgres && /^(ECONNREFUSED|ENOTFOUND|ETIMEDOUT|28|3D)/.test(String(error.code))) {
    return `The database cannot be used: ${error.message}. Check DATABASE_URL, or unset it to use the embedded database.`;
  }
  return `Unexpected error: ${error.stack ?? error.message}`;
}
