export * from './capabilities.ts';
export * from './endpoints.ts';
export * from './errors.ts';
export * from './faults.ts';
export * from './groups.ts';
export * from './headers.ts';
export * from './limits.ts';
export * from './sockets.ts';
