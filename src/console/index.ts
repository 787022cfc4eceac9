export { ConsoleFiles } from './files.ts';
export { createConsoleHandlers } from './handlers.ts';
export { keyFinder } from './playground.ts';
export { CONSOLE_SCHEMAS } from './schemas.ts';
