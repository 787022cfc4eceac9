/** The sentence that a command prints for an error. Expected errors have no stack trace. */
import { ConfigError } from '../config.ts';
import { ApiError, WrongMasterKey } from '../core/index.ts';
import { DataDirError } from '../data-dir.ts';
import { MigrationError } from '../db/index.ts';
import { MasterKeyError } from '../master-key.ts';
import { CliError } from '../server/index.ts';
import { ImportError, SetupError } from '../setup/index.ts';

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

export function messageFor(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (EXPECTED.some((kind) => error instanceof kind)) return error.message;
  const isPostgres = 'code' in error && typeof error.code === 'string';
  if (isPostgres && /^(ECONNREFUSED|ENOTFOUND|ETIMEDOUT|28|3D)/.test(String(error.code))) {
    return `The database cannot be used: ${error.message}. Check DATABASE_URL, or unset it to use the embedded database.`;
  }
  return `Unexpected error: ${error.stack ?? error.message}`;
}
