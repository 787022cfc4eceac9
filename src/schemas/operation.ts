/** What operators see of the installation: alarms, the audit log and the settings. */
import { z } from 'zod';
import { anyObject, flag, integer, moment, someText, text } from './field.ts';

export const ShownAlarm = z
  .strictObject({
    name: text,
    count: integer,
    detail: text,
    about: text,
    advice: text,
    checked_seconds_ago: z.number(),
  })
  .meta({ id: 'Alarm' });
export type ShownAlarm = z.infer<typeof ShownAlarm>;

export const ShownAuditLine = z
  .strictObject({
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
  })
  .meta({ id: 'AuditLine' });
export type ShownAuditLine = z.infer<typeof ShownAuditLine>;

export const SettingReport = z
  .strictObject({
    name: text,
    value: someText.describe('null when it is not set; a placeholder for a secret'),
    source: z.enum(['environment', 'default']).describe('a value that equals its default counts as the default'),
    about: text,
    secret: flag,
  })
  .meta({ id: 'Setting' });
export type SettingReport = z.infer<typeof SettingReport>;
