export { type Background, createBackground } from './background/background.ts';
export type { Caller } from './caller.ts';
export { createGateway, type Gateway } from './gateway.ts';
export type { ListedModel } from './models/listing.ts';
export { type ProbeResult, type ProbeServices, probeAccount } from './probe.ts';
export { eventsAfter } from './stored/events.ts';
export { fullInputItem } from './stored/input-items.ts';
export { inputItems } from './stored/references.ts';
export { isRunning, ResponseStore, responseNotFound, type StoredContent } from './stored/store.ts';
