/** What operators see of the installation: alarms, the audit log and the settings. */
import { z } from 'zod';
import * as f from './field.ts';

export const ShownAlarm = f.named('Alarm', {
  name: f.text,
  count: f.integer,
  detail: f.text,
  about: f.text,
  advice: f.text,
  checked_seconds_ago: z.number(),
});
export type ShownAlarm = z.infer<typeof ShownAlarm>;

export const ShownAuditLine = f.named('AuditLine', {
  id: f.text,
  at: f.moment,
  actor: f.text,
  actor_name: f.someText.describe('name of the person'),
  action: f.text,
  subject: f.text,
  before: f.anyObject.nullable(),
  after: f.anyObject.nullable(),
  request_id: f.someText,
  address: f.someText,
});
export type ShownAuditLine = z.infer<typeof ShownAuditLine>;

export const SettingReport = f.named('Setting', {
  name: f.text,
  value: f.someText.describe('null when it is not set; a placeholder for a secret'),
  source: z.enum(['environment', 'default']).describe('a value that equals its default counts as the default'),
  about: f.text,
  secret: f.flag,
});
export type SettingReport = z.infer<typeof SettingReport>;
