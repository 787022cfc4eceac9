export {
  type AppContext,
  CliError,
  claimRole,
  databaseMessage,
  openContext,
  openStore,
  type Store,
} from './context.ts';
export { claimPort, openHealthPort, type PortSockets, publicUrlOf } from './ports.ts';
export type { Running } from './serve.ts';
export { consoleFolder } from './settings.ts';

// A process loads what it runs: the primary of several workers, and most commands, need neither gateway nor API.
export const loadServer = () => import('./serve.ts');
export const loadServices = () => import('./command-services.ts');
