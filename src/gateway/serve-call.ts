/** The path of a call: its request is read once, all ways to serve it are planned once, and then tried in order. */
import { wayError } from './client-error.ts';
import type { ConvertedServices } from './converted/context.ts';
import { convertCall } from './converted/convert-call.ts';
import type { FileServices } from './files/request-body.ts';
import { forward } from './native/forward.ts';
import type { NativeServices } from './native/native-request.ts';
import { placeAgain, plan } from './plan.ts';
import { type RequestParts, readRequest } from './read-request.ts';
import type { CallSource } from './services.ts';
import { tryWays } from './try-ways.ts';

type ServeServices = NativeServices & ConvertedServices & FileServices;

/** `known`: what was read to choose the group. */
export async function serveCall(services: ServeServices, source: CallSource, known?: RequestParts): Promise<void> {
  const { call, caller, operation } = source;
  const catalog = services.catalog();
  const request = await readRequest(services, source, known);
  const { from, parts } = request;
  const planned = plan(request, caller, catalog);
  if (planned.ways.length === 1) parts.forgetBody();
  return tryWays(services, call, planned, async (way, tries) => {
    if (way.isNative) {
      const native = await parts.native();
      return forward(services, call, { operation, way: placeAgain(native, way, catalog), request: native, tries });
    }
    const { model } = way;
    if (!model) throw new TypeError(`${operation} has no model to convert for`);
    const read = await parts.hub(way.caller).catch((error: unknown) => Promise.reject(wayError(error)));
    if ('held' in read) throw wayError(read.held.notFound);
    return convertCall(services, call, { operation, from, way: { ...way, model }, read, tries });
  });
}
