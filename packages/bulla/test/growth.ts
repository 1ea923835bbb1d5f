export { steepReaders } from '../../core/test/growth.ts';
