/** Finds import circles. Type imports count, because a circle of types is as hard to understand as one of values. */
import { type Module, readModules } from './modules.ts';

export const checkCircles = (): string[] =>
  circles(readModules('{src,sim,console,test,bench,scripts}/**/*.{ts,tsx}')).map(
    (files) => `circle: ${files.join(' -> ')}`,
  );

/** One circle for each group of modules that import each other, as a closed path. */
export function circles(modules: readonly Pick<Module, 'file' | 'imports'>[]): string[][] {
  const imports = new Map(modules.map((module) => [module.file, module.imports]));
  const found: string[][] = [];
  const reported = new Set<string>();
  for (const { file } of modules) {
    if (reported.has(file)) continue;
    const path = pathBack(file, imports);
    if (!path) continue;
    found.push(path);
    for (const member of path) reported.add(member);
  }
  return found;
}

/** The shortest path from a file back to itself, by breadth-first search. */
function pathBack(start: string, imports: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const file of queue) {
    for (const next of imports.get(file) ?? []) {
      if (next === start) return [...trail(start, file, cameFrom), start];
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, file);
      queue.push(next);
    }
  }
  return undefined;
}

function trail(start: string, end: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const path = [end];
  for (let file = end; file !== start; path.unshift(file)) file = cameFrom.get(file) ?? start;
  return path;
}
