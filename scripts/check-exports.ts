/** Checks that an exported name has one meaning in src/. Re-exports do not count. */
import { type Module, readModules } from './modules.ts';

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;
const DIALECT = /^src\/dialects\/(?:chat|messages|responses|generate|images)\//;

export const checkExports = (): string[] =>
  duplicateExports(readModules('src/**/*.ts').filter(({ isTest }) => !isTest));

/** The dialects may mirror each other's names, but share none with the rest of src/. */
export function duplicateExports(modules: readonly Pick<Module, 'file' | 'code'>[]): string[] {
  const files = new Map<string, string[]>();
  for (const { file, code } of modules)
    for (const [, name = ''] of code.matchAll(DECLARATION)) files.set(name, [...(files.get(name) ?? []), file]);
  return [...files].flatMap(([name, homes]) => {
    const distinct = new Set(homes);
    const rooms = new Set([...distinct].map((file) => DIALECT.exec(file)?.[0] ?? 'elsewhere'));
    const mirrors = rooms.size === distinct.size && !rooms.has('elsewhere');
    return distinct.size === 1 || mirrors ? [] : [`${name} is exported by ${[...distinct].join(', ')}`];
  });
}
