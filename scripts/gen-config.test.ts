import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { SetupFile } from '../src/schemas/index.ts';
import { fieldLists } from './gen-config.ts';

const lists = fieldLists();
test('required fields have no default', () => {
  for (const [list, fields] of Object.entries(lists))
    for (const { path, isRequired, fallback } of fields)
      if (isRequired) assert.equal(fallback, undefined, `${list} ${path}`);
});

/** What an example needs in its entry, beside the required fields and the example of the member that contains it. */
const BESIDE: Readonly<Record<string, object>> = { variant: { style: 'video' } };

test('examples of fields are accepted', () => {
  for (const [list, fields] of Object.entries(lists)) {
    const examples = new Map(fields.map(({ path, example }) => [path, example]));
    const required = fields.filter(({ path, isRequired }) => isRequired && !path.includes('.')).map(({ path }) => path);
    for (const { path } of fields) {
      const entry: Record<string, unknown> = {};
      const container = path.split('.')[0] ?? '';
      for (const field of [...required, container, path]) put(entry, field, parse(examples.get(field) ?? ''));
      const issues = SetupFile.safeParse({ [list]: [{ ...entry, ...BESIDE[path] }] }).error?.issues ?? [];
      // Rules between fields, such as the variant of a video group, name another field.
      const own = issues.filter((issue) => issue.path.slice(2).join('.').startsWith(path));
      assert.deepEqual(own, [], `${list} ${path}`);
    }
  }
});

function put(entry: Record<string, unknown>, path: string, value: unknown): void {
  const [first = '', ...rest] = path.split('.');
  entry[first] = rest.length === 0 ? value : { ...(entry[first] as object), [rest.join('.')]: value };
}
