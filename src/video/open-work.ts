/** When the jobs of video have anything to do. */
import { sql } from 'kysely';
import { DUE_SOON, type OpenWork } from '../platform/db/index.ts';
import { RESULT_MIRROR_JOB } from '../rules/index.ts';

export const VIDEO_WORK = {
  tasks: {
    name: 'tasks',
    condition: sql<boolean>`exists (select from video_tasks where finished_at is null)
      or exists (select from video_tasks where submission in ('pending', 'sending'))
      or exists (select from video_tasks where submission = 'confirmed' and next_check_at is not null)`,
  },
  results: {
    name: 'results',
    condition: sql<boolean>`exists (
      select from video_tasks
      where result_url is not null and mirrored_at is null and deleted_at is null and status = 'succeeded'
        and result_reported_at > now() - ${sql.lit(RESULT_MIRROR_JOB.forHours)} * interval '1 hour')`,
  },
  callbacks: {
    name: 'callbacks',
    condition: sql<boolean>`exists (select from callback_events where state = 'pending')`,
  },
  assets: {
    name: 'assets',
    condition: sql<boolean>`exists (select from assets where next_check_at < ${DUE_SOON})
      or exists (select from asset_groups where next_check_at < ${DUE_SOON})`,
  },
  sessions: {
    name: 'sessions',
    condition: sql<boolean>`exists (select from authorization_sessions where next_check_at < ${DUE_SOON})`,
  },
} as const satisfies Record<string, OpenWork>;
