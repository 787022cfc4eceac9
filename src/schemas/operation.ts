/** What operators see of the installation: alarms, the audit log and the settings. */
import { z } from 'zod';
import { anyObject, flag, integer, moment, named, someText, text } from './field.ts';

export const ShownAlarm = named('Alarm', {
  name: text,
  count: integer,
  detail: text,
  about: text,
  advice: text,
  checked_seconds_ago: z.number(),
});
export type ShownAlarm = z.infer<typeof ShownAlarm>;

export const ShownAuditLine = named('AuditLine', {
  id: text,
  at: moment,
  actor: text,
  actor_name: someText.describe('name of the person'),
  action: text,
  subject: text,
  before: anyObject.nullable(),
  after: anyObject.nullable(),
  request_id: someText,
  address: someText,
});
export type ShownAuditLine = z.infer<typeof ShownAuditLine>;

export const SettingReport = named('Setting', {
  name: text,
  value: someText.describe('null when it is not set; a placeholder for a secret'),
  source: z.enum(['environment', 'default']).describe('a value that equals its default counts as the default'),
  about: text,
  secret: flag,
});
export type SettingReport = z.infer<typeof SettingReport>;
