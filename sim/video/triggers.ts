/**
 * The trigger language: which misbehaviour a request, a header or a test asks for.
 * Its form is that of the fault language of the other providers: words with optional values, joined by `;`.
 */
import { ACTIONS, type Action } from './assets/actions.ts';
import { isRatio, isResolution, type Ratio, type Resolution } from './families.ts';
import {
  CALLBACK_MODES,
  type CallbackMode,
  IMAGE_FORMATS,
  type ImageFormat,
  URL_MODES,
  type UrlMode,
} from './settings.ts';

export const OPERATIONS = ['create', 'get', 'list', 'delete', 'download'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** What a fault can apply to: a call of the generation API, one action of the asset library, or all its actions. */
export type Target = Operation | Action | 'control';
const TARGETS: readonly Target[] = [...OPERATIONS, 'control', ...ACTIONS];

export const USAGE_MODES = ['missing', 'negative', 'zero', 'huge', 'text', 'fraction', 'unequal'] as const;
export type UsageMode = (typeof USAGE_MODES)[number];

/** What goes wrong with the response of one call. */
export interface CallFault {
  kind?: 'reset' | 'reset_mid' | 'eof_mid' | 'hang' | 'html' | 'truncated';
  /** Error status, or the status of the HTML page. */
  status?: number;
  /** Error code; its usual status applies unless `status` is given. */
  code?: string;
  /** Index of the content item that the error blames. */
  item?: number;
  delayMs?: number;
  /** Pause between pieces of the body. */
  dripMs?: number;
  /** The call takes effect although its response fails. */
  effective?: boolean;
  /** The call it applies to; without it, the call that carries the trigger. */
  on?: Target;
  /** Number of calls it applies to; without it, all. */
  times?: number;
}

/** How the life of one task differs from the usual one. */
export interface TaskPlan {
  failure?: string;
  failsIn?: 'queued' | 'running';
  usage?: UsageMode;
  usageAfterMs?: number;
  /** Per cent that reads of the running task report; without it none. */
  progress?: number;
  resolution?: Resolution;
  ratio?: Ratio;
  duration?: number;
  unknownStatus?: string;
  hidesUpdatedAt?: boolean;
  backwards?: 'running' | 'terminal';
  queuedMs?: number;
  runningMs?: number;
  stuck?: 'queued' | 'running' | 'processing';
  callbacks?: readonly CallbackMode[];
  urls?: UrlMode;
  lastFrame?: ImageFormat;
  fileBytes?: number;
  inputSeconds?: number;
}

/** How the life of one asset or group differs from the usual one. */
export interface AssetPlan extends Pick<TaskPlan, 'failure' | 'stuck'> {
  processingMs?: number;
  /** Gets that report `Processing`; the time plays no part then. */
  processingGets?: number;
  /** The asset or group disappears that long after its creation. */
  lifetimeMs?: number;
}

/** One trigger: a fault of calls, changes to the task or asset, or both. */
export interface Trigger {
  fault?: CallFault;
  plan: TaskPlan & AssetPlan;
}

type Word = { about: string } & (
  | { fault: (value: string) => CallFault; plan?: never }
  | { plan: (value: string) => TaskPlan & AssetPlan; fault?: never }
);

/** All words. sim/README.md documents the same table. */
export const TRIGGERS: Readonly<Record<string, Word>> = {
  status: { about: 'an error with this status', fault: (v) => ({ status: count(v) }) },
  error: { about: 'an error with this code', fault: (v) => ({ code: code(v) }) },
  sync_400: { about: 'an error with status 400 and this code', fault: (v) => ({ status: 400, code: code(v) }) },
  item: { about: 'index of the content item that the error blames', fault: (v) => ({ item: count(v) }) },
  reset: { about: 'resets the connection before the head', fault: () => ({ kind: 'reset' }) },
  reset_mid: {
    about: 'resets the connection in the middle of the body',
    fault: () => ({ kind: 'reset_mid', effective: true }),
  },
  eof_mid: {
    about: 'closes the connection in the middle of the body',
    fault: () => ({ kind: 'eof_mid', effective: true }),
  },
  hang: { about: 'never responds', fault: () => ({ kind: 'hang' }) },
  html: { about: 'an HTML page with status 200, or with `status`', fault: () => ({ kind: 'html' }) },
  truncated: {
    about: 'a complete response whose JSON ends in the middle',
    fault: () => ({ kind: 'truncated', effective: true }),
  },
  slow: { about: 'responds after MS milliseconds', fault: (v) => ({ delayMs: count(v), effective: true }) },
  drip: { about: 'MS milliseconds between pieces of the body', fault: (v) => ({ dripMs: count(v), effective: true }) },
  created: { about: 'the call takes effect before its response fails', fault: () => ({ effective: true }) },
  on: { about: `the call it applies to: ${TARGETS.join(', ')}`, fault: (v) => ({ on: oneOf(TARGETS, v) }) },
  times: { about: 'number of calls it applies to', fault: (v) => ({ times: count(v) }) },
  fail: { about: 'the task or asset fails with this code', plan: (v) => ({ failure: code(v) }) },
  fail_in: {
    about: 'the state in which it fails: queued, running',
    plan: (v) => ({ failsIn: oneOf(['queued', 'running'], v) }),
  },
  usage: { about: `wrong usage: ${USAGE_MODES.join(', ')}`, plan: (v) => ({ usage: oneOf(USAGE_MODES, v) }) },
  usage_after: { about: 'usage appears MS milliseconds after success', plan: (v) => ({ usageAfterMs: count(v) }) },
  progress: { about: 'reads of the running task report so many per cent', plan: (v) => ({ progress: count(v) }) },
  resolution: { about: 'the resolution of the result', plan: (v) => ({ resolution: known(isResolution, v) }) },
  ratio: { about: 'the ratio of the result', plan: (v) => ({ ratio: known(isRatio, v) }) },
  duration: { about: 'the duration of the result in seconds', plan: (v) => ({ duration: count(v) }) },
  unknown_status: {
    about: 'reported instead of `running` (default `processing`)',
    plan: (v) => ({ unknownStatus: v || 'processing' }),
  },
  no_updated_at: { about: 'the task has no `updated_at`', plan: () => ({ hidesUpdatedAt: true }) },
  backwards: {
    about: 'after `running` the next read is `queued` once; `terminal`: after the end it is `running` once',
    plan: (v) => ({ backwards: oneOf(['running', 'terminal'], v || 'running') }),
  },
  queued: { about: 'milliseconds in the queue', plan: (v) => ({ queuedMs: count(v) }) },
  running: { about: 'milliseconds of generation', plan: (v) => ({ runningMs: count(v) }) },
  stuck: {
    about: 'stays queued, running or processing',
    plan: (v) => ({ stuck: oneOf(['queued', 'running', 'processing'], v) }),
  },
  callbacks: {
    about: `callback modes joined by +: ${CALLBACK_MODES.join(', ')}`,
    plan: (v) => ({ callbacks: v.split('+').map((mode) => oneOf(CALLBACK_MODES, mode)) }),
  },
  urls: { about: `result URLs: ${URL_MODES.join(', ')}`, plan: (v) => ({ urls: oneOf(URL_MODES, v) }) },
  last_frame: {
    about: `format of the last frame: ${IMAGE_FORMATS.join(', ')}`,
    plan: (v) => ({ lastFrame: oneOf(IMAGE_FORMATS, v) }),
  },
  file_bytes: { about: 'size of the video file, padded at its end', plan: (v) => ({ fileBytes: count(v) }) },
  input_seconds: { about: 'seconds of all input videos together', plan: (v) => ({ inputSeconds: count(v) }) },
  processing: { about: 'milliseconds of processing of an asset', plan: (v) => ({ processingMs: count(v) }) },
  gets: { about: 'gets that report an asset as processing', plan: (v) => ({ processingGets: count(v) }) },
  lifetime: {
    about: 'milliseconds after which the asset or group disappears',
    plan: (v) => ({ lifetimeMs: count(v) }),
  },
};

/** Parses text such as `fault=500; created` or `on=get; error=ServerOverloaded; times=2`. Throws on an unknown word. */
export function parseTrigger(spec: string): Trigger {
  const trigger: Trigger = { plan: {} };
  for (const word of spec.split(/[;,&\s]+/)) {
    if (word === '') continue;
    const [, given = word, value = ''] = /^([^=]*)=?(.*)$/s.exec(word) ?? [];
    const { fault, plan } = find(given.replaceAll('-', '_'), value);
    if (fault) trigger.fault = { ...trigger.fault, ...fault };
    Object.assign(trigger.plan, plan);
  }
  if (trigger.fault && !hasEffect(trigger.fault)) throw new RangeError(`"${spec}" does not name a fault`);
  return trigger;
}

/** The triggers in a prompt, each written as `[sim:...]`. */
export function promptTriggers(prompt: string): Trigger[] {
  return [...prompt.matchAll(/\[sim:([^\]]*)\]/g)].map(([, spec = '']) => parseTrigger(spec));
}

