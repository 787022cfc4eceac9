export { findVideoAlarms } from './alarms.ts';
export { readIdempotencyKey } from './idempotency/header.ts';
export type { TaskEntry } from './request/task-request.ts';
export type { ReviewDecision } from './tasks/resolve-review.ts';
export { isTaskId, type TaskFilter, type TaskRow } from './tasks/task.ts';
export { VIDEO_STATUS } from './tasks/view.ts';
export { TASK_ERROR_CODES } from './upstream/errors.ts';
export { canReport, createVideo, type Video, type VideoJob } from './video.ts';
