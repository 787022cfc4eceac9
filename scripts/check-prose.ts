/** Finds words that the style guide in docs/development.md rejects, in comments, test titles and Markdown. Ignores code in backticks. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './modules.ts';
import { codeOnly, lineOf, type Token, tokenize } from './source-tokens.ts';

/** Only words without a technical meaning, so that every finding is one. */
const WORDS: readonly RegExp[] = [
  /whoever|(?:no|some|any|every)body|(?:some|any|every)one|strangers?/,
  /told|tells?|telling|said|wish(?:es)?|hears?|heard|troubles?|honest(?:ly|y)?/,
  /(?:an|the|its|their|every|whole|no|any) answers?/,
  /(?:that|which) (?:is|are) none|(?<!there )is no (?:HTTP|JSON|text|number|name)|who (?:leaves|asks|sends)/,
  /for so long|as it mostly is|lets? go of/,
];
const REJECTED = new RegExp(`(?<![\\w-])(?:${WORDS.map(({ source }) => source).join('|')})(?![\\w-])`, 'gi');

/** The contract was not written here, and the licence cannot be reworded. */
const NOT_OURS = /^(?:docs\/contract\/|LICENSE)/;
/** The title of a test or of a group of tests is the first argument. */
const TITLED = /(?<![\w.$])(?:test|it|describe|suite|[a-z]\w*Test)(?:\.\w+)?\(\s*$/;

export function checkProse(): string[] {
  const source = globSync('{src,sim,console,test,bench,scripts,bin,migrations}/**/*.{ts,tsx,js}', { cwd: ROOT });
  const pages = globSync('{*.md,docs/**/*.md,sim/**/*.md,test/**/*.md}', { cwd: ROOT });
  const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
  return [
    ...source.flatMap((file) => findings(file, proseOfSource(read(file)))),
    ...pages.filter((file) => !NOT_OURS.test(file)).flatMap((file) => findings(file, proseOfMarkdown(read(file)))),
  ].sort();
}

/** Prose keeps its position in the file; everything else is blank. */
export const findings = (file: string, prose: string): string[] =>
  [...prose.matchAll(REJECTED)].map((match) => `${file}:${lineOf(prose, match.index)}: "${match[0]}"`);

export function proseOfSource(text: string): string {
  const tokens = tokenize(text);
  const code = codeOnly(text, tokens);
  return tokens
    .map((token, n) => {
      const part = text.slice(token.start, token.end);
      return token.kind === 'comment' || isTitle(token, tokens[n - 1], code) ? withoutQuotedCode(part) : blank(part);
    })
    .join('');
}

/** The pieces of a template after its first hole are not recognised as a title. */
const isTitle = ({ kind, start }: Token, before: Token | undefined, code: string): boolean =>
  (kind === 'string' || kind === 'template') &&
  before?.kind === 'code' &&
  TITLED.test(code.slice(Math.max(0, start - 80), start));

export const proseOfMarkdown = (text: string): string =>
  withoutQuotedCode(text.replaceAll(/^```[\s\S]*?^```/gm, blank));

const withoutQuotedCode = (text: string): string =>
  // The backticks of a template literal do not quote code.
  text.startsWith('`') ? text : text.replaceAll(/`[^`\n]*`/g, blank);

const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ');
