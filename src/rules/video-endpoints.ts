/** Every operation of document 2: one row each. */
import { JSON_SMALL, NO_BODY, type VideoRow } from './endpoint-rows.ts';

const TASKS = '/api/v3/contents/generations/tasks';
const SESSIONS = '/v1/assets/real-person/authorization-sessions';

const JSON_VIDEO = { content: 'json', limit: 'video' } as const;

/** Only creating a video costs. */
const FREE = { errorFormat: 'video', body: NO_BODY, billing: 'free' } as const;
const LIST = { ...FREE, method: 'GET', rate: 'list' } as const;
const READ = { ...FREE, method: 'GET', rate: 'read' } as const;
/** Results must not stay in any cache (V 4.6 r3). */
const RESULT = { ...READ, ranges: true, headers: { 'cache-control': 'private, no-store' } } as const;
const REMOVE = { ...FREE, method: 'DELETE', rate: 'delete' } as const;
const CREATE = { ...FREE, method: 'POST', body: JSON_SMALL, rate: 'create', idempotent: true } as const;
const CREATE_VIDEO = { ...CREATE, body: JSON_VIDEO, billing: 'metered' } as const;

export const VIDEO_ENDPOINTS = {
  'tasks.create': { ...CREATE_VIDEO, doc: 'V 4.2', about: 'Create a video task', path: TASKS },
  'tasks.estimate': {
    ...FREE,
    doc: 'V 4.2',
    about: 'Max cost of a video task, without creating it',
    method: 'POST',
    path: `${TASKS}/estimate`,
    body: JSON_VIDEO,
    rate: 'create',
  },
  'tasks.list': { ...LIST, doc: 'V 4.4', about: 'List video tasks', path: TASKS },
  'tasks.get': { ...READ, doc: 'V 4.3', about: 'Read a video task', path: `${TASKS}/{task_id}` },
  'tasks.delete': { ...REMOVE, doc: 'V 4.5', about: 'Cancel or delete a video task', path: `${TASKS}/{task_id}` },
  'videos.create': {
    ...CREATE_VIDEO,
    doc: 'V 4.7',
    about: 'Create a video task, compatibility form',
    path: '/v1/videos',
  },
  'videos.estimate': {
    ...FREE,
    doc: 'V 4.7',
    about: 'Max cost of a video task, compatibility form',
    method: 'POST',
    path: '/v1/videos/estimate',
    body: JSON_VIDEO,
    rate: 'create',
  },
  'videos.list': { ...LIST, doc: 'V 4.7', about: 'List video tasks, compatibility form', path: '/v1/videos' },
  'videos.get': { ...READ, doc: 'V 4.7', about: 'Read a video task, compatibility form', path: '/v1/videos/{task_id}' },
  'videos.delete': {
    ...REMOVE,
    doc: 'V 4.7',
    about: 'Cancel or delete a video task, compatibility form',
    path: '/v1/videos/{task_id}',
  },
  'videos.content': { ...RESULT, doc: 'V 4.6 r1', about: 'Read the video', path: '/v1/videos/{task_id}/content' },
  'videos.lastFrame': {
    ...RESULT,
    doc: 'V 4.6 r2',
    about: 'Read the last frame',
    path: '/v1/videos/{task_id}/last-frame',
  },
  'links.create': {
    ...FREE,
    doc: 'V 4.6',
    about: 'Create signed links to the results, which need no key',
    method: 'POST',
    path: '/v1/videos/{task_id}/links',
    rate: 'read',
  },
  'links.revoke': {
    ...REMOVE,
    doc: 'V 4.6',
    about: 'Revoke all signed links of a task',
    path: '/v1/videos/{task_id}/links',
  },
  'callbacks.setDefault': {
    ...FREE,
    doc: 'V 6',
    about: 'Set where callbacks of tasks without a URL go, and which events',
    method: 'POST',
    path: '/v1/video-callbacks/default',
    body: JSON_SMALL,
    rate: 'create',
  },
  'callbacks.getDefault': {
    ...READ,
    doc: 'V 6',
    about: 'Read the default callback',
    path: '/v1/video-callbacks/default',
  },
  'callbacks.removeDefault': {
    ...REMOVE,
    doc: 'V 6',
    about: 'Remove the default callback',
    path: '/v1/video-callbacks/default',
  },
  'callbacks.list': { ...LIST, doc: 'V 6', about: 'List callback deliveries', path: '/v1/video-callbacks' },
  'callbacks.get': {
    ...READ,
    doc: 'V 6',
    about: 'Read a callback with its request and its attempts',
    path: '/v1/video-callbacks/{event_id}',
  },
  'callbacks.redeliver': {
    ...FREE,
    doc: 'V 6',
    about: 'Deliver a callback again',
    method: 'POST',
    path: '/v1/video-callbacks/{event_id}/redeliver',
    rate: 'create',
  },
  'callbacks.test': {
    ...FREE,
    doc: 'V 6',
    about: 'Send a test event to the callback URL of a task',
    method: 'POST',
    path: '/v1/videos/{task_id}/test-callback',
    rate: 'create',
  },
  'assetGroups.create': { ...CREATE, doc: 'V 4.8 r1', about: 'Create an asset group', path: '/v1/asset-groups' },
  'assetGroups.list': { ...LIST, doc: 'V 4.8 r2', about: 'List asset groups', path: '/v1/asset-groups' },
  'assetGroups.get': { ...READ, doc: 'V 4.8 r2', about: 'Read an asset group', path: '/v1/asset-groups/{group_id}' },
  'assetGroups.delete': {
    ...REMOVE,
    doc: 'V 4.8 r3',
    about: 'Delete an asset group',
    path: '/v1/asset-groups/{group_id}',
  },
  'assets.create': { ...CREATE, doc: 'V 4.9 r1', about: 'Register a private asset', path: '/v1/assets' },
  'assets.list': { ...LIST, doc: 'V 4.9 r3', about: 'List private assets', path: '/v1/assets' },
  'assets.get': { ...READ, doc: 'V 4.9 r4', about: 'Read a private asset', path: '/v1/assets/{asset_id}' },
  'assets.refresh': {
    ...FREE,
    doc: 'V 4.9 r5',
    about: 'Refresh the state of an asset',
    method: 'POST',
    path: '/v1/assets/{asset_id}/refresh',
    rate: 'refresh',
  },
  'assets.delete': { ...REMOVE, doc: 'V 4.9 r6', about: 'Delete a private asset', path: '/v1/assets/{asset_id}' },
  'sessions.create': { ...CREATE, doc: 'V 4.10 r1', about: 'Start a real-person authorization', path: SESSIONS },
  'sessions.get': {
    ...READ,
    doc: 'V 4.10 r2',
    about: 'Read a real-person authorization',
    path: `${SESSIONS}/{session_id}`,
  },
  'characters.list': { ...LIST, doc: 'V 4.11 r1', about: 'List public characters', path: '/v1/public-characters' },
  'characters.get': {
    ...READ,
    doc: 'V 4.11 r2',
    about: 'Read a public character',
    path: '/v1/public-characters/{character_id}',
  },
} as const satisfies Record<string, VideoRow>;
