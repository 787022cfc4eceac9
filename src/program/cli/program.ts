/**
 * The command line program: thin commands that call modules. Expected errors are printed as a sentence, without a stack
 * trace.
 */
import { Command } from 'commander';
import { version } from '../../platform/version.ts';
import { messageFor } from './error-message.ts';

/** Each is loaded when it is asked for: most need a small part of the program. In the order of --help. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  serve: async () => (await import('./serve.ts')).serveCommand(),
  work: async () => (await import('./work.ts')).workCommand(),
  reload: async () => (await import('./reload.ts')).reloadCommand(),
  migrate: async () => (await import('./migrate.ts')).migrateCommand(),
  apply: async () => (await import('./apply.ts')).applyCommand(),
  key: async () => (await import('./key.ts')).keyCommand(),
  prices: async () => (await import('./prices.ts')).pricesCommand(),
  replica: async () => (await import('./replica.ts')).replicaCommand(),
  ledger: async () => (await import('./ledger.ts')).ledgerCommand(),
  task: async () => (await import('./task.ts')).taskCommand(),
  export: async () => (await import('./export.ts')).exportCommand(),
  import: async () => (await import('./import.ts')).importCommand(),
  admin: async () => (await import('./admin.ts')).adminCommand(),
  explain: async () => (await import('./explain.ts')).explainCommand(),
  doctor: async () => (await import('./doctor.ts')).doctorCommand(),
};

export async function run(argv: readonly string[]): Promise<void> {
  // A closed terminal or pipe must not end the process by an exception, because it has a database to stop.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const program = new Command('dragoman')
    .description(
      'One gateway that lets any client dialect talk to any provider group.\nSettings are environment variables; docs/config.md lists them.',
    )
    .version(version)
    .showHelpAfterError('Run "dragoman --help" for the list of commands.')
    .addHelpText('after', EXAMPLES);
  for (const load of commandsFor(argv[2] ?? '')) program.addCommand(await load());
  try {
    await program.parseAsync(argv);
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`${messageFor(error)}\n`);
  }
}

function commandsFor(word: string): readonly (() => Promise<Command>)[] {
  if (word === '--version') return [];
  const named = COMMANDS[word];
  return named ? [named] : Object.values(COMMANDS);
}

const EXAMPLES = `
Examples:
  dragoman serve                          embedded database, demo providers, API on http://127.0.0.1:8080
  dragoman serve --config dragoman.yaml   embedded database, your groups, accounts and models
  dragoman key create --user ana --group claude
  dragoman prices import --multiplier 1.2 prices of the configured models, from a public list
  DATABASE_URL=postgres://... dragoman serve`;
