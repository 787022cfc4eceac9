/** Provider-defined tools that the client executes, declared as functions for other providers by their published schemas; calls carry the same object. */
import { rowsIn } from '../../rules/index.ts';
import type { JsonObject } from '../hub/types.ts';
import { tableOf } from '../wire/read.ts';

export interface BuiltinFunction {
  readonly description: string;
  readonly schema: JsonObject;
}

/** Returns undefined for tools with screen input (computer, browser). Ignores the revision date at the end of a type. */
export const builtinFunction = (builtin: string): BuiltinFunction | undefined =>
  FUNCTIONS.get(builtin.replace(/_\d{8}$/, ''));

/** Types of members; any other word is the list of their values. */
const TYPES = tableOf<JsonObject>({
  text: { type: 'string' },
  integer: { type: 'integer' },
  flag: { type: 'boolean' },
  texts: { type: 'array', items: { type: 'string' } },
  integers: { type: 'array', items: { type: 'integer' } },
  map: { type: 'object', additionalProperties: { type: 'string' } },
});

const EDIT = `path text Path of the file or directory.
  | file_text text Content of the new file, for create.
  | old_str text Text to replace, for str_replace; must occur exactly once.
  | new_str text Replacement, for str_replace.
  | insert_line integer Line after which the text is inserted, for insert; 0 is the beginning.
  | insert_text text Text to insert, for insert.
  | view_range integers First and last line to show, for view; -1 means the end.`;

/** A line is `name: description | required members | member type description | ...`. */
const FUNCTIONS = tableOf<BuiltinFunction>(
  rowsIn(
    `
bash: Runs a command in a bash session that lives on between calls. | - | command text The command to run. | restart flag Restarts the session.
text_editor: Views, creates and edits text files. | command path | command view,create,str_replace,insert | ${EDIT}
memory: Reads and keeps notes as files below /memories. | command | command view,create,str_replace,insert,delete,rename | ${EDIT}
  | old_path text Present path, for rename. | new_path text New path, for rename.
shell: Runs shell commands on the caller's machine and returns their output. | commands
  | commands texts Commands to run, each by itself. | timeout_ms integer Milliseconds after which a command is stopped.
  | max_output_length integer Characters of output to return at most.
local_shell: Runs one program on the caller's machine and returns its output. | command
  | command texts The program and its arguments. | working_directory text Directory to run it in.
  | timeout_ms integer Milliseconds after which it is stopped. | env map Environment variables. | user text User to run it as.
apply_patch: Creates, updates or deletes one file by a diff. | type path | type create_file,update_file,delete_file
  | path text Path of the file. | diff text The change, in V4A diff format; not needed for delete_file.
`,
    ([description = '', required = '-', ...members]) => ({
      description,
      schema: {
        type: 'object',
        properties: Object.fromEntries(members.map(memberIn)),
        required: required === '-' ? [] : required.split(' '),
      },
    }),
  ),
);

function memberIn(cell: string): [string, JsonObject] {
  const [name = '', type = '', ...about] = cell.split(' ');
  const schema = TYPES.get(type) ?? { type: 'string', enum: type.split(',') };
  return [name, about.length === 0 ? schema : { ...schema, description: about.join(' ') }];
}
