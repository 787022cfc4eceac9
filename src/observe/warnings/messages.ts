/** A notice in the form of each kind of destination. Pure. */
import { TEST_EVENT_TYPE, WARNING_WINDOW_HOURS } from '../../rules/index.ts';
import type { NoticeContent } from '../../schemas/index.ts';

export interface Notice {
  readonly id: string;
  /** Unix time in milliseconds. */
  readonly at: number;
  /** Undefined for a test. */
  readonly content: NoticeContent | undefined;
  readonly url: string;
}

const PERIODS = {
  day: 'today (UTC)',
  month: 'this month (UTC)',
  last_hours: `in the last ${WARNING_WINDOW_HOURS.last_hours} hours`,
  last_day: 'in the last 24 hours',
} as const;

export function titleOf(content: NoticeContent): string {
  const { rule, count, subjects } = content;
  const [first] = subjects;
  if (count === 1 && first) return sentenceOf(rule, nameOf(rule, first), first.value);
  return `Warning ${rule.name}: ${count} ${rule.scope}s`;
}

type Rule = NoticeContent['rule'];
type Subject = NoticeContent['subjects'][number];

function nameOf({ scope }: Rule, { id, name }: Subject): string {
  if (scope === 'all') return 'all calls';
  return name === null ? `${scope} ${id}` : `${scope} ${name} (${id})`;
}

function sentenceOf(rule: Rule, subject: string, value: string): string {
  const when = rule.period === null ? '' : ` ${PERIODS[rule.period]}`;
  switch (rule.kind) {
    case 'balance':
      return `The balance of ${subject} is $${value}, below $${rule.amount}`;
    case 'spend':
      return `The ${subject} has spent $${value}${when}, at least $${rule.amount}`;
    case 'limit':
      return `The ${subject} has used ${value} % of its spend limit${when}`;
    case 'account':
      return `The ${subject} is ${STATES[value] ?? value}`;
    case 'errors':
      return `${value} % of ${rule.scope === 'all' ? subject : `the calls of ${subject}`} failed${when}`;
    case 'margin':
      return `The margin of ${subject} is ${value} %${when}, below ${rule.percent} %`;
    case 'alarm':
      return `The ${subject} is raised: ${value}`;
  }
}

const STATES: Readonly<Record<string, string>> = {
  out: 'out of use: its credential was refused or its quota is used up',
  parked: 'parked',
  draining: 'draining',
  cooling: 'cooling down',
  limited: 'at its limit',
};

const TEST_TITLE = 'Test of this destination: no threshold was crossed';

/** Details of alarms may be long. */
const MAX_LINE = 300;

const headOf = ({ content }: Notice): string => cut(content ? titleOf(content) : TEST_TITLE, MAX_LINE);

/** What follows the title: the subjects when there are several, and how many are left out. */
function linesOf({ content }: Notice): string[] {
  if (!content || content.count === 1) return [];
  const { rule, subjects, count } = content;
  const left = count - subjects.length;
  return [
    ...subjects.map((one) => cut(sentenceOf(rule, nameOf(rule, one), one.value), MAX_LINE)),
    ...(left > 0 ? [`and ${left} more`] : []),
  ];
}

/** The envelope of callbacks, so that one receiver can read both. */
export const webhookBody = (notice: Notice): object => ({
  event_id: notice.id,
  type: notice.content ? 'warning' : TEST_EVENT_TYPE,
  created_at: Math.floor(notice.at / 1_000),
  data: { title: headOf(notice), url: notice.url, ...notice.content },
});

const SLACK_HEADER = 150;
const SLACK_SECTION = 3_000;

const slackText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

export function slackBody(notice: Notice): object {
  const head = headOf(notice);
  let text = `<${notice.url}|Open warnings>`;
  for (const line of linesOf(notice).toReversed()) {
    const longer = `• ${slackText(line)}\n${text}`;
    if (longer.length <= SLACK_SECTION) text = longer;
  }
  return {
    text: slackText(head),
    blocks: [
      // Plain text has no control characters.
      { type: 'header', text: { type: 'plain_text', text: cut(head, SLACK_HEADER) } },
      { type: 'section', text: { type: 'mrkdwn', text } },
    ],
  };
}

const cardText = (text: string): string => text.replaceAll(/[\\`*_[\]<>]/g, '\\$&');

/** A workflow webhook of Teams: a message with one adaptive card. */
export const teamsBody = (notice: Notice): object => ({
  type: 'message',
  attachments: [
    {
      contentType: 'application/vnd.microsoft.card.adaptive',
      contentUrl: null,
      content: {
        $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
        type: 'AdaptiveCard',
        version: '1.4',
        body: [
          { type: 'TextBlock', text: cardText(headOf(notice)), weight: 'Bolder', size: 'Medium', wrap: true },
          ...linesOf(notice).map((line) => ({ type: 'TextBlock', text: cardText(line), wrap: true, spacing: 'Small' })),
        ],
        actions: [{ type: 'Action.OpenUrl', title: 'Open warnings', url: notice.url }],
      },
    },
  ],
});

/** Subjects of mail are cut by most programs. */
const MAIL_SUBJECT = 200;

export const mailText = (notice: Notice): { readonly subject: string; readonly text: string } => ({
  subject: cut(`Dragoman: ${headOf(notice)}`, MAIL_SUBJECT),
  text: [headOf(notice), ...linesOf(notice).map((line) => `- ${line}`), '', notice.url, ''].join('\n'),
});

const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max - 1)}…` : text);
