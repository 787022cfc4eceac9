/**
 * Reading of a request whose key has several groups, as far as it names its model, which chooses the group.
 * What is read is kept for the call.
 */
import { type MaybePromise, whenReady } from '../core/index.ts';
import { inferenceRow } from '../rules/index.ts';
import { type Caller, callersOf } from './caller.ts';
import { chooseByModel } from './key-groups.ts';
import { channelsOf } from './plan.ts';
import { type ReadServices, RequestParts } from './read-request.ts';
import type { CallSource } from './services.ts';

export interface ChosenGroup {
  readonly caller: Caller;
  readonly parts?: RequestParts | undefined;
}

export function chooseGroup(services: ReadServices, source: CallSource): MaybePromise<ChosenGroup> {
  const { call, caller, operation } = source;
  const catalog = services.catalog();
  const row = inferenceRow(operation);
  const choose = (model: unknown): Caller => chooseByModel(catalog, caller, operation, model);
  if (call.params.model !== undefined) return { caller: choose(call.params.model) };
  const serving = callersOf(catalog, caller.key).map((one) => ({ one, ...channelsOf(catalog, one, operation) }));
  const native = serving.flatMap(({ channels }) => channels).find(({ isNative }) => isNative);
  const nativeDialect = native?.isNative ? native.dialect : 'responses';
  const from = 'converts' in row ? row.convertsFrom : nativeDialect;
  const parts = new RequestParts(services, { ...source, dialect: from }, 'forwarded');
  const isRead = row.reader === 'image' || ('converts' in row && row.converts === 'count');
  if (native || isRead)
    return whenReady(parts.native(), ({ model }) => {
      // Converted images and counts read the body again.
      if (isRead) parts.keepBody();
      return { caller: choose(model), parts };
    });
  const [first = { one: caller }] = serving.filter(({ channels }) => channels.length > 0);
  return parts
    .hub(first.one)
    .then((read) => ({ caller: choose('held' in read ? read.model : read.request.model), parts }));
}
