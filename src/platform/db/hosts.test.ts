import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitHosts } from './hosts.ts';

test('splitHosts() makes one URL of each host, and keeps all parameters but the kind of session', () => {
  assert.deepEqual(splitHosts('postgres://u:p%40@a:5432,b:5433/name?target_session_attrs=read-write&sslmode=require'), [
    'postgres://u:p%40@a:5432/name?sslmode=require',
    'postgres://u:p%40@b:5433/name?sslmode=require',
  ]);
  assert.deepEqual(splitHosts('postgresql://a,[::1]:5433/name?sslmode=require&target_session_attrs=primary'), [
    'postgresql://a/name?sslmode=require',
    'postgresql://[::1]:5433/name?sslmode=require',
  ]);
  assert.deepEqual(splitHosts('postgres://u@%2Frun%2Fpostgres/name?target_session_attrs=any'), [
    'postgres://u@%2Frun%2Fpostgres/name',
  ]);
});
