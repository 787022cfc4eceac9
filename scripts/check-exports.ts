/** Checks that an exported name has one meaning in src/, and that it has a use. */
import { type Module, readModules } from './modules.ts';

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;
const REEXPORT = /^export (?:type )?\{[^}]*\} from\b/gm;
const DIALECT = /^src\/dialects\/(?:chat|messages|responses|generate|images|converse|claude)\//;

export const checkExports = (): string[] => [
  ...duplicateExports(readModules('src/**/*.ts').filter(({ isTest }) => !isTest)),
  ...unusedExports(readModules('{src,sim,console,test,bench,scripts}/**/*.{ts,tsx}')),
];

/** Names of src/ that occur nowhere but in their declaration, and where a file passes them on. */
export function unusedExports(modules: readonly Pick<Module, 'file' | 'code'>[]): string[] {
  const counts = new Map<string, number>();
  for (const { code } of modules)
    for (const [name] of code.replaceAll(REEXPORT, '').matchAll(/[\w$]+/g))
      counts.set(name, (counts.get(name) ?? 0) + 1);
  return modules
    .filter(({ file }) => file.startsWith('src/'))
    .flatMap(({ file, code }) =>
      [...code.matchAll(DECLARATION)]
        .filter(([, name = '']) => counts.get(name) === 1)
        .map(([, name]) => `${file}: ${name} is exported and never used`),
    );
}

/** Re-exports do not count. The dialects may mirror each other's names, but share none with the rest of src/. */
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
