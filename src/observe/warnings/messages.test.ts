import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WARNING_LIMITS } from '../../rules/index.ts';
import type { NoticeContent } from '../../schemas/index.ts';
import { mailText, slackBody, teamsBody } from './messages.ts';

/** As large as a notice can be. */
const content: NoticeContent = {
  rule: {
    id: 'warning_1',
    name: 'n'.repeat(100),
    kind: 'alarm',
    scope: 'alarm',
    period: null,
    amount: null,
    percent: null,
    min_calls: null,
  },
  count: WARNING_LIMITS.subjects,
  subjects: Array.from({ length: WARNING_LIMITS.namedSubjects }, (_, n) => ({
    id: `alarm_${n}`,
    name: null,
    value: '<&*_'.repeat(200),
  })),
};
const notice = { id: 'notice_1', at: 0, content, url: 'https://gateway.test/console/warnings' };

test('the largest notice keeps the limits of Slack and Teams', () => {
  const { blocks } = slackBody(notice) as { blocks: { text: { text: string } }[] };
  assert.ok((blocks[0]?.text.text.length ?? 0) <= 150);
  assert.ok((blocks[1]?.text.text.length ?? 0) <= 3_000);
  // A message of a workflow has at most 28 KB.
  assert.ok(JSON.stringify(teamsBody(notice)).length < 28 * 1024, `${JSON.stringify(teamsBody(notice)).length}`);
});

test('a mail has its subject on one line, and says how many are left out', () => {
  const { subject, text } = mailText({ ...notice, content: { ...content, rule: { ...content.rule, name: 'low' } } });
  assert.equal(subject, 'Dragoman: Warning low: 1000 alarms');
  assert.match(text, /\n- and 980 more\n/);
});
