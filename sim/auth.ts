/** Credentials that the simulated providers accept and reject. */
import { Failure, keyFailure, quotaFailure } from './errors.ts';
import type { Exchange } from './exchange.ts';

/** Every credential the request carries; a client may send two. */
export function credentials(exchange: Exchange): string[] {
  const bearer = /^Bearer\s+(.+)$/i.exec(exchange.header('authorization'))?.[1] ?? '';
  const values = [
    bearer,
    exchange.header('x-api-key'),
    exchange.header('x-goog-api-key'),
    exchange.query.get('key') ?? '',
  ];
  return values.map((value) => value.trim()).filter((value) => value !== '');
}

export function checkCredentials(exchange: Exchange): void {
  const given = credentials(exchange);
  if (given.length === 0) throw new Failure(401, 'No credential was given (simulated provider).');
  if (given.includes('sk-bad')) throw new Failure(401, 'Incorrect API key provided (simulated provider).');
  if (given.includes('sk-forbidden'))
    throw new Failure(403, 'This key may not use this resource (simulated provider).');
  if (given.includes('sk-broke')) throw quotaFailure(exchange.shape);
  if (exchange.fault.kind === 'bad_key') throw keyFailure(exchange.shape);
}
