/** Who may import whom: a file imports from its own folder, or from a folder of strictly lower rank through its index.ts. */

export const RANKS: readonly (readonly string[])[] = [
  ['rules'],
  ['core', 'version'],
  ['dialects', 'db', 'redis', 'upstream', 'web', 'config'],
  ['identity', 'catalog', 'pool', 'ledger'],
  ['setup'],
  ['gateway'],
  ['api', 'admin', 'worker', 'master-key'],
  ['main'],
  ['cli'],
];

export const rankOf = (folder: string): number => RANKS.findIndex((row) => row.includes(folder));

/** The picture in ARCHITECTURE.md. */
export const rankPicture = (): string =>
  RANKS.map((folders, rank) => `rank ${rank}   ${folders.join('   ')}`)
    .reverse()
    .join('\n');
