export { LINK_PROTOCOL, Link, LinkDown, LinkError, type LinkService } from './link.ts';
export { PRIMARY, poolSizes } from './pool-sizes.ts';
export { exactPartOf, shareOf, WHOLE_MACHINE, type WorkerShare } from './share.ts';
