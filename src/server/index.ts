export { openProbeServices, openWorkerServices, tryOidc } from './command-services.ts';
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
export { type Running, serve } from './serve.ts';
export { consoleFolder } from './settings.ts';
