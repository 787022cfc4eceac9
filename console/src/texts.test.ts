import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseSync, Visitor } from 'vite';
import { ACCOUNT_KIND_NAMES, accountKind, CLOUD_SETTINGS, type CloudSetting } from '../../src/rules/account-kinds.ts';
import { operatorTexts } from './operator/texts.ts';
import { warningTexts } from './parts/warning-texts.ts';
import { pages, texts } from './texts.ts';
import { playTexts } from './user/play/texts.ts';
import { actions } from './zh/audit.ts';
import { settings } from './zh/settings.ts';
import * as zh from './zh/texts.ts';

const { labels } = zh;

const sourceOf = (file: string) => ({ file, code: readFileSync(join(import.meta.dirname, file), 'utf8') });
const SOURCES = globSync('**/*.{ts,tsx}', { cwd: import.meta.dirname })
  .filter((file) => !/^(?:zh.|language\.ts)|texts\.ts$|\.test\.ts$/.test(file))
  .map(sourceOf);

/** A literal or the text of an element that is a sentence: a capital, several words, and a full stop. */
const SENTENCE = /(?:['"`]|>\s*)([A-Z][a-z]+(?: [^'"`<>{}\n]+)+[.…])(?=['"`]|\s*<)/g;

test('every sentence of the console is in a file of texts', () => {
  const found = SOURCES.flatMap(({ file, code }) => {
    const plain = code.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
    return [...plain.matchAll(SENTENCE)].map(([, text]) => `${file}: ${text}`);
  });
  assert.deepEqual(found, []);
});

/** Names that are the same in every language, keys of the keyboard, and names of code. */
const KEPT = new Set([
  'Dragoman',
  'English',
  'Escape',
  'Enter',
  'ArrowDown',
  'ArrowUp',
  'AbortError',
  'A brass desk lamp',
  'Python',
  'JavaScript',
  'p50',
  'p95',
  'p99',
  'KiB',
  'MiB',
  'GiB',
  'TiB',
]);
/** Names of components, and of the four APIs. */
const CODE_ONLY = new Set(['router.tsx', 'user/play/dialects.ts', 'parts/request-code.ts']);

/** Words between tags, and literals: those that `t` gets, and those that begin like a label. */
function wordsIn({ file, code }: { readonly file: string; readonly code: string }) {
  const [bare, wanted, all] = [new Set<string>(), new Set<string>(), new Set<string>()];
  let depth = 0;
  const add = (value: unknown): void => {
    if (typeof value === 'string' && /[a-z]/i.test(value) && !KEPT.has(value) && !CODE_ONLY.has(file))
      wanted.add(value);
  };
  const isLookup = (callee: { readonly type: string }): boolean =>
    callee.type === 'Identifier' && (callee as { readonly name?: string }).name === 't';
  new Visitor({
    JSXText: ({ value }) => {
      if (/[a-z]{2}/.test(value) && !KEPT.has(value.trim())) bare.add(value.trim());
    },
    CallExpression: ({ callee }) => {
      if (isLookup(callee)) depth += 1;
    },
    'CallExpression:exit': ({ callee }) => {
      if (isLookup(callee)) depth -= 1;
    },
    TemplateElement: ({ value: { raw } }) => {
      if (/^[A-Z][a-z]+ /.test(raw)) bare.add(raw);
    },
    Property: ({ key, value }) => {
      if (key.type === 'Identifier') all.add(key.name).add(key.name.replaceAll('_', ' '));
      const isLabel = key.type === 'Identifier' && ['label', 'head', 'action'].includes(key.name);
      if (isLabel && value.type === 'Literal') add(value.value);
    },
    Literal: ({ value }) => {
      if (typeof value !== 'string') return;
      all.add(value).add(value.replaceAll('_', ' '));
      if (depth > 0 || /^[A-Z][-a-z]/.test(value)) add(value);
    },
  }).visit(parseSync(file, code).program);
  return { file, bare, wanted, all };
}

/** What the forms of accounts at clouds show of the tables of their kinds. */
const CLOUD_WORDS = [
  ...Object.values<CloudSetting>(CLOUD_SETTINGS).flatMap(({ label, about, fallback = '' }) => [
    label,
    about,
    // One word is a value.
    fallback.includes(' ') ? fallback : '',
  ]),
  ...ACCOUNT_KIND_NAMES.flatMap((kind) => Object.values(accountKind(kind).auths)).flatMap(({ label, secret = '' }) => [
    label,
    secret,
  ]),
]
  .filter((text) => text !== '')
  .map((text) => text.replaceAll('`', ''));

test('every label of the console is in zh/labels.ts, and none is there for nothing', () => {
  const found = SOURCES.map(wordsIn);
  assert.deepEqual(
    found.flatMap(({ file, bare }) => [...bare].map((text) => `${file}: ${text}`)),
    [],
    'words outside of t() and files of texts',
  );
  assert.deepEqual(
    found.flatMap(({ file, wanted }) =>
      [...wanted].filter((text) => !(text in labels)).map((text) => `${file}: ${text}`),
    ),
    [],
  );
  assert.deepEqual(
    CLOUD_WORDS.filter((text) => !(text in labels)),
    [],
  );
  const { code } = sourceOf('../../src/schemas/price.ts');
  const rates = [...code.matchAll(/^ *([a-z]\w*):/gm)].map(([, name = '']) => name.replaceAll('_', ' '));
  const all = new Set([...CLOUD_WORDS, ...rates, ...found.flatMap((one) => [...one.all])]);
  assert.deepEqual(
    Object.keys(labels).filter((text) => !all.has(text)),
    [],
    'labels that nothing shows',
  );
});

/** Paths of all texts; a function with the number of its parameters. */
const shapeOf = (value: unknown, path = ''): string[] =>
  typeof value === 'function'
    ? [`${path}(${value.length})`]
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, member]) => shapeOf(member, `${path}.${name}`))
      : [path];

test('the Chinese texts have the members of the English ones, with the same parameters', () => {
  // The compiler sees what is missing, but not what is there for nothing, or is looked up by a code of the API.
  assert.deepEqual(
    shapeOf({ ...zh, labels: {} }).toSorted(),
    shapeOf({ pages, texts, operatorTexts, playTexts, warningTexts }).toSorted(),
  );
});

test('every setting and every action of the audit log has its Chinese words', () => {
  assert.deepEqual(
    Object.keys(settings),
    [...sourceOf('../../docs/config.md').code.matchAll(/^\| `([A-Z][A-Z\d_]+)` \|/gm)].map(([, name]) => name),
  );
  const { code } = sourceOf('../../src/access/keys/audit.ts');
  const [, type = ''] = /type AuditAction =(.*?);\n/s.exec(code) ?? [];
  const known = [...type.matchAll(/'([\w.]+)'/g)].map(([, name]) => name);
  assert.deepEqual(Object.keys(actions).toSorted(), known.toSorted());
});
