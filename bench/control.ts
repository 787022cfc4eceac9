/** The control: the cost of JSON.parse and JSON.stringify of one event. No conversion can be cheaper. */
import { type Dialect, EVENTS } from './bodies.ts';

const ROUNDS = 300;

/** Microseconds per event. */
export function parseAndStringify(dialect: Dialect): number {
  const data = EVENTS[dialect]
    .map((event) => event.slice(event.indexOf('data: ') + 6).trim())
    .filter((text) => text !== '[DONE]');
  let bytes = 0;
  const round = (): void => {
    for (const text of data) bytes += JSON.stringify(JSON.parse(text)).length;
  };
  for (let n = 0; n < ROUNDS / 3; n += 1) round();
  const start = performance.now();
  for (let n = 0; n < ROUNDS; n += 1) round();
  const us = ((performance.now() - start) * 1000) / (ROUNDS * data.length);
  return bytes > 0 ? us : Number.NaN;
}
