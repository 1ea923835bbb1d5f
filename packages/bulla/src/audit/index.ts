export {
  type Audit,
  type AuditOptions,
  type Intent,
  type Loss,
  type Outcome,
  openAudit,
  type Step,
} from './audit.ts';
