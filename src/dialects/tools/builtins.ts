/**
 * Provider-defined tools that the client executes, declared as functions for other
 * providers by their published schemas; calls carry the same object.
 */
import type { JsonObject } from '../hub/types.ts';
import { tableOf } from '../wire/read.ts';

export interface BuiltinFunction {
  readonly description: string;
  readonly schema: JsonObject;
}

/**
 * Returns undefined for tools with screen input (computer, browser).
 * Ignores the revision date at the end of a type.
 */
export const builtinFunction = (builtin: string): BuiltinFunction | undefined =>
  FUNCTIONS.get(builtin.replace(/_\d{8}$/, ''));

const text = (description: string): JsonObject => ({ type: 'string', description });
const integer = (description: string): JsonObject => ({ type: 'integer', description });
const texts = (description: string): JsonObject => ({ type: 'array', items: { type: 'string' }, description });
const oneOf = (...values: readonly string[]): JsonObject => ({ type: 'string', enum: values });

const EDIT: JsonObject = {
  path: text('Path of the file or directory.'),
  file_text: text('Content of the new file, for create.'),
  old_str: text('Text to replace, for str_replace; must occur exactly once.'),
  new_str: text('Replacement, for str_replace.'),
  insert_line: integer('Line after which the text is inserted, for insert; 0 is the beginning.'),
  insert_text: text('Text to insert, for insert.'),
  view_range: {
    type: 'array',
    items: { type: 'integer' },
    description: 'First and last line to show, for view; -1 means the end.',
  },
};

const FUNCTIONS = tableOf<BuiltinFunction>({
  bash: {
    description: 'Runs a command in a bash session that lives on between calls.',
    schema: {
      type: 'object',
      properties: {
        command: text('The command to run.'),
        restart: { type: 'boolean', description: 'Restarts the session.' },
      },
      required: [],
    },
  },
  text_editor: {
    description: 'Views, creates and edits text files.',
    schema: {
      type: 'object',
      properties: { command: oneOf('view', 'create', 'str_replace', 'insert'), ...EDIT },
      required: ['command', 'path'],
    },
  },
  memory: {
    description: 'Reads and keeps notes as files below /memories.',
    schema: {
      type: 'object',
      properties: {
        command: oneOf('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
        ...EDIT,
        old_path: text('Present path, for rename.'),
        new_path: text('New path, for rename.'),
      },
      required: ['command'],
    },
  },
  shell: {
    description: "Runs shell commands on the caller's machine and returns their output.",
    schema: {
      type: 'object',
      properties: {
        commands: texts('Commands to run, each by itself.'),
        timeout_ms: integer('Milliseconds after which a command is stopped.'),
        max_output_length: integer('Characters of output to return at most.'),
      },
      required: ['commands'],
    },
  },
  local_shell: {
    description: "Runs one program on the caller's machine and returns its output.",
    schema: {
      type: 'object',
      properties: {
        command: texts('The program and its arguments.'),
        working_directory: text('Directory to run it in.'),
        timeout_ms: integer('Milliseconds after which it is stopped.'),
        env: { type: 'object', additionalProperties: { type: 'string' }, description: 'Environment variables.' },
        user: text('User to run it as.'),
      },
      required: ['command'],
    },
  },
  apply_patch: {
    description: 'Creates, updates or deletes one file by a diff.',
    schema: {
      type: 'object',
      properties: {
        type: oneOf('create_file', 'update_file', 'delete_file'),
        path: text('Path of the file.'),
        diff: text('The change, in V4A diff format; not needed for delete_file.'),
      },
      required: ['type', 'path'],
    },
  },
});
