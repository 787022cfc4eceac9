/** The routes below `/_sim/` that control a running simulator. They are not recorded in the journal. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { isObject, type JsonObject, numberOf, textOf } from '../json.ts';
import type { Assets } from './assets/assets.ts';
import type { Groups } from './assets/groups.ts';
import type { Validations } from './assets/validations.ts';
import type { CallbackAttempt } from './callbacks.ts';
import type { SimClock } from './clock.ts';
import { publicVideoEntry, type VideoJournal } from './journal.ts';
import { DEFAULT_SETTINGS, type VideoSettings } from './settings.ts';
import type { Tasks } from './tasks.ts';

/** What the routes read and change. */
interface Controls {
  journal: VideoJournal;
  tasks: Tasks;
  assets: Assets;
  groups: Groups;
  validations: Validations;
  clock: SimClock;
  settings: VideoSettings;
  callbacks: CallbackAttempt[];
  downloads: Record<string, number>;
  next(fault: string): void;
}

type Action = (video: Controls, body: JsonObject) => unknown;

const ACTIONS: Readonly<Record<string, Action>> = {
  'GET /_sim/journal': showJournal,
  'DELETE /_sim/journal': (video) => {
    video.journal.clear();
    video.callbacks.length = 0;
    return {};
  },
  'GET /_sim/tasks': (video) => ({ tasks: video.tasks.all }),
  'GET /_sim/assets': (video) => ({ assets: video.assets.all }),
  'POST /_sim/assets': changeAsset,
  'GET /_sim/groups': (video) => ({ groups: video.groups.all }),
  'GET /_sim/validations': (video) => ({ validations: video.validations.all }),
  'GET /_sim/clock': (video) => ({ now: video.clock.now() }),
  'POST /_sim/clock': advanceClock,
  'GET /_sim/settings': (video) => video.settings,
  'POST /_sim/settings': changeSettings,
  'POST /_sim/next': (video, body) => {
    video.next(textOf(body.fault));
    return {};
  },
};

export const isOperatorPath = (path: string): boolean => path.startsWith('/_sim/');

export async function serveOperator(
  video: Controls,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const send = (status: number, body: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body, null, 2));
  };
  const name = `${request.method} ${request.url?.split('?', 1)[0]}`;
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  const body = await text(request);
  if (!action) return send(404, { error: `unknown request; known: ${Object.keys(ACTIONS).join(', ')}` });
  try {
    const parsed: unknown = body === '' ? {} : JSON.parse(body);
    if (!isObject(parsed)) throw new RangeError('the body is not a JSON object');
    send(200, await action(video, parsed));
  } catch (error) {
    send(400, { error: error instanceof Error ? error.message : String(error) });
  }
}

function showJournal(video: Controls): unknown {
  return {
    requests: video.journal.requests.map(publicVideoEntry),
    creates: {
      by_safety_identifier: video.journal.countCreates('safetyIdentifier'),
      by_callback_path: video.journal.countCreates('callbackPath'),
    },
    callbacks: video.callbacks,
    downloads: video.downloads,
  };
}

async function advanceClock(video: Controls, body: JsonObject): Promise<unknown> {
  const ms = numberOf(body.advance);
  if (ms === undefined || ms < 0) throw new RangeError('advance: a number of milliseconds is required');
  await video.clock.advance(ms);
  return { now: video.clock.now() };
}

/** `{"activate": ID}`, `{"fail": ID, "code": CODE}` or `{"vanish": ID}`. */
function changeAsset({ assets }: Controls, body: JsonObject): unknown {
  if (body.activate !== undefined) assets.activate(textOf(body.activate));
  else if (body.fail !== undefined) assets.fail(textOf(body.fail), textOf(body.code));
  else if (body.vanish !== undefined) assets.vanish(textOf(body.vanish));
  else throw new RangeError('activate, fail or vanish: the id of an asset is required');
  return {};
}

function changeSettings(video: Controls, body: JsonObject): unknown {
  const unknown = Object.keys(body).find((name) => !Object.hasOwn(DEFAULT_SETTINGS, name));
  if (unknown !== undefined) throw new RangeError(`${unknown}: the setting is unknown`);
  return Object.assign(video.settings, body);
}
