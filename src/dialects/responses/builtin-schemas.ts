/** Public input schemas of tools that another provider defines and the client runs; here they are offered as plain functions. */
import type { JsonObject } from '../hub.ts';

interface Offer {
  readonly description: string;
  readonly parameters: JsonObject;
}

/** By the family of a versioned name such as `bash_20250124`. */
export const builtinSchema = (builtin: string): Offer | undefined =>
  FAMILIES.find(([prefix]) => builtin.startsWith(prefix))?.[1];

const text = { type: 'string' };
const line = { type: 'integer' };
const words = (...values: string[]) => ({ type: 'string', enum: values });

const FAMILIES: readonly (readonly [string, Offer])[] = [
  [
    'bash',
    {
      description: 'Runs a command in a persistent bash session, or restarts the session.',
      parameters: { type: 'object', properties: { command: text, restart: { type: 'boolean' } } },
    },
  ],
  [
    'text_editor',
    {
      description: 'Views, creates and edits text files.',
      parameters: {
        type: 'object',
        properties: {
          command: words('view', 'create', 'str_replace', 'insert'),
          path: text,
          file_text: text,
          old_str: text,
          new_str: text,
          insert_line: line,
          insert_text: text,
          view_range: { type: 'array', items: line },
        },
        required: ['command', 'path'],
      },
    },
  ],
  [
    'memory',
    {
      description: 'Keeps notes in files under /memories that last beyond this conversation.',
      parameters: {
        type: 'object',
        properties: {
          command: words('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
          path: text,
          file_text: text,
          old_str: text,
          new_str: text,
          insert_line: line,
          insert_text: text,
          view_range: { type: 'array', items: line },
          old_path: text,
          new_path: text,
        },
        required: ['command'],
      },
    },
  ],
];
