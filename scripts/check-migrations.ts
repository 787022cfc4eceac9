/** Checks that every migration says which version is the oldest that can run on its schema (docs/adr/0027-way-back.md). */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { MigrationError, oldestVersionOf } from '../src/platform/db/index.ts';
import { ROOT } from './modules.ts';

export const checkMigrations = (root = ROOT): string[] =>
  globSync('migrations/*.sql', { cwd: root })
    .sort()
    .flatMap((file) => faultOf(basename(file, '.sql'), readFileSync(join(root, file), 'utf8')));

function faultOf(name: string, text: string): string[] {
  try {
    oldestVersionOf(name, text);
    return [];
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return [error.message];
  }
}
