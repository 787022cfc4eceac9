/** Captured bodies: the switch of a key, and the bodies of a call with a command that repeats it. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { CAPTURE } from '../../../src/rules/capture.ts';
import type { ReadRequest, ShownCapture, ShownKey } from '../../../src/schemas/index.ts';
import { countText } from '../format/count.ts';
import { t } from '../language.ts';
import { texts } from '../texts.ts';
import { Opener } from './dialog.tsx';
import { FormDialog, ProblemNotice } from './form.tsx';
import { Card } from './page.tsx';
import { notify } from './toast.tsx';
import { copyText } from './values.tsx';

interface CaptureKeyProps {
  readonly value: ShownKey;
  readonly tree: {
    readonly captureKey: (id: string, hours: number) => Promise<ShownKey>;
    readonly queries: string;
  };
}

export const CaptureKey = ({ value, tree }: CaptureKeyProps) => {
  const client = useQueryClient();
  const isOn = value.capture_until !== null;
  return (
    <Opener label={isOn ? 'End capture' : 'Capture'}>
      {(close) => (
        <FormDialog
          title={isOn ? `${t('End capture of')} ${value.name}` : `${t('Capture calls of')} ${value.name}`}
          explain={isOn ? texts.capture.end : texts.capture.start(CAPTURE.retentionDays)}
          close={close}
          action={isOn ? 'End capture' : 'Start capture'}
          fields={
            isOn
              ? []
              : [
                  {
                    name: 'hours',
                    label: 'Hours',
                    kind: 'number',
                    value: 1,
                    isRequired: true,
                    hint: texts.capture.hours(CAPTURE.maxHours),
                  },
                ]
          }
          submit={async ({ hours = 0 }) => {
            await tree.captureKey(value.id, hours as number);
            await client.invalidateQueries({ queryKey: [tree.queries] });
            notify(isOn ? texts.capture.ended : texts.capture.started);
          }}
        />
      )}
    </Opener>
  );
};

interface CaptureCardProps {
  readonly request: ReadRequest;
  readonly load: (id: string) => Promise<ShownCapture>;
}

/** Read by a click only, because every look is on record. */
export const CaptureCard = ({ request, load }: CaptureCardProps) => {
  const [capture, setCapture] = useState<ShownCapture>();
  const [problem, setProblem] = useState<Error>();
  if (!request.captured) return null;
  const show = (): void => void load(request.id).then(setCapture, setProblem);
  return (
    <Card
      title="Bodies"
      lead={texts.capture.audited}
      actions={
        capture ? (
          <button type="button" onClick={() => void copyText(curlOf(capture))}>
            {t('Copy as curl')}
          </button>
        ) : (
          <button type="button" onClick={show}>
            {t('Show bodies')}
          </button>
        )
      }
    >
      {problem && <ProblemNotice problem={problem} />}
      {capture && (
        <div className="grid-2">
          <Body title={t('Request')} {...capture.request} />
          <Body title={t('Response')} {...capture.response} />
        </div>
      )}
    </Card>
  );
};

type BodyProps = Pick<ShownCapture['request'], 'body' | 'bytes' | 'cut' | 'encoding'> & { readonly title: string };

const Body = ({ title, body, bytes, cut, encoding }: BodyProps) => (
  <div>
    <h3>{title}</h3>
    <p className="muted small">
      {[texts.capture.bytes(countText(bytes)), encoding === 'base64' && texts.capture.base64, cut && texts.capture.cut]
        .filter(Boolean)
        .join(', ')}
    </p>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs the keyboard */}
    <section className="code tall" tabIndex={0} aria-label={title}>
      <pre>{encoding === 'utf8' ? indented(body) : body}</pre>
    </section>
  </div>
);

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** The key is a variable: its value is never stored. */
function curlOf({ request }: ShownCapture): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const headers = Object.entries(request.headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`);
  const address = quoted(`${window.location.origin}${request.path}`);
  const lines = [
    `curl -X ${request.method} ${address}`,
    `-H "authorization: Bearer ${texts.key.placeholder}"`,
    ...headers,
  ];
  if (request.encoding === 'utf8')
    return [...lines, ...(request.body === '' ? [] : [`--data-binary ${quoted(request.body)}`])].join(' \\\n  ');
  return `printf %s ${quoted(request.body)} | base64 -d | ${[...lines, '--data-binary @-'].join(' \\\n  ')}`;
}
