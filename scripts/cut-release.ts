/**
 * `npm run release -- cut 0.3.0`: makes a version of what is committed. Dates the section "Unreleased" of the
 * changelog, writes the version wherever a file states it, commits and tags. Nothing is pushed.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Place {
  readonly file: string;
  /** Finds the versions of the program in the file and nothing else. */
  readonly versions: RegExp;
}

/** Wherever a file states the version of the program. */
const PLACES: readonly Place[] = [
  { file: 'package.json', versions: /(?<=^ {2}"version": ")[\d.]+/gm },
  { file: 'package-lock.json', versions: /(?<="name": "dragoman",\n +"version": ")[\d.]+/g },
  { file: 'openapi.json', versions: /(?<=^ {2}"version": ")[\d.]+/gm },
  { file: 'deploy/chart/Chart.yaml', versions: /(?<=^(?:version|appVersion): )[\d.]+/gm },
  { file: 'deploy/chart/values.yaml', versions: /(?<=^ {2}name: registry\.example\.com\/dragoman:)[\d.]+/gm },
  { file: 'deploy/kubernetes/kustomization.yaml', versions: /(?<=^ {4}newTag: )[\d.]+/gm },
  { file: 'deploy/kubernetes/servers.yaml', versions: /(?<=image: registry\.example\.com\/dragoman:)[\d.]+/g },
];

const CHANGELOG = 'CHANGELOG.md';
const UNRELEASED = '## Unreleased\n';

/** A reason why no release can be made. Shown without a stack trace. */
export class CutError extends Error {}

export interface Cut {
  /** The folder of the repository. */
  readonly root: string;
  readonly version: string;
  /** As in 2026-11-19. */
  readonly day: string;
}

/** Leaves the repository as it was if it cannot make the release. */
export function cutRelease({ root, version, day }: Cut): void {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  const [current = ''] = statedVersions(root).flatMap(({ versions }) => versions);
  if (!isLater(version, current))
    throw new CutError(`The version "${version}" is not one after ${current}. Write three numbers, such as 0.3.0.`);
  const changes = git('status', '--porcelain');
  if (changes !== '') throw new CutError(`The tree has changes that are not committed:\n${changes}Commit them first.`);
  if (git('tag', '--list', `v${version}`) !== '') throw new CutError(`The tag v${version} exists already.`);

  const changelog = withSection(readFileSync(join(root, CHANGELOG), 'utf8'), version, day);
  writeFileSync(join(root, CHANGELOG), changelog);
  for (const { file, versions } of PLACES) {
    const path = join(root, file);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(versions, version));
  }
  git('commit', '--quiet', '--all', '--message', `deploy: release ${version}`);
  git('tag', '--annotate', `v${version}`, '--message', `Dragoman ${version}`);
}

export const statedVersions = (root: string): { readonly file: string; readonly versions: readonly string[] }[] =>
  PLACES.map(({ file, versions }) => ({
    file,
    versions: readFileSync(join(root, file), 'utf8').match(versions) ?? [],
  }));

/** What was under "Unreleased" gets the version and the day, and a new section begins. */
function withSection(changelog: string, version: string, day: string): string {
  const [before = '', after = ''] = changelog.split(UNRELEASED);
  const [entries = ''] = after.split(/^## /m);
  if (entries.trim() === '') throw new CutError(`${CHANGELOG} has nothing under "Unreleased".`);
  return `${before}${UNRELEASED}\n## ${version} (${day})\n${after}`;
}

function isLater(version: string, current: string): boolean {
  if (!/^\d+\.\d+\.\d+$/.test(version)) return false;
  return version.localeCompare(current, 'en', { numeric: true }) > 0;
}
