/**
 * Tools that one provider ships ready-made and the client runs itself. To a chat upstream they are plain functions, whose
 * arguments are the input that the provider documents for them.
 */
import type { JsonObject } from '../hub.ts';

interface Builtin {
  readonly description: string;
  readonly schema: JsonObject;
}

const text = { type: 'string' } as const;
const whole = { type: 'integer' } as const;
const range = { type: 'array', items: whole } as const;
const texts = { type: 'array', items: text } as const;
const commands = (...words: readonly string[]) => ({ type: 'string', enum: words });
const object = (properties: JsonObject, ...required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
});

/** By the beginning of the name, since names end in a date. */
const BUILTINS: readonly (readonly [string, Builtin])[] = [
  [
    'bash',
    {
      description: 'Run a command in a persistent shell.',
      schema: object({ command: text, restart: { type: 'boolean' } }),
    },
  ],
  [
    'text_editor',
    {
      description: 'View and edit files.',
      schema: object(
        {
          command: commands('view', 'create', 'str_replace', 'insert'),
          path: text,
          file_text: text,
          old_str: text,
          new_str: text,
          insert_line: whole,
          insert_text: text,
          view_range: range,
        },
        'command',
        'path',
      ),
    },
  ],
  [
    'memory',
    {
      description: 'Keep notes in files under /memories.',
      schema: object(
        {
          command: commands('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
          path: text,
          file_text: text,
          old_str: text,
          new_str: text,
          insert_line: whole,
          insert_text: text,
          old_path: text,
          new_path: text,
          view_range: range,
        },
        'command',
      ),
    },
  ],
  [
    'local_shell',
    {
      description: 'Run one command on the local machine.',
      schema: object(
        { command: texts, working_directory: text, timeout_ms: whole, user: text, env: { type: 'object' } },
        'command',
      ),
    },
  ],
  [
    'shell',
    {
      description: 'Run commands in a shell.',
      schema: object({ commands: texts, timeout_ms: whole, max_output_length: whole }, 'commands'),
    },
  ],
  [
    'apply_patch',
    {
      description: 'Create, update or delete a file with a diff.',
      schema: object(
        { type: commands('create_file', 'update_file', 'delete_file'), path: text, diff: text },
        'type',
        'path',
      ),
    },
  ],
];

export const builtinOf = (builtin: string): Builtin | undefined =>
  BUILTINS.find(([name]) => builtin.startsWith(name))?.[1];
