/** What a model accepts, over what its name is known for. */
import type { ShownModel } from '../../../src/schemas/index.ts';
import { admin } from '../api/admin.ts';
import { t } from '../language.ts';
import { Opener } from '../parts/dialog.tsx';
import { FormDialog } from '../parts/form.tsx';
import { texts } from '../texts.ts';
import { parseDocument } from './models.tsx';

export const EditCapabilities = ({ model }: { readonly model: ShownModel }) => (
  <Opener label="Set capabilities">
    {(close) => (
      <FormDialog
        title={`${t('Capabilities of')} ${model.id}`}
        explain={texts.model.setCapabilities}
        close={close}
        action="Save capabilities"
        original={model}
        fields={[
          {
            name: 'capabilities',
            label: 'Capabilities',
            kind: 'area',
            value: Object.keys(model.capabilities).length === 0 ? '' : JSON.stringify(model.capabilities, null, 1),
            path: 'models[0].capabilities',
            hint: texts.model.capabilities,
            placeholder: model.prices?.video
              ? '{"extends": "seedance-2.5", "durations": {"min": 4, "max": 20}}'
              : '{"imageQualities": ["low", "high", "max"]}',
          },
        ]}
        submit={({ capabilities }) =>
          admin.applyConfig({
            models: [
              {
                id: model.id,
                groups: [model.group],
                capabilities: capabilities === undefined ? {} : parseDocument(String(capabilities)),
              },
            ],
          })
        }
        refreshes={['models']}
        done={texts.done.capabilitiesSaved}
      />
    )}
  </Opener>
);
