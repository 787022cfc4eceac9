/**
 * A create request from its bytes to a checked request for a model: the same for a task and for the estimate of one.
 */
import type { Key } from '../../access/keys/index.ts';
import { type ApiError, fail, failAt, formatNanos } from '../../core/index.ts';
import type { TaskEstimate } from '../../schemas/index.ts';
import { findInputFile } from '../input-files.ts';
import { resolveReferences } from '../references.ts';
import { examineJob } from '../request/examine-job.ts';
import type { Examination, NeutralRequest, RequestError, TaskEntry, TaskRequest } from '../request/task-request.ts';
import type { VideoServices } from '../services.ts';
import { peekModel, resolveTarget, type TargetResult, type VideoTarget, videoRates } from '../target.ts';
import { type MaxCost, maxCostOfTask } from './max-cost.ts';

export interface TaskInput {
  readonly entry: TaskEntry;
  readonly bytes: Buffer;
}

export interface ExaminedRequest {
  readonly resolved: TargetResult | undefined;
  readonly examined: Extract<Examination, { kind: 'parsed' }>;
}

export interface AcceptedTask {
  readonly target: VideoTarget;
  readonly request: TaskRequest;
  readonly neutral: NeutralRequest;
}

/** Throws for a malformed body; everything else is judged by `acceptRequest`. */
export async function examineRequest(services: VideoServices, key: Key, input: TaskInput): Promise<ExaminedRequest> {
  const { entry, bytes } = input;
  const named = peekModel(bytes);
  const resolved = named === undefined || named === '' ? undefined : resolveTarget(services.catalog(), key, named);
  const target = resolved && 'target' in resolved ? resolved.target : undefined;
  const rules = target && { sheet: target.sheet, allowedOrigins: services.allowedOrigins };
  const owner = { key, bytes: bytes.length };
  const examined = await services.threads.run(examineJob, { bytes, entry, target: rules }, owner);
  if (examined.kind === 'malformed') throw errorFrom(examined.error);
  return { resolved, examined };
}

export function acceptRequest({ resolved, examined }: ExaminedRequest): AcceptedTask {
  if (resolved && 'error' in resolved) throw resolved.error;
  if (!resolved || !examined.result) throw failAt('invalid_request', 'model', 'expected the name of a model.');
  if ('error' in examined.result) throw errorFrom(examined.result.error);
  const { request, upstream } = examined.result;
  return { target: resolved.target, request, neutral: upstream };
}

const errorFrom = ({ code, message, param }: RequestError): ApiError =>
  fail(code, message, param === undefined ? {} : { param });

/** Everything that the request names exists, is the caller's own, and fits. */
export async function resolveInputs(services: VideoServices, key: Key, { target, request }: AcceptedTask) {
  const { references, files } = request;
  for (const file of files) await findInputFile(services.files, key.userId, file, target.sheet.inlineMedia);
  return resolveReferences(services, key, target, references);
}

type Priced = Pick<AcceptedTask, 'target' | 'request'>;

/** What the creation holds, at the price in force. */
export function maxCostOfRequest({ clock }: VideoServices, key: Key, { target, request }: Priced): MaxCost {
  const rates = videoRates(target, clock.now());
  const { parameters, hasVideoInput, promptOptions } = request;
  const facts = { ...parameters, hasVideoInput, promptOptions };
  return maxCostOfTask(facts, target.sheet, rates, [target.group.multiplierPpm, key.userMultiplierPpm]);
}

/**
 * The most that the task of a request can cost, with its arithmetic.
 * Rejects what the creation would reject, and creates nothing.
 */
export async function estimateTask(services: VideoServices, key: Key, input: TaskInput): Promise<TaskEstimate> {
  const accepted = acceptRequest(await examineRequest(services, key, input));
  const { target } = accepted;
  await resolveInputs(services, key, accepted);
  const { nanos, unit, count, tokens, pixels, frames, rate } = maxCostOfRequest(services, key, accepted);
  return {
    object: 'task_estimate',
    currency: 'USD',
    model: target.model.name,
    max_cost: formatNanos(nanos),
    ...(unit !== 'tokens' && { unit, count }),
    tokens,
    pixels,
    frames,
    price: formatNanos(rate),
    // Parts per million as decimals.
    multipliers: [target.group.multiplierPpm, key.userMultiplierPpm].map((ppm) => formatNanos(ppm * 1_000n)),
  };
}
