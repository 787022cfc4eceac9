/** The head of a response that is sent before any account has replied. */
import { fail } from '../../core/index.ts';
import type { HubRequest } from '../../dialects/index.ts';
import { inferenceRow } from '../../rules/index.ts';
import { wayError } from '../client-error.ts';
import { OptionRetry } from '../rejected-options/option-retry.ts';
import type { CallContext } from './context.ts';
import { conversionHeaders } from './headers.ts';
import { RoundRequest } from './round-request.ts';

/** As the first account would get the request. Throws when it has no form in the provider's dialect. */
export async function previewHeaders(
  context: Omit<CallContext, 'admission'>,
  request: HubRequest,
): Promise<Record<string, string>> {
  const { accounts, call, operation, services } = context;
  const [account] = accounts;
  if (!account) throw fail('no_upstream_account');
  const { log, rejectedOptions } = services;
  const retry = new OptionRetry({ call, log, rejectedOptions, sends: inferenceRow(operation).sends });
  try {
    return conversionHeaders(context, await new RoundRequest(context, request, retry).encode(account));
  } catch (error) {
    throw wayError(error);
  }
}
