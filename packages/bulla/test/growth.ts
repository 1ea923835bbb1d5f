export { growthsOf, steep } from '../../core/test/growth.ts';
