export { ConsoleFiles } from './files.ts';
export { CONSOLE_SCHEMAS, createConsoleHandlers } from './handlers.ts';
export { keyFinder } from './me.ts';
