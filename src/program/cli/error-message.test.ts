import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DatabaseUnavailable } from '../../platform/db/index.ts';
import { messageFor } from './error-message.ts';

const withCode = (message: string, code: string): Error => Object.assign(new Error(message), { code });

test('a database that is away, or goes away while a command starts, is one sentence without a stack trace', () => {
  const errors = [
    new DatabaseUnavailable('The database is not reachable: timeout.', new Error('timeout')),
    new DatabaseUnavailable('The database did not respond: Query read timeout.', new Error('Query read timeout')),
    withCode('connect ECONNREFUSED 127.0.0.1:5432', 'ECONNREFUSED'),
    withCode('read ECONNRESET', 'ECONNRESET'),
    withCode('terminating connection due to administrator command', '57P01'),
    withCode('the database system is starting up', '57P03'),
    new Error('Connection terminated unexpectedly'),
    new Error('Connection terminated due to connection timeout'),
    new Error('Query read timeout'),
  ];
  for (const error of errors) {
    const message = messageFor(error);
    assert.match(
      message,
      /^The database .*\. Check that it runs, and DATABASE_URL; a new installation can leave DATABASE_URL unset and use the embedded one\.$/,
      message,
    );
    assert.doesNotMatch(message, /\n|Unexpected/);
  }
});

test('an error of the program keeps its stack trace', () => {
  assert.match(
    messageFor(new TypeError('x is not a function')),
    /^Unexpected error: TypeError: x is not a function\n {4}at /,
  );
});
