/** `cloud` of an account, from the tables of its kinds. `accountErrors` checks which settings a kind has. */
import { z } from 'zod';
import { ACCOUNT_KIND_NAMES, CLOUD_AUTH_NAMES, CLOUD_SETTINGS, type CloudSettingName } from '../rules/index.ts';
import * as f from './field.ts';

const SETTINGS = Object.fromEntries(
  Object.entries(CLOUD_SETTINGS).map(([name, { about, example, form, expected, ...rest }]) => [
    name,
    f.fileField(z.string().max(512).regex(form, expected).optional(), about, {
      example,
      ...('fallback' in rest && { fallback: rest.fallback }),
    }),
  ]),
) as Record<CloudSettingName, z.ZodOptional<z.ZodString>>;

export const AccountCloud = z.strictObject({
  kind: f.fileField(z.enum(ACCOUNT_KIND_NAMES), 'the cloud', { example: 'azure-openai' }),
  auth: f.fileField(z.enum(CLOUD_AUTH_NAMES), 'how the account signs in', { example: 'api-key' }),
  ...SETTINGS,
});
