/** Tools that the client runs as functions, for providers that have no others. */
import { rejectBuiltin } from '../errors/rejection.ts';
import type { JsonObject } from '../hub/types.ts';
import { builtinFunction } from './builtins.ts';
import { FREE_TEXT_SCHEMA, freeTextDescription } from './free-text.ts';
import type { NamedTool } from './names.ts';

export interface FunctionForm {
  readonly description?: string | undefined;
  readonly schema: JsonObject;
}

export function functionForm(tool: NamedTool): FunctionForm {
  if (tool.kind === 'function') return tool;
  if (tool.kind === 'custom') return { description: freeTextDescription(tool), schema: FREE_TEXT_SCHEMA };
  return builtinFunction(tool.builtin) ?? rejectBuiltin(tool.builtin);
}
