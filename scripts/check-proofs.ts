/** Checks that every situation, client need and lossy point is proven by a tagged test or a vector, and that every tag is known. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { NEEDS } from '../test/laws/needs.ts';
import { REGISTER, type Row } from '../test/laws/register.ts';
import { SITUATIONS } from '../test/laws/situations.ts';
import { readConversions } from '../test/laws/vector.ts';
import { ROOT } from './modules.ts';
import { taggedTests } from './tagged-tests.ts';

const LISTS = { S: SITUATIONS, N: NEEDS, L: REGISTER } as const;
const NAMES = { S: 'situation', N: 'client need', L: 'lossy point' } as const;

export function checkProofs(): string[] {
  const findings: string[] = [];
  const tags = new Map<string, string>();
  for (const file of globSync('{src,sim,test}/**/*.test.ts', { cwd: ROOT })) {
    for (const { tags: own, line, flaw } of taggedTests(readFileSync(join(ROOT, file), 'utf8'))) {
      if (flaw) findings.push(`${file}:${line}: [${own.join(' ')}] ${flaw}`);
      else for (const tag of own) tags.set(tag, `${file}:${line}`);
    }
  }
  for (const { name, situations } of readConversions())
    for (const number of situations) tags.set(`S${number}`, `test/vectors/conversions/${name}`);

  for (const [tag, where] of tags)
    if (!(Number(tag.slice(1)) in LISTS[tag[0] as keyof typeof LISTS])) findings.push(`${where}: ${tag} is in no list`);
  for (const [letter, list] of Object.entries(LISTS) as [keyof typeof LISTS, Readonly<Record<number, unknown>>][]) {
    const numbers = Object.keys(list).map(Number);
    if (Math.max(...numbers) !== numbers.length) findings.push(`${NAMES[letter]}: numbers are missing below the last`);
    for (const number of numbers) {
      const row = letter === 'L' ? REGISTER[number] : undefined;
      if (!tags.has(`${letter}${number}`) && !(row && isProvenByVectors(row)))
        findings.push(`${NAMES[letter]} ${number}: no test with the tag [${letter}${number}] and no vector proves it`);
    }
  }
  return findings;
}

/** Vectors must cover every conversion that the row concerns. */
function isProvenByVectors({ conversions, vectors }: Row): boolean {
  const covered = new Set<string>(vectors.map(({ client, upstream }) => `${client} over ${upstream}`));
  return conversions.every((conversion) => covered.has(conversion));
}
