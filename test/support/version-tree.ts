/** Copies of this tree as another version of Dragoman, with migrations of their own. */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../scripts/modules.ts';

export interface VersionTree {
  readonly version: string;
  /** The path of its launcher. */
  readonly program: string;
}

export const versionTree = (folder: string): VersionTree => ({
  version: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).version,
  program: join(folder, 'bin', 'dragoman.js'),
});

/** The next version that may contract: 0.3.0 for 0.2.5. */
export function versionAfter(version: string): string {
  const [major, minor] = version.split('.').map(Number);
  return `${major}.${(minor ?? 0) + 1}.0`;
}

export interface NextVersion {
  readonly folder: string;
  readonly version: string;
  /** By name. */
  readonly migrations: Readonly<Record<string, string>>;
}

export function copyAs({ folder, version, migrations }: NextVersion): VersionTree {
  mkdirSync(folder, { recursive: true });
  for (const name of ['bin', 'src', 'migrations'])
    cpSync(join(ROOT, name), join(folder, name), { recursive: true, filter: (path) => !path.endsWith('.test.ts') });
  cpSync(join(ROOT, 'openapi.json'), join(folder, 'openapi.json'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version }));
  for (const [name, text] of Object.entries(migrations)) writeFileSync(join(folder, 'migrations', `${name}.sql`), text);
  return versionTree(folder);
}
