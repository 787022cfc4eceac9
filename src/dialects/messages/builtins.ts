/**
 * Client-run tools whose shape one provider fixed, described as plain functions for all others. The schemas are the
 * providers' published ones; calls carry the same object either way, so only the declaration changes.
 */
import type { JsonObject } from '../hub.ts';

export interface BuiltinFunction {
  readonly description: string;
  readonly schema: JsonObject;
}

const text = (description: string): JsonObject => ({ type: 'string', description });
const whole = (description: string): JsonObject => ({ type: 'integer', description });
const lines = (description: string): JsonObject => ({ type: 'array', items: { type: 'string' }, description });
const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
});

/** By family: the date at the end of a messages type only names a revision. */
export const BUILTIN_FUNCTIONS: ReadonlyMap<string, BuiltinFunction> = new Map(
  Object.entries<BuiltinFunction>({
    bash: {
      description: 'Runs a command in a bash session that lives on between calls.',
      schema: object(
        { command: text('The command to run.'), restart: { type: 'boolean', description: 'Restarts the session.' } },
        [],
      ),
    },
    text_editor: {
      description: 'Views, creates and edits text files.',
      schema: object(
        {
          command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert'] },
          path: text('Absolute path of the file or directory.'),
          file_text: text('Content of the new file, for create.'),
          old_str: text('Text to replace, for str_replace; must occur exactly once.'),
          new_str: text('Replacement, for str_replace.'),
          insert_line: whole('Line after which the text is inserted, for insert.'),
          insert_text: text('Text to insert, for insert.'),
          view_range: {
            type: 'array',
            items: { type: 'integer' },
            description: 'First and last line to show, for view; -1 means the end.',
          },
        },
        ['command', 'path'],
      ),
    },
    memory: {
      description: 'Reads and keeps notes as files below /memories.',
      schema: object(
        {
          command: { type: 'string', enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
          path: text('Path below /memories.'),
          file_text: text('Content of the new file, for create.'),
          old_str: text('Text to replace, for str_replace.'),
          new_str: text('Replacement, for str_replace.'),
          insert_line: whole('Line after which the text is inserted, for insert.'),
          insert_text: text('Text to insert, for insert.'),
          old_path: text('Path to rename, for rename.'),
          new_path: text('New path, for rename.'),
          view_range: {
            type: 'array',
            items: { type: 'integer' },
            description: 'First and last line to show, for view.',
          },
        },
        ['command'],
      ),
    },
    shell: {
      description: "Runs shell commands on the caller's machine and returns their output.",
      schema: object(
        {
          commands: lines('Commands to run, each by itself.'),
          timeout_ms: whole('Milliseconds after which a command is stopped.'),
          max_output_length: whole('Characters of output to return at most.'),
        },
        ['commands'],
      ),
    },
    local_shell: {
      description: "Runs one program on the caller's machine and returns its output.",
      schema: object(
        {
          type: { type: 'string', enum: ['exec'] },
          command: lines('The program and its arguments.'),
          working_directory: text('Directory to run it in.'),
          timeout_ms: whole('Milliseconds after which it is stopped.'),
          env: { type: 'object', additionalProperties: { type: 'string' }, description: 'Environment variables.' },
          user: text('User to run it as.'),
        },
        ['type', 'command', 'env'],
      ),
    },
    apply_patch: {
      description: 'Creates, updates or deletes one file by a diff.',
      schema: object(
        {
          type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
          path: text('Path of the file.'),
          diff: text('The change, in V4A diff format; not needed for delete_file.'),
        },
        ['type', 'path'],
      ),
    },
  }),
);

export const builtinFunction = (builtin: string): BuiltinFunction | undefined =>
  BUILTIN_FUNCTIONS.get(builtin.replace(/_\d{8}$/, ''));
