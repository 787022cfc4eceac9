export {
  changeDestination,
  createDestination,
  deleteDestination,
  destinationView,
  listDestinations,
} from './destinations.ts';
export { listNotices, noticeView } from './notices.ts';
export { changeWarning, createWarning, deleteWarning, listWarnings, OPERATORS, warningView } from './rules.ts';
export { createWarnings, type Warnings } from './warnings.ts';
