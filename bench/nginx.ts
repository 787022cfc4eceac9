/** nginx as a target: a minimal proxy without keys, parsing and log, or a server that refuses every request. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProgram, freePort, start } from './child.ts';
import { CORES } from './machine.ts';
import { createWorkFolder, type Target, TargetUnavailable, whenReady } from './target.ts';

/** Buffering is off, as streams require. */
export const startNginx = (upstreamPort: number): Promise<Target> =>
  startServer(
    `upstream mock { server 127.0.0.1:${upstreamPort}; keepalive 1024; keepalive_requests 100000000; }`,
    `proxy_pass http://mock; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
      proxy_read_timeout 600s;`,
  );

/** The least that a refusal can cost and take. */
export const startRefusingNginx = (): Promise<Target> => startServer('', 'return 503 "overloaded";');

async function startServer(upstream: string, location: string): Promise<Target> {
  const program = findProgram('nginx');
  if (program === undefined) throw new TargetUnavailable('nginx is not installed');
  const folder = createWorkFolder();
  const port = await freePort();
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; worker_processes 1; worker_rlimit_nofile 16384;
pid ${folder}/nginx.pid; error_log stderr crit;
events { worker_connections 8192; }
http {
  access_log off; keepalive_requests 100000000; client_body_buffer_size 64k; client_max_body_size 0;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  ${upstream}
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      ${location}
    }
  }
}
`,
  );
  const process = start(program, ['-p', folder, '-c', join(folder, 'nginx.conf')], CORES?.target, {});
  return whenReady({ name: 'nginx', process, port, headers: () => ({ 'x-api-key': 'unused' }), folder });
}
