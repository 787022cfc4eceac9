import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'yaml';
import { FIELD_NOTES, type FieldNote, SetupFile } from '../src/setup/index.ts';
import { fieldLists } from './gen-config.ts';

const lists = fieldLists();
const notesOf = (list: string): Readonly<Record<string, FieldNote>> => FIELD_NOTES[list as keyof typeof FIELD_NOTES];

test('every field of the configuration file has a note, and every note a field', () => {
  for (const [list, fields] of Object.entries(lists))
    assert.deepEqual(Object.keys(notesOf(list)).toSorted(), fields.map(({ path }) => path).toSorted(), list);
  assert.deepEqual(Object.keys(FIELD_NOTES), Object.keys(lists));
});

test('optional fields state their default, or have none', () => {
  for (const [list, fields] of Object.entries(lists))
    for (const { path, isRequired } of fields)
      if (isRequired) assert.equal(notesOf(list)[path]?.fallback, undefined, `${list} ${path}`);
});

/** What an example needs in its entry, beside the required fields and the example of the member that contains it. */
const BESIDE: Readonly<Record<string, object>> = { variant: { style: 'video' } };

test('examples of fields are accepted', () => {
  for (const [list, fields] of Object.entries(lists)) {
    const required = fields.filter(({ path, isRequired }) => isRequired && !path.includes('.')).map(({ path }) => path);
    for (const { path } of fields) {
      const entry: Record<string, unknown> = {};
      const container = path.split('.')[0] ?? '';
      for (const field of [...required, container, path]) put(entry, field, parse(notesOf(list)[field]?.example ?? ''));
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