/** Splits `model@fault=500` into the model and its triggers. Another `@` belongs to the name. */
export function splitModel(name: string): { model: string; triggers: Trigger[] } {
  const [, model = name, spec = ''] = /^([^@]*)@(.*)$/s.exec(name) ?? [];
  const first = (spec.split(/[=;,&\s]/, 1)[0] ?? '').replaceAll('-', '_');
  const isTrigger = first === 'fault' || Object.hasOwn(TRIGGERS, first);
  return isTrigger ? { model, triggers: [parseTrigger(spec)] } : { model: name, triggers: [] };
}

/** False for a fault that only has conditions, such as `on=get`. */
const hasEffect = ({ kind, status, code, delayMs, dripMs }: CallFault): boolean =>
  [kind, status, code, delayMs, dripMs].some((effect) => effect !== undefined);

function find(name: string, value: string): Partial<Trigger> {
  if (name === 'fault') return /^\d+$/.test(value) ? { fault: { status: count(value) } } : find(value, '');
  const word = Object.hasOwn(TRIGGERS, name) ? TRIGGERS[name] : undefined;
  if (!word) throw new RangeError(`unknown trigger "${name}"; known: ${Object.keys(TRIGGERS).join(', ')}`);
  return word.fault ? { fault: word.fault(value) } : { plan: word.plan(value) };
}

function count(value: string): number {
  const number = Number(value);
  if (value === '' || !Number.isSafeInteger(number) || number < 0) throw new RangeError(`"${value}" is not a count`);
  return number;
}

function code(value: string): string {
  if (!/^[A-Z][\w.]*$/.test(value)) throw new RangeError(`"${value}" is not an error code`);
  return value;
}

function oneOf<T extends string>(values: readonly T[], value: string): T {
  return known((text): text is T => values.some((one) => one === text), value, values.join(', '));
}

function known<T extends string>(accepts: (value: string) => value is T, value: string, expected = 'a known value'): T {
  if (!accepts(value)) throw new RangeError(`"${value}" is not ${expected}`);
  return value;
}
