/** Outgoing requests to addresses that somebody else named: public ones only, limited in size and time. */
export { isPublicHost } from './address.ts';
export { createFetcher, type Fetcher, type Network, type Reply, readBody } from './download.ts';
