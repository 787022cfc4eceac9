import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../api/client.ts';
import { fieldErrors } from './field-errors.ts';

const FIELDS = [
  { name: 'group_id', path: 'groups[0].id' },
  { name: 'id', path: 'accounts[0].id' },
  { name: 'base_url' },
  { name: 'prices.input' },
  { name: 'prices.more', path: 'models[0].prices' },
];
const errorsOf = (message: string, param?: string) => {
  const { at, rest } = fieldErrors(new Problem(message, { status: 400, code: 'invalid_request', param }), FIELDS);
  return [Object.fromEntries(at), rest];
};

test('fieldErrors puts each line of the API at its own field, without paths and values', () => {
  assert.deepEqual(
    errorsOf(
      'groups[0].id: found "Not one", expected lower-case letters; accounts[0].base_url: missing, expected text; use a URL.',
    ),
    [{ group_id: 'Expected lower-case letters.', base_url: 'Enter a value.' }, undefined],
  );
  assert.deepEqual(
    errorsOf('models[0].prices.input: found "x", expected a decimal amount in quotes, for example "1".'),
    [{ 'prices.input': 'Expected a decimal amount, for example "1".' }, undefined],
  );
  assert.deepEqual(errorsOf('models[0].prices.steps[0].above: missing, expected a number.'), [
    { 'prices.more': 'Enter a value.' },
    undefined,
  ]);
});

test('fieldErrors leaves to the form what no field is about', () => {
  assert.deepEqual(errorsOf('The reference was used before.'), [{}, 'The reference was used before.']);
  assert.deepEqual(errorsOf('accounts[0].max_concurrency: found 0, expected at least 1.'), [
    {},
    'Max concurrency: Expected at least 1.',
  ]);
});
