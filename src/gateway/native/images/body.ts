/** The body of an image request as it was read. What its fields may be depends on the model. */
import type { StreamedBody } from '../../../platform/http/index.ts';
import type { ImageValues } from '../../images/fields.ts';

/** JSON or a form. */
export interface ImageBody {
  readonly model: string | undefined;
  readonly values: ImageValues;
  /** Images and masks in the request. */
  readonly files: number;
  /** The field that names files of the provider account. */
  readonly objectsIn?: string | undefined;
  /** The first member that no table knows. */
  readonly unknown: string | undefined;
  /** Fields that were removed. */
  readonly dropped: readonly string[];
  /** The body with the model's name replaced. */
  bodyFor(model: string): Buffer | StreamedBody;
}
