/** Sampling and length of a reply, as far as the model takes them. */
import type { UpstreamTarget } from '../codec.ts';
import type { HubField, RequestSection } from '../hub/fields.ts';
import type { HubRequest, HubSampling } from '../hub/types.ts';

/** The fields of sampling by those of the hub. */
const FIELDS = {
  temperature: 'temperature',
  topP: 'topP',
  topK: 'topK',
  presence: 'presencePenalty',
  frequency: 'frequencyPenalty',
} as const satisfies Partial<Record<keyof HubSampling, HubField>>;
type SamplingField = keyof typeof FIELDS;

/** By the names of the dialect. Models without sampling get none of it. */
export function encodeSampling(
  { sampling }: HubRequest,
  { capabilities }: UpstreamTarget,
  names: { readonly [F in SamplingField]?: string },
  dropped: (HubField | RequestSection)[],
): Record<string, number> {
  const encoded: Record<string, number> = {};
  for (const [field, name] of Object.entries(names) as [SamplingField, string][]) {
    const value = sampling[field];
    if (value === undefined) continue;
    if (capabilities.sampling === 'full') encoded[name] = value;
    else dropped.push(FIELDS[field]);
  }
  return encoded;
}

/** What the request asks for, at most what the model can write. */
export const maxOutputFor = ({ limits }: HubRequest, target: UpstreamTarget): number | undefined =>
  limits.maxOutput === undefined
    ? undefined
    : Math.min(limits.maxOutput, target.maxOutput ?? target.capabilities.maxOutput);
