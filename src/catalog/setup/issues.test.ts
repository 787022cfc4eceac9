import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSetup, SetupError } from './setup-document.ts';

/** The lines of the error for this file. */
function linesFor(text: string): readonly string[] {
  try {
    parseSetup(text);
  } catch (error) {
    assert.ok(error instanceof SetupError, String(error));
    return error.lines;
  }
  return assert.fail('the file is accepted');
}

const account = (field: string): string => `accounts: [{ id: a, group: g, base_url: "https://x.test"${field} }]`;

test('issuesOf reports a missing field as missing, with the expected type', () => {
  assert.deepEqual(linesFor('accounts: [{ id: a, base_url: "https://x.test", api_key: k }]'), [
    'accounts[0].group: missing, expected a group, or several in `groups`',
  ]);
});

test('issuesOf advises quotes when YAML read text as a number or a boolean', () => {
  assert.deepEqual(linesFor('models: [{ id: m, groups: [g], prices: { input: 1.25 } }]'), [
    'models[0].prices.input: found 1.25, expected text; put it in quotes',
  ]);
  assert.deepEqual(linesFor('users: [{ id: yes }, { id: true }]'), [
    'users[1].id: found true, expected text; put it in quotes',
  ]);
});

test('issuesOf names the type of a secret and never its value', () => {
  assert.deepEqual(linesFor(account(', api_key: 123456')), [
    'accounts[0].api_key: found a number (not shown), expected text; put it in quotes',
  ]);
  assert.deepEqual(linesFor('keys: [{ user: u, group: g, key: short }]'), [
    'keys[0].key: found text (not shown), expected 20 to 256 visible ASCII characters; the prefix dg- is reserved for generated keys',
  ]);
});

test('every error of a file with several lines has its line and column', () => {
  const yaml = `
groups:
  - id: g
    style: messages
accounts:
  - id: a
    group: g
    base_url: "https://x.test"
    models: { gpt-4.1: 5 }
  - { id: b, group: g, base_url: "ftp://x", api_key: k, colour: red }
users:
  - id: u
    balance: 5
`;
  assert.deepEqual(linesFor(yaml), [
    'accounts[0].models.gpt-4.1: found 5, expected text; put it in quotes (line 9, column 15)',
    'accounts[1].base_url: found "ftp://x", expected an http:// or https:// URL (line 10, column 24)',
    'accounts[1].colour: no such field (line 10, column 57)',
    'users[0].balance: found 5, expected text; put it in quotes (line 13, column 5)',
  ]);
  assert.deepEqual(linesFor('\n- a\n'), ['the file: found a list, expected an object (line 2, column 1)']);
  assert.match(linesFor('groups:\n  - { id: g\n').join(), /\(line \d, column \d+\)$/);
  assert.deepEqual(linesFor('users: []\nkeys:\n  - { user: *secret }\n'), [
    'A value that begins with * is an alias without an anchor; put it in quotes if it is text (line 3, column 13)',
  ]);
});

test('of thousands of errors some are named, and the others counted', () => {
  const value = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`n${n}`, 1]));
  const lines = linesFor(JSON.stringify(value));
  assert.deepEqual([lines.length, lines[0], lines.at(-1)], [201, 'n0: no such field', 'and 4800 more']);
});
