/** The sentence that a command prints for an error. Expected errors have no stack trace. */
import { ImportError, SetupError } from '../../catalog/setup/index.ts';
import { ApiError, WrongMasterKey } from '../../core/index.ts';
import { ConfigError } from '../../platform/config.ts';
import { DataDirError } from '../../platform/data-dir.ts';
import { DatabaseUnavailable, MigrationError } from '../../platform/db/index.ts';
import { MasterKeyError } from '../../platform/master-key.ts';
import { CliError, databaseMessage } from '../server/index.ts';

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

/** Of connections that no pool holds: no way to the server, a refusal of it, or a connection that broke. */
const isConnectionError = (error: Error): boolean =>
  ('code' in error && /^(?:ECONN|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|EPIPE|08|28|3D|57P)/.test(String(error.code))) ||
  /^(?:Connection terminated|Query read timeout|Client has encountered a connection error)/.test(error.message);

export function messageFor(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (EXPECTED.some((kind) => error instanceof kind)) return error.message;
  if (error instanceof DatabaseUnavailable || isConnectionError(error)) return databaseMessage(error);
  return `Unexpected error: ${error.stack ?? error.message}`;
}
