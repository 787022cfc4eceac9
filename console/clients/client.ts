/** What the table of clients says about each, and how a key is written in each language. */
import type { INFERENCE_ENDPOINTS } from '../../src/rules/endpoints.ts';
import type { Style } from '../../src/rules/groups.ts';

export interface ClientInput {
  /** The address of the gateway without a path. */
  readonly origin: string;
  readonly style: Style;
  readonly model: string;
  /** The value of the key, or a shell variable such as `$DRAGOMAN_KEY` that holds it. */
  readonly key: string;
}

export interface ClientRow {
  readonly name: string;
  /** What the client calls. Without it the client uses the API of the group's own style, so every key serves it. */
  readonly operation?: keyof typeof INFERENCE_ENDPOINTS;
  /** Of the lines. Shell programs are agent CLIs, apart from curl. */
  readonly language: 'sh' | 'ts' | 'python';
  /** Where the packages are that the lines need. */
  readonly registry: 'npm' | 'PyPI';
  readonly packages: readonly string[];
  /** True when npm run test:all can run the lines, because the packages are development dependencies. */
  readonly isTested?: boolean;
  readonly lines: (input: ClientInput) => string;
  /** The lines of an agent CLI are followed by the command that opens it, or by the one that asks a single question. */
  readonly start?: (input: ClientInput) => string;
  readonly once?: (input: ClientInput) => string;
}

const rowOf =
  <const L extends ClientRow['language'], const R extends ClientRow['registry']>(language: L, registry: R) =>
  (...packages: readonly string[]) => ({ language, registry, packages });
export const npmProgram = rowOf('sh', 'npm');
export const pythonProgram = rowOf('sh', 'PyPI');
export const typescript = rowOf('ts', 'npm');
export const python = rowOf('python', 'PyPI');

/** The prompt of all examples. */
export const HELLO = 'Hello!';

const isVariable = (key: string): boolean => key.startsWith('$');
/** Nothing when the variable is set already. */
export const exportKey = (key: string): string =>
  key === '$DRAGOMAN_KEY' ? '' : `export DRAGOMAN_KEY=${shellKey(key)}\n`;
export const shellKey = (key: string): string => `"${key}"`;
export const scriptKey = (key: string): string => (isVariable(key) ? `process.env.${key.slice(1)}` : `'${key}'`);
export const pythonKey = (key: string): string => (isVariable(key) ? `os.environ["${key.slice(1)}"]` : `"${key}"`);
export const pythonImports = (key: string): string => (isVariable(key) ? 'import os\n\n' : '');
