/**
 * The sizes of the rooms of src and of the other folders, for information: a few people must be able to know the code.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './modules.ts';

interface File {
  /** Relative to the root. */
  readonly file: string;
  readonly text: string;
}

export interface Size {
  readonly place: string;
  /** Comments and empty lines included. */
  readonly lines: number;
  readonly characters: number;
  readonly medianLines: number;
}

/** Generated files of data would hide what people write. */
const FILES = ['{src,console,sim,scripts,bench,test}/**/*.{ts,tsx}', 'docs/**/*.md'];

export function printSizes(): void {
  const files = globSync(FILES, { cwd: ROOT }).map((found) => ({
    file: found.replaceAll('\\', '/'),
    text: readFileSync(join(ROOT, found), 'utf8'),
  }));
  console.log(sizesTable(sizesOf(files)));
}

/** In the order of the names, the rooms of src first. */
export function sizesOf(files: readonly File[]): Size[] {
  const places = [...Map.groupBy(files, ({ file }) => placeOf(file))];
  return places
    .map(([place, inPlace]) => sizeOf(place, inPlace))
    .toSorted((a, b) => Number(isRoom(b.place)) - Number(isRoom(a.place)) || a.place.localeCompare(b.place, 'en'));
}

const isRoom = (place: string): boolean => place.startsWith('src/');

/** A test counts as one wherever it lies. */
function placeOf(file: string): string {
  if (/\.test\.tsx?$/.test(file)) return 'test';
  const [folder = '', room = ''] = file.split('/');
  return folder === 'src' ? `src/${room}` : folder;
}

function sizeOf(place: string, files: readonly File[]): Size {
  const lines = files.map(({ text }) => text.split('\n').length - 1).toSorted((a, b) => a - b);
  return {
    place,
    lines: lines.reduce((sum, count) => sum + count, 0),
    characters: files.reduce((sum, { text }) => sum + text.length, 0),
    medianLines: lines[Math.floor(lines.length / 2)] ?? 0,
  };
}

function sizesTable(sizes: readonly Size[]): string {
  const rows = [
    ['', 'lines', 'characters', 'median file'],
    ...sizes.map(({ place, lines, characters, medianLines }) => [
      place,
      ...[lines, characters, medianLines].map((value) => value.toLocaleString('en')),
    ]),
  ];
  return rows
    .map(([place = '', ...figures]) => `    ${place.padEnd(14)}${figures.map((text) => text.padStart(13)).join('')}`)
    .join('\n');
}
