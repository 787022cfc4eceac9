/** What operators see of the installation: alarms, the audit log and the settings. */
import { z } from 'zod';
import * as f from './field.ts';

export const ShownAlarm = f.named('Alarm', {
  ...f.members('name:text count:integer detail:text about:text advice:text'),
  checked_seconds_ago: z.number(),
});
export type ShownAlarm = z.infer<typeof ShownAlarm>;

export const ShownAuditLine = f.named('AuditLine', {
  ...f.members('id:text at:moment actor:text'),
  actor_name: f.someText.describe('name of the person'),
  ...f.members('action:text subject:text'),
  before: f.anyObject.nullable(),
  after: f.anyObject.nullable(),
  ...f.members('request_id:text|null address:text|null'),
});
export type ShownAuditLine = z.infer<typeof ShownAuditLine>;

export const SettingReport = f.named('Setting', {
  name: f.text,
  value: f.someText.describe('null when it is not set; a placeholder for a secret'),
  source: z.enum(['environment', 'default']).describe('a value that equals its default counts as the default'),
  ...f.members('about:text secret:flag'),
});
export type SettingReport = z.infer<typeof SettingReport>;
