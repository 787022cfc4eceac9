/**
 * Tools that one provider shapes and the client runs (shell, editor, patch): their public input, so that another model can
 * be offered them as ordinary functions.
 */
import type { JsonObject } from '../hub.ts';

export interface BuiltinForm {
  readonly description: string;
  readonly schema: JsonObject;
}

/** Undefined for tools whose input is more than JSON (screens, browsers). Versions of a tool differ only in their date. */
export function builtinForm(builtin: string): BuiltinForm | undefined {
  const name = builtin.replace(/_\d{8}$/, '');
  return Object.hasOwn(FORMS, name) ? FORMS[name] : undefined;
}

const text = (description: string): JsonObject => ({ type: 'string', description });
const whole = (description: string): JsonObject => ({ type: 'integer', description });
const texts = (description: string): JsonObject => ({ type: 'array', items: { type: 'string' }, description });
const object = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required,
});
const command = (...words: string[]): JsonObject => ({ type: 'string', enum: words });

const EDIT: JsonObject = {
  path: text('Path of the file or directory.'),
  file_text: text('Content of the new file, for create.'),
  old_str: text('Text to replace, for str_replace; must occur exactly once.'),
  new_str: text('Text to put in its place.'),
  insert_line: whole('Line after which to insert; 0 is the beginning.'),
  insert_text: text('Text to insert, for insert.'),
  view_range: { type: 'array', items: { type: 'integer' }, description: 'First and last line to view.' },
};

const FORMS: Readonly<Record<string, BuiltinForm>> = {
  bash: {
    description: 'Runs a command in a persistent bash session.',
    schema: object(
      { command: text('The command.'), restart: { type: 'boolean', description: 'Starts a new session.' } },
      [],
    ),
  },
  text_editor: {
    description: 'Views, creates and edits text files.',
    schema: object({ command: command('view', 'create', 'str_replace', 'insert', 'undo_edit'), ...EDIT }, [
      'command',
      'path',
    ]),
  },
  memory: {
    description: 'Keeps notes in files under /memories.',
    schema: object(
      {
        command: command('view', 'create', 'str_replace', 'insert', 'delete', 'rename'),
        ...EDIT,
        old_path: text('Present path, for rename.'),
        new_path: text('New path, for rename.'),
      },
      ['command'],
    ),
  },
  shell: {
    description: 'Runs shell commands, each in its own process.',
    schema: object(
      {
        commands: texts('The commands, in order.'),
        timeout_ms: whole('Longest time for each, in milliseconds.'),
        max_output_length: whole('Longest output to return, in characters.'),
      },
      ['commands'],
    ),
  },
  local_shell: {
    description: 'Runs one command on the local machine.',
    schema: object(
      {
        command: texts('Program and arguments.'),
        working_directory: text('Where to run it.'),
        timeout_ms: whole('Longest time in milliseconds.'),
      },
      ['command'],
    ),
  },
  apply_patch: {
    description: 'Creates, changes or deletes one file by a patch.',
    schema: object(
      {
        operation: object(
          {
            type: command('create_file', 'update_file', 'delete_file'),
            path: text('Path of the file.'),
            diff: text('The change as a diff; absent for delete_file.'),
          },
          ['type', 'path'],
        ),
      },
      ['operation'],
    ),
  },
};
