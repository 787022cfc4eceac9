/** Calls of generate-content, whose arguments may arrive in pieces with the JSON path of each. */
import { type JsonRecord, listOf, recordOf, textOf } from './recording.ts';

export interface WholeCall {
  readonly name: string;
  readonly args: unknown;
}

/** A call is complete in one part, or begins with a name and goes on with pieces until a part does not continue it. */
export function joinPieces(parts: readonly JsonRecord[]): WholeCall[] {
  const calls: { name: string; args: unknown }[] = [];
  for (const { functionCall } of parts) {
    const { name, args, partialArgs } = recordOf(functionCall);
    if (textOf(name)) calls.push({ name: textOf(name), args: args ?? {} });
    const call = calls.at(-1);
    for (const piece of call ? listOf(partialArgs) : [])
      addPiece(call as { args: unknown }, stepsOf(textOf(piece.jsonPath)), piece);
  }
  return calls;
}

/** `$.items[0].name` or `$['a b']`. */
const stepsOf = (path: string): string[] =>
  [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');

/** Texts go on where an earlier piece ended. */
function addPiece(call: { args: unknown }, steps: readonly string[], piece: JsonRecord): void {
  let holder: Record<string, unknown> = call as unknown as Record<string, unknown>;
  let name = 'args';
  for (const step of steps) {
    holder[name] ??= /^\d+$/.test(step) ? [] : {};
    holder = holder[name] as Record<string, unknown>;
    name = step;
  }
  const { stringValue, numberValue, boolValue } = piece;
  holder[name] =
    typeof stringValue === 'string' ? textOf(holder[name]) + stringValue : (numberValue ?? boolValue ?? null);
}
