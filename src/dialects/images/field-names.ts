/** Names of hub fields in an image request. Fields that this API lacks have no name, because no request sets them. */
import { type FieldNames, HUB_FIELDS, REQUEST_SECTIONS } from '../hub/fields.ts';

const UNNAMED = Object.fromEntries([...HUB_FIELDS, ...REQUEST_SECTIONS].map((field) => [field, ''])) as FieldNames;

export const fieldNames: FieldNames = {
  ...UNNAMED,
  conversation: 'prompt',
  imageOnlyOutput: 'model',
  imageSettings: 'size',
};
