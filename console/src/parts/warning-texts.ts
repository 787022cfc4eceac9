/** Sentences of the pages of warnings. They are not among those of the console, because they load with these pages. */
import type { WarningAudience, WarningScope } from '../../../src/rules/warnings.ts';
import { chinese } from '../language.ts';
import type { Widened } from '../texts.ts';

const english = {
  tabs: { rules: 'Rules', destinations: 'Destinations', sent: 'Sent' },
  kinds: {
    balance: 'Balance is low',
    spend: 'Spending is high',
    limit: 'Near a spend limit',
    account: 'Account cannot be used',
    errors: 'Many calls fail',
    margin: 'Margin is low',
    alarm: 'Alarm is raised',
  },
  periods: { day: 'today', month: 'this month', last_hours: 'in the last 2 hours', last_day: 'in the last 24 hours' },
  periodChoices: {
    day: 'UTC day',
    month: 'UTC month',
    last_hours: 'Last 2 hours',
    last_day: 'Last 24 hours',
  },
  states: {
    out: 'Out of use',
    parked: 'Parked',
    draining: 'Draining',
    cooling: 'Cooling down',
    limited: 'At its limit',
  },
  each: (scope: string) => `each ${scope}`,
  about: (kind: string) => `${kind}: `,
  and: (part: string) => `, ${part}`,
  allCalls: 'all calls',
  scopes: {
    operator: { all: 'All calls', user: 'Users', key: 'Keys', group: 'Groups', account: 'Accounts', alarm: 'Alarms' },
    user: { all: 'All calls', user: 'All my keys together', key: 'Each of my keys, or one' },
  } as Readonly<Record<WarningAudience, Partial<Record<WarningScope, string>>>>,
  minCalls: 'Fewer calls say nothing.',
  below: (threshold: string) => `below ${threshold}`,
  above: (threshold: string) => `above ${threshold}`,
  fromCalls: (count: string) => `from ${count} calls`,
  states_hint: 'Cooling down is frequent and ends by itself.',
  to: 'None chosen: all destinations.',
  fine: 'Fine',
  holds: (count: string) => `Holds for ${count}`,
  paused: 'Paused',
  noDestination: 'Notices are only listed here until you add a destination.',
  remove: 'It is not checked any more. Notices that were sent stay in the list.',
  destinationKinds: { webhook: 'Webhook', slack: 'Slack', teams: 'Teams', mail: 'Mail' },
  url: 'It is encrypted before it is stored, and only its host is shown later.',
  ownAddresses: 'Only people of your user can get mail. Separated by commas.',
  noMail: 'Mail needs SMTP_URL on the server.',
  quiet: 'Notices wait until the end of these hours.',
  quietTimes: (from: string, to: string, zone: string) => `${from} to ${to}, ${zone}`,
  quietPair: 'Enter both times of the quiet hours, or none.',
  secretOnce: 'Verifies the signatures of notices. It is shown only now.',
  removeDestination: 'Notices that wait for it are not sent.',
  tested: (name: string, time: string) => `${name} accepted the test: ${time}.`,
  testFailed: (name: string, why: string) => `${name} did not accept the test: ${why}.`,
  deleted: 'Deleted destination',
  noDelivery: 'No destination',
} as const;

export type WarningTexts = Widened<typeof english>;
export const warningTexts: WarningTexts = chinese?.warningTexts ?? english;
