import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADAPTERS } from '../upstream/adapters.ts';
import { type ReportedTask, reportedTask } from '../upstream/client.ts';
import { type Claimant, differencesOf, isComplete, isPossible } from './candidate.ts';
import { hashCallbackToken, type TaskParameters } from './task.ts';

const SENT = Date.UTC(2026, 10, 15, 12) / 1_000;

const claimant = (parameters: TaskParameters = {}): Claimant => ({
  id: 'task_1',
  created_at: new Date(SENT * 1_000),
  safety_identifier: 'user-a',
  parameters: parameters as Claimant['parameters'],
  has_video_input: false,
  callback_token_hash: hashCallbackToken('own-token'),
  sent_expiry: null,
});
const reported = (more: object): ReportedTask =>
  reportedTask({ id: 'cgt-1', status: 'running', created_at: SENT, safety_identifier: 'user-a', ...more }) ??
  assert.fail();

test('a task is possible from two minutes before its submission, for clocks that differ, to seven after it', () => {
  for (const [seconds, isIn] of [
    [-121, false],
    [-120, true],
    [420, true],
    [421, false],
  ] as const)
    assert.equal(isPossible(claimant(), reported({ created_at: SENT + seconds })), isIn, `${seconds} s`);
  assert.equal(isPossible(claimant(), reported({ safety_identifier: 'user-b' })), false);
});

test('a task without the name of its user belongs to nobody where the provider names users', () => {
  const nameless = reported({ safety_identifier: undefined });
  assert.deepEqual([isComplete(nameless, ADAPTERS.ark), isComplete(nameless, ADAPTERS.dragoman)], [false, true]);
  assert.equal(isComplete(reported({ created_at: undefined }), ADAPTERS.dragoman), false);
});

test('our secret path decides alone whether a task is that of a submission', () => {
  const at = (token: string) => ({ callback_url: `https://gw.example/upstream/callbacks/${token}` });
  const given = claimant({ resolution: '480p' });
  assert.deepEqual(differencesOf(given, reported({ ...at('own-token'), resolution: '720p' })), []);
  assert.deepEqual(differencesOf(given, reported({ ...at('other-token'), resolution: '480p' })), ['callback_url']);
});

test('a value that was not asked for tells submissions apart, unless the prompt may have asked for it', () => {
  const given = { resolution: '480p', ratio: '16:9', duration: 5 } as const;
  const other = reported({ resolution: '720p', ratio: '1:1', duration: 9 });
  assert.deepEqual(differencesOf(claimant(given), other), ['resolution', 'ratio', 'duration']);
  assert.deepEqual(differencesOf(claimant({ ...given, prompt_options: true }), other), []);
  assert.deepEqual(differencesOf(claimant(given), reported({})), [], 'what is not reported excludes nothing');
  assert.deepEqual(differencesOf(claimant(), reported({ service_tier: 'flex' })), ['service_tier']);
  assert.deepEqual(differencesOf(claimant(), reported({ service_tier: 'default' })), []);
});

test('the expiry that was sent tells equal submissions apart, unless the provider returns its default', () => {
  const sent = { ...claimant(), sent_expiry: 172_797 };
  const differences = (expiry: number) => differencesOf(sent, reported({ execution_expires_after: expiry }));
  assert.deepEqual(differences(172_797), []);
  assert.deepEqual(differences(172_798), ['execution_expires_after']);
  assert.deepEqual(differences(172_800), []);
  assert.deepEqual(differencesOf(sent, reported({})), []);
});
