import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCsv } from '../../../test/support/csv.ts';
import { csvText } from './download.ts';

test('csvText escapes cells so that a reader gets the same values back', () => {
  const rows = [
    ['plain', 'with, comma', 'with "quotes"', 'two\r\nlines', '', 'ü🐉'],
    ['1', '-1.5', 'a=b', ' =x', "'", 'x,"'],
  ];
  assert.deepEqual(parseCsv(csvText(rows)), rows);
  assert.equal(csvText([['a', null, undefined, 7]]), 'a,,,7\r\n');
});

test('csvText puts an apostrophe in front of formulas and leaves numbers unchanged', () => {
  const cell = (text: string): string | undefined => parseCsv(csvText([[text]]))[0]?.[0];
  for (const text of ['=1+1', '+1', '@x', '-1+1', '--1', '-', '\tx', '\rx', '=cmd|" /c"!A1'])
    assert.equal(cell(text), `'${text}`);
  for (const text of ['-1', '-0.000000001', '0', '12.5']) assert.equal(cell(text), text);
});
