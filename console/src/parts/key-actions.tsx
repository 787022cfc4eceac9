/** What can be done to a key, in both trees: change, rotate, revoke. The tree decides which API is asked. */
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { GroupStyle, KeyWithValue, ShownKey } from '../../../src/schemas/index.ts';
import { t } from '../language.ts';
import { texts } from '../texts.ts';
import { CaptureKey } from './capture.tsx';
import { Opener } from './dialog.tsx';
import { FormDialog, REASON_FIELD } from './form.tsx';
import { KEY_FIELDS, KeyCreated } from './key-parts.tsx';

type Body = Readonly<Record<string, unknown>>;

export interface KeyTree {
  readonly changeKey: (id: string, body: Body) => Promise<ShownKey>;
  readonly rotateKey: (id: string, body: Body) => Promise<KeyWithValue>;
  readonly captureKey: (id: string, hours: number) => Promise<ShownKey>;
  readonly revokeKey: (id: string, body: Body) => Promise<ShownKey>;
  /** The first part of the keys of its queries. */
  readonly queries: string;
  readonly page: (id: string) => string;
  /** Operators give reasons, which the audit log keeps. */
  readonly takesReason: boolean;
}

interface KeyProps {
  readonly value: ShownKey;
  readonly tree: KeyTree;
}

export const EditKey = ({ value, tree }: KeyProps) => {
  return (
    <Opener label="Edit key">
      {(close) => (
        <FormDialog
          title={`${t('Change')} ${value.name}`}
          close={close}
          action="Save key"
          clearsEmpty
          original={value}
          fields={KEY_FIELDS(value)}
          submit={(values) => tree.changeKey(value.id, values)}
          refreshes={[tree.queries]}
          done={texts.done.keySaved}
        />
      )}
    </Opener>
  );
};

interface KeyActionsProps extends KeyProps {
  readonly style: GroupStyle;
  /** A model that a command can name. */
  readonly model: string;
}

export const KeyActions = ({ value, tree, style, model }: KeyActionsProps) => {
  const navigate = useNavigate();
  const [made, setMade] = useState<KeyWithValue>();
  return (
    <>
      <Opener label="Rotate">
        {(close) => (
          <FormDialog
            title={`${t('Rotate')} ${value.name}`}
            explain={texts.key.rotate}
            close={close}
            action="Rotate key"
            fields={[{ name: 'hours', label: 'Overlap in hours', value: 1, path: 'overlap_seconds' }]}
            submit={async ({ hours = 0 }) =>
              setMade(await tree.rotateKey(value.id, { overlap_seconds: Math.round(Number(hours) * 3600) }))
            }
            refreshes={[tree.queries]}
          />
        )}
      </Opener>
      <CaptureKey value={value} tree={tree} />
      <Opener label="Revoke" className="danger">
        {(close) => (
          <FormDialog
            title={`${t('Revoke')} ${value.name}`}
            explain={texts.key.revoke}
            close={close}
            action="Revoke key"
            isDanger
            fields={tree.takesReason ? [REASON_FIELD] : []}
            submit={(values) => tree.revokeKey(value.id, values)}
            refreshes={[tree.queries]}
            done={texts.done.keyRevoked}
          />
        )}
      </Opener>
      {made && (
        <KeyCreated
          made={made}
          style={style}
          model={model}
          close={() => {
            setMade(undefined);
            void navigate({ to: tree.page(made.id) });
          }}
        />
      )}
    </>
  );
};
