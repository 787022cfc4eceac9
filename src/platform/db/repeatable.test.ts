import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRepeatable } from './repeatable.ts';

const REPEATABLE = [
  'begin',
  'start transaction isolation level repeatable read read only',
  'select 1',
  'select "name" from "revisions" where "id" in ($1, $2) order by "name"',
  'with a as materialized (select count(*) from t) select coalesce(max(n), 0) from a',
];

const CHANGES = [
  'insert into t (a) values ($1) returning id',
  'update t set a = 1',
  'commit',
  'copy t from stdin',
  'select sum_usage_day($1::date) as done',
  'select pg_advisory_lock(1)',
  'select "erase_rows"($1, 10)',
  "select nextval('s')",
  'select * from t where id = $1 for update',
  'select * from t for share',
  'select a into b from t',
  'with gone as (delete from t returning id) select count(*) from gone',
];

test('isRepeatable is true of what only reads, and of the beginning of a transaction', () => {
  assert.deepEqual(
    REPEATABLE.filter((statement) => !isRepeatable(statement)),
    [],
  );
});

test('isRepeatable is false of what changes something, and of every function that it does not know', () => {
  assert.deepEqual(CHANGES.filter(isRepeatable), []);
});
