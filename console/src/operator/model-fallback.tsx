/** The lines of other groups that take the calls of a model while its own accounts are out. */
import type { ShownModel } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { Opener } from '../parts/dialog.tsx';
import { FormDialog } from '../parts/form.tsx';
import { texts } from '../texts.ts';

export const EditFallback = ({ model }: { readonly model: ShownModel }) => (
  <Opener label="Set fallback">
    {(close) => (
      <FormDialog
        title={`${t('Fallback of')} ${model.id}`}
        explain={texts.model.setFallback}
        close={close}
        action="Save fallback"
        original={model}
        clearsEmpty
        fields={[
          {
            name: 'fallback',
            label: 'Fallback',
            kind: 'list',
            value: model.fallback,
            hint: texts.model.fallback,
            placeholder: 'openai/gpt-5, bedrock',
          },
        ]}
        submit={({ fallback }) =>
          admin.applyConfig({ models: [{ id: model.id, groups: [model.group], fallback: fallback ?? [] }] })
        }
        refreshes={['models']}
        done={texts.done.fallbackSaved}
      />
    )}
  </Opener>
);
