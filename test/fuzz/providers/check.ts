/** The property: whatever a provider's manners are, its client gets the whole reply once, or one error, and pays what was reported. */
import { type Facts, factsOf } from '../../../scripts/replay/facts.ts';
import type { JsonRecord } from '../../../scripts/replay/recording.ts';
import { effectOf, hidesUsage, isNative, type ProviderCase } from './case.ts';
import { askAs, type Seen } from './clients.ts';
import type { Behaviour, Provider, StageLane, Trace } from './stage.ts';

/** A call that does not end within this time hangs. */
const HANG_MS = 40_000;

/** Given ids, with the case that got them. */
export type GivenIds = Map<string, number>;

export interface Check {
  readonly lane: StageLane;
  readonly ids: GivenIds;
  /** Unique, so that models and users differ. */
  readonly number: number;
}

interface Result {
  readonly seen: Seen | undefined;
  readonly facts: Facts | undefined;
  readonly error: unknown;
  readonly trace: Trace | undefined;
}

/** Returns what is wrong; undefined when the property holds. */
export async function checkCase(one: ProviderCase, check: Check): Promise<string | undefined> {
  const { lane, number } = check;
  const model = `m${number}`;
  const polite = await call(one, { behaviour: 'polite', model, lane });
  if (!polite.facts) return `the polite provider fails: ${messageOf(polite.error)}`;
  const rude = `${model}@manners=${one.manners.join('+')};seed=${one.seed}`;
  const impolite = await call(one, { behaviour: 'impolite', model: rude, lane });
  if (impolite.trace?.line.faults !== undefined || !impolite.seen) lane.renew(providerOf(one));
  const [internal] = lane.stage.internalErrors.splice(0);
  if (internal) return `internal error ${JSON.stringify(internal)}`;
  return failureOf(one, polite, impolite) ?? idFailure(one, impolite, check);
}

const providerOf = ({ provider, mode }: ProviderCase): Provider =>
  provider === 'responses' && mode === 'websocket' ? 'socket' : provider;

interface Call {
  readonly behaviour: Behaviour;
  readonly model: string;
  readonly lane: StageLane;
}

async function call(one: ProviderCase, { behaviour, model, lane }: Call): Promise<Result> {
  const { stage } = lane;
  const caller = { url: stage.url, key: await lane.key(providerOf(one), behaviour), model };
  const asked = Promise.race([askAs(one, caller), hang()]);
  const outcome = await asked.then(
    (seen) => ({ seen, error: undefined }),
    (error: unknown) => ({ seen: undefined, error }),
  );
  if (String(outcome.error).includes(HANGS)) return { ...outcome, facts: undefined, trace: undefined };
  const trace = await stage.traceOf(model, outcome.seen !== undefined);
  const facts = outcome.seen && factsOf(one.mode === 'websocket' ? 'responses' : one.client, outcome.seen.whole);
  return { ...outcome, facts, trace };
}

const HANGS = 'the call hangs';
const hang = (): Promise<never> =>
  new Promise((_, reject) => {
    setTimeout(() => reject(new Error(HANGS)), HANG_MS).unref();
  });

function failureOf(one: ProviderCase, polite: Result, impolite: Result): string | undefined {
  const effect = effectOf(one);
  if (String(impolite.error).includes(HANGS)) return HANGS;
  // A client of the provider's own dialect gets what the provider sent, whatever its SDK makes of it.
  if (isNative(one) && effect !== 'harmless') return undefined;
  if (impolite.error !== undefined) {
    if (effect !== 'fault')
      return `no reply: ${messageOf(impolite.error)}, log ${JSON.stringify(impolite.trace?.line)}`;
    return errorFailure(impolite);
  }
  return factFailure(polite, impolite) ?? endFailure(one, impolite) ?? chargeFailure(one, polite, impolite);
}

const messageOf = (error: unknown): string => `${String(error)}`.slice(0, 300);

/** One error of the dialect, for which nothing is owed. */
function errorFailure({ error, trace }: Result): string | undefined {
  const { status, error: body } = error as { status?: unknown; error?: unknown };
  const isClean =
    status !== undefined ||
    body !== undefined ||
    /TurnError|ApiError|"type":"error"/.test(`${(error as Error).constructor.name} ${String(error)}`);
  if (!isClean) return `no error of the dialect: ${messageOf(error)}`;
  return trace?.record && trace.record.nanos > 0 ? `a failed call is charged ${trace.record.nanos}` : undefined;
}

const COMPARED = ['text', 'thinking', 'refusal', 'calls', 'stop'] as const satisfies readonly (keyof Facts)[];

function factFailure({ facts: expected }: Result, { facts, seen }: Result): string | undefined {
  if (!expected || !facts || !seen) return 'no facts';
  for (const name of COMPARED) {
    const [wanted, got] = [expected[name], facts[name]].map((value) => JSON.stringify(value));
    if (wanted !== got) return `${name} is ${got}, expected ${wanted}`;
  }
  const isDoubled = seen.deltas !== undefined && seen.deltas !== facts.text;
  return isDoubled
    ? `the deltas are ${JSON.stringify(seen.deltas)}, the text ${JSON.stringify(facts.text)}`
    : undefined;
}

/** The marks of the end of a stream, of which a client gets one. */
const ENDS: Readonly<Partial<Record<string, RegExp>>> = {
  messages: /"type":\s*"message_stop"/g,
  chat: /data:\s*\[DONE\]/g,
  responses: /"type":\s*"response\.(?:completed|incomplete|failed)"/g,
};

function endFailure(one: ProviderCase, { seen }: Result): string | undefined {
  const mark = ENDS[one.client];
  if (isNative(one) || one.mode !== 'stream' || !mark || seen?.body === undefined) return undefined;
  const count = [...seen.body.matchAll(mark)].length;
  return count === 1 ? undefined : `${count} ends in ${seen.body.slice(-400)}`;
}

function chargeFailure(one: ProviderCase, polite: Result, impolite: Result): string | undefined {
  const [expected, found] = [polite.trace?.record, impolite.trace?.record];
  if (!expected || !found) return 'no charge';
  // Another account has served it, whose prompt cache knows the model.
  if (effectOf(one) === 'fault') return found.nanos > 0 ? undefined : 'no charge';
  if (impolite.trace?.line.faults !== undefined)
    return `another account took over: ${JSON.stringify(impolite.trace.line)}`;
  if (hidesUsage(one)) {
    if (found.isEstimated && found.nanos > 0) return undefined;
    return `no usage is reported, and charged ${JSON.stringify(found)}`;
  }
  const [wanted, got] = [JSON.stringify(expected), JSON.stringify(found)];
  return wanted === got ? undefined : `charged ${got}, expected ${wanted}`;
}

/** Ids of replies and of their calls, by which a client refers to them. */
function idFailure(one: ProviderCase, { seen }: Result, { ids, number }: Check): string | undefined {
  if (isNative(one) || !seen) return undefined;
  for (const id of idsIn(seen.whole)) {
    const before = ids.get(id);
    if (id === '' || (before !== undefined && before !== number))
      return `the id ${JSON.stringify(id)} was given before, in case ${before}`;
    ids.set(id, number);
  }
  return undefined;
}

const idsIn = (reply: JsonRecord): string[] => (typeof reply.id === 'string' ? [reply.id] : []);
