/** Reading a task that is not finished: a long poll with `wait`, or a stream of its states as server-sent events. */
import { type Clock, EVENT_STREAM, SSE_COMMENT, sse } from '../../core/index.ts';
import { type Call, idHeaders, STREAM_HEADERS } from '../../platform/web/index.ts';
import { errorType, HEARTBEAT_MS, TASK_WAIT } from '../../rules/index.ts';
import type { TaskRow, Video } from '../../video/index.ts';

/** Returns the task when it has changed or the time is up; at once when it is finished or `seconds` is 0. */
export async function waitForChange(video: Video, call: Call, task: TaskRow, seconds: number): Promise<TaskRow> {
  if (seconds === 0 || task.finished_at !== null) return task;
  const isChanged = await video.watcher.next(task, seconds * 1_000, (cancel) => call.onClientGone(cancel));
  return isChanged ? video.readAgain(task) : task;
}

export const wantsEvents = (call: Call): boolean =>
  call.header('accept')?.toLowerCase().includes(EVENT_STREAM) === true;

/** The task goes on; the client reads it again. */
const SHUTDOWN_EVENT = sse(
  JSON.stringify({
    error: {
      message: 'The server is restarting; read the task again.',
      type: errorType('video', 503),
      code: 'shutting_down',
    },
  }),
  'error',
);

type StreamServices = { readonly video: Video; readonly clock: Clock };

/** One `task` event at once and one per change, until the task ends or an hour has passed. */
export async function streamTask({ video, clock }: StreamServices, call: Call, first: TaskRow): Promise<void> {
  const deadline = clock.elapsed() + TASK_WAIT.streamSeconds * 1_000;
  const send = (task: TaskRow): void => void call.response.write(sse(JSON.stringify(video.taskView(task)), 'task'));
  call.response.writeHead(200, { ...idHeaders(call), ...STREAM_HEADERS });
  send(first);
  for (let task = first; task.finished_at === null && !call.isClientGone && clock.elapsed() < deadline; ) {
    const isChanged = await video.watcher.next(task, HEARTBEAT_MS, (cancel) => call.onClientGone(cancel));
    if (call.isClientGone) return;
    if (video.watcher.hasEnded) return call.response.end(SHUTDOWN_EVENT);
    if (!isChanged) call.response.write(SSE_COMMENT);
    else {
      task = await video.readAgain(task);
      send(task);
    }
  }
  call.response.end();
}
