export { ConsoleFiles } from './files.ts';
export { createConsoleHandlers } from './handlers.ts';
export { keyFinder } from './playground.ts';
