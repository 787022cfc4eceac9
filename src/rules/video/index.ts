export * from './capabilities.ts';
export * from './content.ts';
export * from './limits.ts';
export * from './parameters.ts';
export * from './sheets.ts';
export * from './sizes.ts';
export * from './status.ts';
export * from './videos-entry.ts';
