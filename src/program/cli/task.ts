/**
 * `dragoman task list | assign | dismiss`: video tasks whose submission stayed unknown, and the operator's decision
 * about each.
 */
import { Command } from 'commander';
import { decideSubmission, oldestSubmissions } from '../../api/admin/index.ts';
import { loadServices } from '../server/index.ts';
import { BY_CLI, withContext } from './context.ts';
import { info, print } from './output.ts';

const LISTED = 200;

interface Options {
  readonly reason: string;
}

export const taskCommand = (): Command =>
  new Command('task')
    .description('video tasks that were sent and may be any of several tasks at the provider')
    .addCommand(listCommand())
    .addCommand(assignCommand())
    .addCommand(dismissCommand());

const listCommand = (): Command =>
  new Command('list')
    .description(
      'list them with their candidates: task, user, parameters; then candidate, status, parameters, differences',
    )
    .action(() =>
      withContext(async ({ database: { db } }) => {
        for (const { task, user, created_at, parameters, candidates } of await oldestSubmissions(db, LISTED)) {
          print([task, user, created_at, JSON.stringify(parameters)].join('\t'));
          for (const { upstream_task, status, created_at: at, parameters: reported, differs } of candidates)
            print(['', upstream_task, status, at, JSON.stringify(reported), differs.join(',')].join('\t'));
        }
      }),
    );

const assignCommand = (): Command =>
  new Command('assign')
    .description("the provider's task is the one that this submission created; it is followed and charged from now on")
    .argument('<task>', 'task_...')
    .argument('<upstream-task>', 'id at the provider')
    .option('--reason <text>', 'for the audit log', 'assigned by command')
    .action(async (task: string, upstreamTask: string, { reason }: Options) => {
      await decide(task, upstreamTask, reason);
      info(`${task} is ${upstreamTask} at the provider.`);
    });

const dismissCommand = (): Command =>
  new Command('dismiss')
    .description('the provider has no task for this one: it fails, and its amount is released')
    .argument('<task>', 'task_...')
    .option('--reason <text>', 'for the audit log', 'dismissed by command')
    .action(async (task: string, { reason }: Options) => {
      await decide(task, undefined, reason);
      info(`${task} has failed and its amount is released.`);
    });

const decide = (task: string, upstreamTask: string | undefined, reason: string): Promise<void> =>
  withContext(async (context) => {
    const { video, close } = await (await loadServices()).openWorkerServices(context);
    try {
      const decided = { id: task, by: BY_CLI, body: { reason } };
      await decideSubmission({ db: context.database.db, video }, upstreamTask, decided);
    } finally {
      await close();
    }
  });
